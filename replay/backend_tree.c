/* SPDX-License-Identifier: MIT */
/*
 * Whole directory trees: removed, measured, their pages dropped. Removal takes any depth with three
 * descriptors: a subdirectory that is not empty is moved up to the top of the tree and its turn
 * comes later, so nothing recurses. Modes that bar the owner are changed on the way. Symbolic links
 * are never followed and other file systems never entered.
 */
#include "backend_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Opens a directory to list and change it; makes it so when its mode forbids. */
static int open_dir(int at, const char *name, dev_t dev)
{
	char self[64];
	struct stat st;
	_close_ int path = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (path < 0 || fstat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (dev && st.st_dev != dev)
		return -EXDEV;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path);
	if ((st.st_mode & 0700) != 0700)
		chmod(self, (st.st_mode & 07777) | 0700);
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int move_up(int top, int fd, const char *name, unsigned *serial)
{
	char up[32];

	for (;;) {
		snprintf(up, sizeof(up), ".iotape-rm-%u", (*serial)++);
		if (!renameat2(fd, name, top, up, RENAME_NOREPLACE))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
}

/* Removes what is in the directory; what is itself not empty goes up to top. Number of entries that
 * were dealt with, or -errno. */
static long empty_dir(int top, int fd, unsigned *serial, dev_t dev)
{
	long done = 0, r = 0;
	struct dirent *e;
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* with its own offset */
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d)
		return -errno;
	while (!r && (e = readdir(d))) {
		if (dots(e->d_name))
			continue;
		done++;
		if (!unlinkat(fd, e->d_name, 0))
			continue;
		if (errno != EISDIR) {
			r = -errno;
			break;
		}
		if (!unlinkat(fd, e->d_name, AT_REMOVEDIR))
			continue;
		if (errno != ENOTEMPTY && errno != EEXIST) {
			r = -errno;
			break;
		}
		int sub = open_dir(fd, e->d_name, dev);

		if (sub < 0) {
			r = sub;
			break;
		}
		if (fd == top) { /* is where it shall be: empty it now */
			r = MIN(empty_dir(top, sub, serial, dev), 0);
			if (!r && unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0)
				r = -errno;
		} else {
			r = move_up(top, fd, e->d_name, serial);
		}
		close(sub);
	}
	closedir(d);
	return r < 0 ? r : done;
}

int backend_tree_remove(int dir_fd, const char *name)
{
	struct stat st;
	unsigned serial = 0;
	long n;
	_close_ int top = open_dir(dir_fd, name, 0);

	if (top < 0)
		return top == -ENOENT
			       ? 0
			       : fail(top, "cannot open %s to remove it: %s", name, strerror(-top));
	if (fstat(top, &st) < 0)
		return fail(-errno, "%s: %s", name, strerror(errno));
	do
		n = empty_dir(top, top, &serial, st.st_dev);
	while (n > 0);
	if (n < 0)
		return fail((int)n, "cannot empty %s: %s", name, strerror((int)-n));
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		return fail(-errno, "cannot remove %s: %s", name, strerror(errno));
	return 0;
}

typedef int (*visit_fn)(void *ctx, int dir_fd, const char *name, const struct stat *st);

/* Every entry below; as deep as descriptors last, quietly no deeper. */
static int walk(int fd, visit_fn fn, void *ctx)
{
	struct dirent *e;
	struct stat st;
	int r = 0;
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);

	while (d && !r && (e = readdir(d))) {
		if (dots(e->d_name) || fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		r = fn(ctx, fd, e->d_name, &st);
		if (!r && S_ISDIR(st.st_mode)) {
			_close_ int sub = openat(
				fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (sub >= 0)
				r = walk(sub, fn, ctx);
		}
	}
	if (d)
		closedir(d);
	return r;
}

static int add_blocks(void *ctx, int dir_fd, const char *name, const struct stat *st)
{
	uint64_t *sum = ctx;

	(void)dir_fd;
	(void)name;
	*sum += (uint64_t)st->st_blocks * 512 / (S_ISREG(st->st_mode) ? MAX(st->st_nlink, 1) : 1);
	return 0;
}

uint64_t backend_tree_allocated(int root_fd)
{
	uint64_t sum = 0;

	walk(root_fd, add_blocks, &sum);
	return sum;
}

static int drop_pages(void *ctx, int dir_fd, const char *name, const struct stat *st)
{
	_close_ int fd = -1;

	(void)ctx;
	if (!S_ISREG(st->st_mode))
		return 0;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail(-errno, "cannot drop %s from the cache without root: %s", name,
			strerror(errno));
	return -posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

int backend_tree_drop_pages(int root_fd)
{
	return walk(root_fd, drop_pages, NULL);
}
