/* SPDX-License-Identifier: MIT */
/*
 * What a disk stands on: a file made anew and attached to a loop device, or a device (or file) that
 * was there and that the user named for destruction. All decisions about what may be overwritten
 * are made here, and only here: nothing that was there is touched unless named, never when it is
 * mounted, held, partitioned or signed.
 */
#include "backend_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static bool may_destroy(const struct backend *b, const struct stat *st)
{
	struct stat named;

	for (char **p = b->destroy; p && *p; p++) {
		if (stat(*p, &named) < 0)
			continue;
		if (S_ISBLK(st->st_mode) ? S_ISBLK(named.st_mode) && named.st_rdev == st->st_rdev
					 : named.st_dev == st->st_dev && named.st_ino == st->st_ino)
			return true;
	}
	return false;
}

char *backend_absolute(const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	_free_ char *dir = slash ? strndup(path, slash == path ? 1 : slash - path) : strdup(".");
	_free_ char *real = dir ? realpath(dir, NULL) : NULL;
	char *out = NULL;

	if (!real) {
		fail(-errno, "%s: its directory %s: %s", path, dir ? dir : "?", strerror(errno));
		return NULL;
	}
	if (!*base || !strcmp(base, ".") || !strcmp(base, "..")) {
		fail(-EISDIR, "%s is a directory: name a file in it", path);
		return NULL;
	}
	if (asprintf(&out, "%s%s%s", real, real[1] ? "/" : "", base) < 0) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	return out;
}

static bool has_partition(dev_t dev)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(dev), minor(dev));
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s/partition", major(dev),
			minor(dev), e->d_name);
		found = !access(path, F_OK);
	}
	if (d)
		closedir(d);
	return found;
}

/* The value of KEY= in blkid's export format. */
static bool exported(const char *text, const char *key, char *out, size_t cap)
{
	size_t n = strlen(key);

	for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : NULL)
		if (!strncmp(p, key, n) && p[n] == '=') {
			snprintf(out, cap, "%.*s", (int)strcspn(p + n + 1, "\n"), p + n + 1);
			return true;
		}
	return false;
}

static int check_signature(const char *node)
{
	const char *argv[] = {"blkid", "-p", "-o", "export", node, NULL};
	char text[2048], what[64] = "";
	int status = 0, r = run_output(argv, text, sizeof(text), &status);

	if (r < 0)
		return r;
	if (status == 2 && !text[0])
		return 0;
	if (exported(text, "PTTYPE", what, sizeof(what)))
		return fail(-EBUSY,
			"%s carries a partition table (%s): wipe it first with wipefs -a "
			"if nothing on it is needed",
			node, what);
	if (!exported(text, "TYPE", what, sizeof(what)))
		snprintf(what, sizeof(what), "blkid status %d", status);
	return fail(-EBUSY,
		"%s carries a file system or the like (%s): wipe it first with wipefs -a "
		"if nothing on it is needed",
		node, what);
}

static int check_device(const struct backend *b, const char *path, const struct stat *st)
{
	_close_ int fd = -1;
	uint64_t size = 0;
	int n;

	if (!may_destroy(b, st))
		return fail(-EPERM,
			"%s is a device and all on it would be lost: name it with "
			"--destroy=%s if that is meant",
			path, path);
	if (has_partition(st->st_rdev))
		return fail(-EBUSY, "%s has partitions: name one that is free", path);
	n = loop_of_file(path); /* which does not claim it, so that O_EXCL would go through */
	if (n >= 0)
		return fail(-EBUSY, "%s is in use by /dev/loop%d (see losetup -l)", path, n);
	fd = open(path, O_RDWR | O_EXCL | O_CLOEXEC);
	if (fd < 0)
		return fail(-errno, "%s: %s", path,
			errno == EBUSY ? "mounted, or held by another device" : strerror(errno));
	if (ioctl(fd, BLKGETSIZE64, &size) < 0 || !size)
		return fail(-ENOMEDIUM, "%s has no medium, or nothing is attached to it", path);
	return check_signature(path);
}

int backend_disk_check_size(const struct backend *b)
{
	struct stat st;

	if (!b->size_given)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(b->disk) && b->disk[i].path; i++)
		if (stat(b->disk[i].path, &st) < 0)
			return 0;
	return fail(-EINVAL, "size= is for a file that is to be made: %s is as large as it is",
		b->disk[0].path);
}

int backend_disk_check(const struct backend *b, const struct backend_disk *d)
{
	_free_ char *abs = backend_absolute(d->path);
	struct stat st;
	int r;

	if (!abs)
		return -ENOENT;
	if (stat(d->path, &st) < 0) {
		if (errno != ENOENT)
			return fail(-errno, "%s: %s", d->path, strerror(errno));
		if (!strncmp(abs, "/dev/", 5) && strncmp(abs, "/dev/shm/", 9))
			return fail(-ENOENT, "%s: there is no such device", d->path);
		r = backend_file_absent(b, abs); /* a dangling link */
		return r < 0 ? r : backend_space(abs, b->size_bytes);
	}
	if (S_ISBLK(st.st_mode))
		return check_device(b, d->path, &st);
	if (S_ISREG(st.st_mode) && may_destroy(b, &st)) {
		r = loop_of_file(abs);
		return r < 0 ? check_signature(d->path)
			     : fail(-EBUSY, "%s is in use by /dev/loop%d", d->path, r);
	}
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return backend_file_absent(b, abs);
	return fail(-ENOTBLK, "%s is neither a block device nor a regular file", d->path);
}

int backend_disk_attach(struct backend *b, struct backend_disk *d, uint64_t offset, uint64_t size)
{
	struct stat st;
	int r;
	_close_ int fd = open(d->image, O_RDWR | O_CLOEXEC);

	(void)b;
	if (fd < 0)
		return fail(-errno, "%s: %s", d->image, strerror(errno));
	r = loop_attach(&d->loop, fd, d->image, offset, size);
	if (r < 0)
		return r;
	snprintf(d->node, sizeof(d->node), "/dev/loop%d", d->loop.number);
	if (fstat(d->loop.fd, &st) < 0)
		return fail(-errno, "%s: %s", d->node, strerror(errno));
	d->dev = st.st_rdev;
	backend_throttle_reset(d->dev);
	return 0;
}

static int make_file(struct backend *b, struct backend_disk *d)
{
	_close_ int fd = backend_file_make(b, d->image);

	if (fd < 0)
		return fd;
	if (ftruncate(fd, (off_t)b->size_bytes) < 0)
		return fail(-errno, "%s: %s", d->image, strerror(errno));
	return backend_allocate(b, fd, d->image, BACKEND_LAZY, b->size_bytes);
}

int backend_disk_files(const struct backend *b, char **paths)
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(b->disk) && b->disk[i].path; i++) {
		paths[n] = backend_absolute(b->disk[i].path);
		n += paths[n] != NULL;
	}
	return n;
}

int backend_disk_up(struct backend *b, struct backend_disk *d)
{
	struct stat st;
	int r;

	free(d->image);
	d->image = backend_absolute(d->path);
	if (!d->image)
		return -ENOENT;
	if (stat(d->path, &st) < 0) {
		r = make_file(b, d);
		return r < 0 ? r : backend_disk_attach(b, d, 0, 0);
	}
	if (!may_destroy(b, &st)) /* check refused it already */
		return fail(-EEXIST, "%s appeared while it was to be made", d->path);
	d->device = true;
	if (S_ISREG(st.st_mode))
		return backend_disk_attach(b, d, 0, 0);
	/* links like /dev/disk/by-id/... have long names, and the kernel knows the device by one */
	free(d->image);
	d->image = realpath(d->path, NULL);
	if (!d->image)
		return fail(-errno, "%s: %s", d->path, strerror(errno));
	if (strlen(d->image) >= sizeof(d->node))
		return fail(-ENAMETOOLONG, "%s: the name is too long", d->image);
	strcpy(d->node, d->image);
	d->dev = st.st_rdev;
	return 0;
}

void backend_disk_how(struct backend *b, const struct backend_disk *d)
{
	char size[32];

	backend_how_add(b, "%s", d->node);
	if (d->loop.number < 0)
		return;
	backend_how_add(b, " (%s) over %s",
		d->loop.direct ? "direct I/O" : "buffered: its file system has no direct I/O",
		d->image);
	if (!d->device)
		backend_how_add(
			b, ", %s preallocated", backend_human(size, sizeof(size), b->size_bytes));
}

int backend_disk_detach(struct backend_disk *d, bool wipe)
{
	const char *argv[] = {"wipefs", "-a", "-q", d->node, NULL};
	int r = 0, r2;

	if (d->dev)
		backend_throttle_reset(d->dev);
	if (wipe && d->node[0])
		r = run_tool(argv);
	r2 = loop_detach(&d->loop);
	d->dev = 0;
	d->node[0] = '\0';
	return r < 0 ? r : r2;
}
