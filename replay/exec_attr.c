/* SPDX-License-Identifier: MIT */
/*
 * Operations on attributes, by handle where the trace had one, else by directory and name. There is
 * no truncateat(2) and no setxattrat(2) on the kernels that this runs on: those go through
 * /proc/self/fd of a descriptor that is inside the replay's directory, never through a link.
 */
#include "exec_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

int64_t exec_getattr(struct exec_worker *w, const struct plan_step *s)
{
	struct stat st;
	int fd = s->handle ? exec_handle_fd(w->x, s->handle) : exec_dir(w->x, s->dir);

	if (fd < 0)
		return fd;
	exec_begin(w);
	if (s->handle)
		return exec_end(w, fstat(fd, &st));
	return exec_end(w, fstatat(fd, s->name ? s->name->s : "", &st,
				   AT_SYMLINK_NOFOLLOW | (s->name ? 0 : AT_EMPTY_PATH)));
}

/* Else by directory and name, or by the link in /proc of a descriptor that is O_PATH. */
static bool by_descriptor(const struct plan_step *s)
{
	return s->handle && !(s->bits & STEP_PINNED);
}

static int set_mode(int fd, const struct plan_step *s, uint32_t mode)
{
	char path[32];
	int r;

	if (by_descriptor(s))
		return fchmod(fd, mode);
	if (!s->name) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		return chmod(path, mode);
	}
	r = (int)syscall(SYS_fchmodat2, fd, s->name->s, mode, AT_SYMLINK_NOFOLLOW);
	if (r && errno == ENOSYS)
		r = fchmodat(fd, s->name->s, mode, AT_SYMLINK_NOFOLLOW);
	return r;
}

static int set_owner(int fd, const struct plan_step *s)
{
	uid_t uid = s->ext->arg & EVENT_SET_UID ? s->ext->uid : (uid_t)-1;
	gid_t gid = s->ext->arg & EVENT_SET_GID ? s->ext->gid : (gid_t)-1;

	if (by_descriptor(s))
		return fchown(fd, uid, gid);
	return fchownat(fd, s->name ? s->name->s : "", uid, gid,
		AT_SYMLINK_NOFOLLOW | (s->name ? 0 : AT_EMPTY_PATH));
}

static struct timespec time_of(uint64_t arg, uint64_t set, uint64_t now, int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	if (ts.tv_nsec < 0) {
		ts.tv_nsec += 1000000000;
		ts.tv_sec--;
	}
	if (arg & now)
		ts.tv_nsec = UTIME_NOW;
	else if (!(arg & set))
		ts.tv_nsec = UTIME_OMIT;
	return ts;
}

static int set_times(int fd, const struct plan_step *s)
{
	const struct plan_ext *e = s->ext;
	struct timespec ts[2] = {
		time_of(e->arg, EVENT_SET_ATIME, EVENT_SET_ATIME_NOW, e->atime_ns),
		time_of(e->arg, EVENT_SET_MTIME, EVENT_SET_MTIME_NOW, e->mtime_ns),
	};
	char path[32];

	if (by_descriptor(s))
		return futimens(fd, ts);
	if (s->name)
		return utimensat(fd, s->name->s, ts, AT_SYMLINK_NOFOLLOW);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return utimensat(AT_FDCWD, path, ts, 0);
}

/* The path keeps its time out of the step: the descriptor is opened before. */
static int64_t set_size(struct exec_worker *w, const struct plan_step *s, int fd)
{
	_close_ int file = -1;
	char path[32];

	if (by_descriptor(s)) {
		exec_begin(w);
		return exec_end(w, ftruncate(fd, (off_t)s->size));
	}
	if (!s->name && !s->handle)
		return -EISDIR;
	if (!s->handle)
		file = openat(fd, s->name->s, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0 && !s->handle)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->handle ? fd : file);
	exec_begin(w);
	return exec_end(w, truncate(path, (off_t)s->size));
}

int64_t exec_setattr(struct exec_worker *w, const struct plan_step *s)
{
	uint64_t arg = s->ext->arg;
	int fd = s->handle ? exec_handle_fd(w->x, s->handle) : exec_dir(w->x, s->dir);
	int64_t r = 0, began = 0;

	if (fd < 0)
		return fd;
	if (arg & EVENT_SET_SIZE) {
		r = set_size(w, s, fd);
		began = w->t0;
	}
	if (r < 0)
		return r;
	exec_begin(w);
	if (arg & (EVENT_SET_UID | EVENT_SET_GID)) {
		r = set_owner(fd, s);
		if (r && errno == EPERM && s->result >= 0 && !w->x->root)
			return EXEC_SKIP;
	}
	if (!r && (arg & EVENT_SET_MODE))
		r = set_mode(fd, s, exec_mode(w->x, s->mode));
	if (!r && (arg & (EVENT_SET_ATIME | EVENT_SET_MTIME | EVENT_SET_ATIME_NOW |
				 EVENT_SET_MTIME_NOW)))
		r = set_times(fd, s);
	r = exec_end(w, r);
	if (began)
		w->t0 = began;
	return r;
}

int64_t exec_access(struct exec_worker *w, const struct plan_step *s)
{
	int fd = s->handle ? exec_handle_fd(w->x, s->handle) : exec_dir(w->x, s->dir);
	const char *name = s->handle || !s->name ? "" : s->name->s;

	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, syscall(SYS_faccessat2, fd, name, s->mode & 7,
				   AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH)));
}

int64_t exec_statfs(struct exec_worker *w, const struct plan_step *s)
{
	struct statfs st;

	(void)s;
	exec_begin(w);
	return exec_end(w, fstatfs(w->x->root_fd, &st));
}

/* An attribute's value: kept in the trace where the kernel reads meaning into it. */
static size_t xattr_value(struct exec_worker *w, const struct plan_step *s)
{
	const uint8_t ratio[2] = {0, 0};
	size_t n = MIN(s->ext->target.n ? s->ext->target.n : s->size, 65536);

	if (s->ext->target.n)
		memcpy(w->buf, s->ext->target.p, n);
	else
		content_fill(&w->x->content, w->buf, n, s->iid, s->seq, EVENT_CONTENT_NONE, ratio);
	return n;
}

/* The calls, by path (never following a last link) or by descriptor. */
static int64_t xattr_call(
	const struct plan_step *s, const char *path, int fd, void *value, size_t n)
{
	const char *attr = s->ext ? s->ext->attr.p : NULL; /* a list has none */

	switch (s->op) {
	case OP_SETXATTR:
		return path ? lsetxattr(path, attr, value, n, (int)s->flags)
			    : fsetxattr(fd, attr, value, n, (int)s->flags);
	case OP_REMOVEXATTR:
		return path ? lremovexattr(path, attr) : fremovexattr(fd, attr);
	case OP_LISTXATTR:
		return path ? llistxattr(path, value, n) : flistxattr(fd, value, n);
	default:
		return path ? lgetxattr(path, attr, value, n) : fgetxattr(fd, attr, value, n);
	}
}

/* The same by the link in /proc of an O_PATH descriptor, which is to be followed. */
static int64_t xattr_pinned(const struct plan_step *s, const char *path, void *value, size_t n)
{
	const char *attr = s->ext ? s->ext->attr.p : NULL;

	switch (s->op) {
	case OP_SETXATTR:
		return setxattr(path, attr, value, n, (int)s->flags);
	case OP_REMOVEXATTR:
		return removexattr(path, attr);
	case OP_LISTXATTR:
		return listxattr(path, value, n);
	default:
		return getxattr(path, attr, value, n);
	}
}

int64_t exec_xattr(struct exec_worker *w, const struct plan_step *s)
{
	int fd = s->handle ? exec_handle_fd(w->x, s->handle) : exec_dir(w->x, s->dir);
	_free_ char *path = NULL;
	size_t n = MIN(s->size, 65536);
	void *value = exec_buffer(w, 65536);

	if (s->op == OP_SETXATTR && !w->x->o->privileged &&
		!strcmp(s->ext->attr.p, "security.capability"))
		return EXEC_SKIP;
	if (fd < 0 || !value)
		return fd < 0 ? fd : -ENOMEM;
	if (s->op == OP_SETXATTR)
		n = xattr_value(w, s);
	/* "." keeps the last component below the link in /proc */
	if (!by_descriptor(s) &&
		asprintf(&path, s->handle ? "/proc/self/fd/%d" : "/proc/self/fd/%d/%s", fd,
			s->name ? s->name->s : ".") < 0)
		return -ENOMEM;
	exec_begin(w);
	if (s->bits & STEP_PINNED)
		return exec_end(w, xattr_pinned(s, path, value, n));
	return exec_end(w, xattr_call(s, path, fd, value, n));
}
