/* SPDX-License-Identifier: MIT */
/*
 * The image files that up makes. The one idea: nobody's file is ever overwritten or removed, also
 * when it appears at the last moment or takes the place of one of ours later. So a file gets its
 * name only when nothing has that name, it carries a mark from before then (the process that made
 * it, later the backend that is up), and it is removed only while it is the very file that was
 * made: device, inode and time of birth.
 */
#include "backend_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define MARK     "user.iotape"
#define MARK_MAX 264
#define UP       "up " /* the mark of a backend that outlives its process: this and its name */

static int file_id(const char *path, char *id, size_t cap)
{
	struct statx s;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &s) < 0)
		return -errno;
	snprintf(id, cap, "%u:%u:%llu:%lld.%u", s.stx_dev_major, s.stx_dev_minor,
		(unsigned long long)s.stx_ino,
		s.stx_mask & STATX_BTIME ? (long long)s.stx_btime.tv_sec : 0,
		s.stx_mask & STATX_BTIME ? s.stx_btime.tv_nsec : 0);
	return 0;
}

/* false: none, or its file system has no attributes */
static bool read_mark(const char *path, char *who, size_t cap)
{
	ssize_t n = lgetxattr(path, MARK, who, cap - 1);

	who[MAX(n, 0)] = '\0';
	return n > 0;
}

/* The name of a process; "" when it is gone. */
static void read_comm(int pid, char *comm, size_t cap)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(comm, (int)cap, f))
		comm[0] = '\0';
	if (f)
		fclose(f);
}

/* Does the process of a mark still run, and is it one of ours rather than a number used again? */
static bool runs(const char *who)
{
	char one[32], self[32];

	read_comm(atoi(who), one, sizeof(one));
	read_comm(getpid(), self, sizeof(self));
	return one[0] && !strcmp(one, self);
}

/* Adds a path as a shell takes it. */
static void add_quoted(char *buf, size_t cap, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+,:@%";
	size_t n = strlen(buf);
	bool quote = path[strspn(path, plain)];

	n += (size_t)snprintf(buf + n, cap - n, quote ? " '" : " ");
	for (const char *p = path; *p && n + 6 < cap; p++)
		n += (size_t)snprintf(buf + n, cap - n, *p == '\'' ? "'\\''" : "%c", *p);
	if (quote)
		snprintf(buf + n, cap - n, "'");
}

/* " A B": those of the spec's files that carry this mark */
static void leftovers(const struct backend *b, const char *who, char *buf, size_t cap)
{
	char *paths[BACKEND_MADE_MAX] = {NULL}, mark[MARK_MAX];
	int n = b->ops->files ? b->ops->files(b, paths) : 0;

	buf[0] = '\0';
	for (int i = 0; i < n; i++) {
		if (read_mark(paths[i], mark, sizeof(mark)) && !strcmp(mark, who))
			add_quoted(buf, cap, paths[i]);
		free(paths[i]);
	}
}

static bool in_use(const struct backend *b)
{
	char *paths[BACKEND_MADE_MAX] = {NULL};
	int n = b->ops->files ? b->ops->files(b, paths) : 0;
	bool used = false;

	for (int i = 0; i < n; i++) {
		used = used || loop_of_file(paths[i]) >= 0;
		free(paths[i]);
	}
	return used;
}

static int refuse_marked(const struct backend *b, const char *path, const char *who)
{
	const char *name = who + strlen(UP);
	char list[640];

	leftovers(b, who, list, sizeof(list));
	if (strncmp(who, UP, strlen(UP))) {
		if (runs(who))
			return fail(-EBUSY, "%s is in use by iotape, process %s: name another file",
				path, who);
		return fail(-EEXIST,
			"%s was left by iotape when it was killed (process %s): remove it and try "
			"again: rm%s",
			path, who, list);
	}
	if (in_use(b))
		return fail(-EBUSY,
			"%s belongs to the backend '%s', which is up: name another file, or "
			"take that down: iotape backend down %s",
			path, name, name);
	return fail(-EEXIST,
		"%s was left by the backend '%s', which is no longer mounted: iotape backend down "
		"%s; if that is not known (any more): rm%s",
		path, name, name, list);
}

int backend_file_absent(const struct backend *b, const char *path)
{
	char who[MARK_MAX];
	struct stat st;
	int n;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : fail(-errno, "%s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return fail(-EISDIR, "%s is a directory: name a file to be made in it", path);
	if (read_mark(path, who, sizeof(who)))
		return refuse_marked(b, path, who);
	n = loop_of_file(path);
	if (n >= 0)
		return fail(-EBUSY, "%s is in use by /dev/loop%d (see losetup -l)", path, n);
	return fail(
		-EEXIST, "%s exists and is not overwritten: remove it or name another file", path);
}

static void mark(int fd, const char *who)
{
	fsetxattr(fd, MARK, who, strlen(who), 0);
}

/* Without a name at first where the file system can, so that it never is there without a mark. */
static int make(const char *path, const char *who)
{
	const char *slash = strrchr(path, '/');
	char self[64];
	_free_ char *dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	_close_ int fd = dir ? open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

	if (fd >= 0) {
		mark(fd, who);
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		if (!linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
			return STEAL_FD(fd);
		if (errno == EEXIST)
			return -EEXIST;
		close(STEAL_FD(fd));
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	mark(fd, who);
	return STEAL_FD(fd);
}

int backend_file_make(struct backend *b, const char *path)
{
	char who[24];
	_close_ int fd = -1;
	size_t i = 0;

	while (i < BACKEND_MADE_MAX && b->made[i].path)
		i++;
	snprintf(who, sizeof(who), "%d", (int)getpid());
	fd = i < BACKEND_MADE_MAX ? make(path, who) : -EMFILE;
	if (fd == -EEXIST)
		return fail(fd,
			"%s appeared while it was to be made, and is not overwritten: name "
			"another file",
			path);
	if (fd < 0)
		return fail(fd, "cannot make %s: %s", path, strerror(-fd));
	b->made[i].path = strdup(path);
	if (!b->made[i].path || file_id(path, b->made[i].id, sizeof(b->made[i].id)) < 0) {
		unlink(path);
		free(STEAL(b->made[i].path));
		return fail(-ENOMEM, "cannot make %s: out of memory", path);
	}
	return STEAL_FD(fd);
}

/* It is not ours any more when another file has its name. */
static bool is_ours(const struct backend_made *m)
{
	char id[sizeof(m->id)];

	return !file_id(m->path, id, sizeof(id)) && !strcmp(id, m->id);
}

int backend_file_remove(const struct backend_made *m)
{
	if (!is_ours(m) || !unlink(m->path) || errno == ENOENT)
		return 0;
	return fail(-errno, "cannot remove %s: %s", m->path, strerror(errno));
}

void backend_file_keep(const struct backend_made *m)
{
	if (is_ours(m))
		lremovexattr(m->path, MARK);
}

void backend_files_stay_up(struct backend *b)
{
	char who[MARK_MAX];

	snprintf(who, sizeof(who), UP "%s", b->name);
	for (size_t i = 0; i < BACKEND_MADE_MAX; i++)
		if (b->made[i].path && is_ours(&b->made[i]))
			lsetxattr(b->made[i].path, MARK, who, strlen(who), 0);
}

void backend_files_reclaim(struct backend *b, int pid)
{
	char *paths[BACKEND_MADE_MAX] = {NULL}, who[24], found[MARK_MAX];
	int n = b->ops->files ? b->ops->files(b, paths) : 0;
	unsigned k = 0;

	snprintf(who, sizeof(who), "%d", pid);
	for (int i = 0; i < n; i++) {
		struct backend_made *m = &b->made[k];

		if (read_mark(paths[i], found, sizeof(found)) && !strcmp(found, who) &&
			!file_id(paths[i], m->id, sizeof(m->id))) {
			m->path = STEAL(paths[i]);
			k++;
		}
		free(paths[i]);
	}
}
