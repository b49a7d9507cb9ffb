/* SPDX-License-Identifier: MIT */
/*
 * Operations on open files: the descriptor that the handle's open step left. Data is generated
 * before the clock starts, reads land in the thread's buffer. An O_DIRECT that the storage refuses
 * becomes buffered I/O, counted.
 */
#include "exec_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define OPEN_FLAGS                                                                                 \
	(O_ACCMODE | O_TRUNC | O_EXCL | O_NONBLOCK | O_DSYNC | O_SYNC | O_DIRECT | O_NOATIME)

#define CALL_MAX UINT64_C(0x7ffff000) /* MAX_RW_COUNT of the kernel: no call moves more */

void *exec_buffer(struct exec_worker *w, uint64_t n)
{
	size_t want = (size_t)MIN(n, EXEC_IO_MAX);

	if (want <= w->buf_size && w->buf)
		return w->buf;
	want = MAX((want + 65535) & ~(size_t)65535, (size_t)131072);
	if (w->buf)
		munmap(w->buf, w->buf_size);
	w->buf = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w->buf == MAP_FAILED)
		w->buf = NULL;
	w->buf_size = w->buf ? want : 0;
	return w->buf;
}

static int open_flags(const struct exec *x, const struct plan_step *s)
{
	int flags = (int)s->flags & OPEN_FLAGS;

	if (x->o->append == REPLAY_APPEND_NATIVE)
		flags |= (int)s->flags & O_APPEND;
	if (s->op == OP_OPENDIR)
		flags = O_RDONLY | O_DIRECTORY;
	else if (s->op == OP_CREATE)
		flags |= O_CREAT;
	else if (s->op == OP_TMPFILE)
		flags = (flags & ~O_TRUNC) | O_TMPFILE;
	else
		flags &= ~O_EXCL; /* means nothing without O_CREAT */
	return flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
}

/* What the name really is, where that can matter: the trace may lie about it. Devices are opened by
 * the kernel itself, never by way of a recorder, and to open one can be enough to do harm; a pipe
 * that nobody has open would block for ever. */
static int look_first(const struct exec *x, int dir, const char *name, int *flags)
{
	struct stat st;

	if ((!x->o->privileged && !x->p->fifos) ||
		fstatat(dir, name, &st, *flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0))
		return 0;
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		return -ENXIO;
	if (S_ISFIFO(st.st_mode))
		*flags |= O_NONBLOCK;
	return 0;
}

int64_t exec_open(struct exec_worker *w, const struct plan_step *s)
{
	struct exec *x = w->x;
	int flags = open_flags(x, s), dir;
	const char *name = s->name ? s->name->s : ".";
	uint32_t mode = exec_mode(x, s->mode);
	char again[32];
	int64_t r;

	dir = s->dir ? exec_dir(x, s->dir) : exec_handle_fd(x, s->ext->handle2);
	if (dir < 0)
		return dir;
	if (!s->dir) { /* no name any more: by a descriptor that is open on it */
		snprintf(again, sizeof(again), "/proc/self/fd/%d", dir);
		name = again;
		flags &= ~O_NOFOLLOW;
	}
	r = look_first(x, dir, name, &flags);
	if (r < 0)
		return r;
	exec_waits(w, x->p->fifos); /* another lane may put a pipe there now */
	exec_begin(w);
	r = exec_end(w, openat(dir, name, flags, mode));
	exec_waits(w, false);
	if (r == -EINVAL && (flags & O_DIRECT) && s->result >= 0) {
		atomic_fetch_add(&x->direct_refused, 1);
		exec_begin(w);
		r = exec_end(w, openat(dir, name, flags & ~(O_DIRECT | O_EXCL), mode));
	}
	if (r == -EPERM && (flags & O_NOATIME)) {
		exec_begin(w);
		r = exec_end(w, openat(dir, name, flags & ~O_NOATIME, mode));
	}
	if (r < 0)
		return r;
	if (s->result < 0 || !s->handle)
		close((int)r);
	else
		exec_handle_set(x, s->handle, (int)r);
	return 0;
}

/* One piece; O_DIRECT alignment that this storage does not take is given up for the handle. */
static int64_t transfer(
	struct exec_worker *w, const struct plan_step *s, int fd, size_t n, off_t at)
{
	ssize_t r = s->op == OP_READ ? pread(fd, w->buf, n, at) : pwrite(fd, w->buf, n, at);
	int flags;

	if (r >= 0 || errno != EINVAL || s->result < 0)
		return r;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || !(flags & O_DIRECT) || fcntl(fd, F_SETFL, flags & ~O_DIRECT)) {
		errno = EINVAL;
		return -1;
	}
	atomic_fetch_add(&w->x->direct_refused, 1);
	return s->op == OP_READ ? pread(fd, w->buf, n, at) : pwrite(fd, w->buf, n, at);
}

static int64_t move(struct exec_worker *w, const struct plan_step *s, uint64_t size)
{
	int fd = exec_handle_fd(w->x, s->handle);
	uint64_t done = 0;
	int64_t began = 0, r;

	if (fd < 0)
		return fd;
	size = MIN(size, CALL_MAX);
	if (!exec_buffer(w, size))
		return -ENOMEM;
	do {
		size_t n = (size_t)MIN(size - done, EXEC_IO_MAX);

		if (s->op == OP_WRITE)
			content_fill(&w->x->content, w->buf, n, s->iid, s->offset + done,
				s->content, s->ratio);
		exec_begin(w);
		r = exec_end(w, transfer(w, s, fd, n, (off_t)(s->offset + done)));
		if (!began)
			began = w->t0;
		if (r > 0)
			done += (uint64_t)r;
		if (r < (int64_t)n)
			break;
	} while (done < size && !atomic_load(&w->x->abort));
	w->t0 = began;
	atomic_fetch_add_explicit(&w->x->bytes, done, memory_order_relaxed);
	return done || r >= 0 ? (int64_t)done : r;
}

int64_t exec_read(struct exec_worker *w, const struct plan_step *s)
{
	return move(w, s, s->size);
}

/* What was written short is written as short. */
int64_t exec_write(struct exec_worker *w, const struct plan_step *s)
{
	return move(w, s, s->result >= 0 ? (uint64_t)s->result : MIN(s->size, EXEC_IO_MAX));
}

/* A flush is one close(2) of possibly several copies of the descriptor; the last one closes. */
int64_t exec_close(struct exec_worker *w, const struct plan_step *s)
{
	struct exec_handle *h = &w->x->handles[s->handle];
	int fd = exec_handle_fd(w->x, s->handle);
	bool closes;

	if (fd < 0)
		return fd;
	closes = (s->bits & STEP_CLOSES) && atomic_load(&h->left) == 1;
	if (s->bits & STEP_DROPS)
		exec_drop_locks(w, s, closes);
	if (closes)
		fd = atomic_exchange(&h->fd, -1);
	else if (s->op == OP_FLUSH)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	else
		return 0; /* somebody is still at it: the last one closes */
	if (fd < 0)
		return -errno;
	if (s->op == OP_RELEASE)
		exec_own(w->x, fd, OP_FLUSH);
	exec_begin(w);
	return exec_end(w, close(fd));
}

int64_t exec_fsync(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_handle_fd(w->x, s->handle);

	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, s->flags & 1 ? fdatasync(fd) : fsync(fd));
}

int64_t exec_fallocate(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_handle_fd(w->x, s->handle);

	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, fallocate(fd, (int)s->mode, (off_t)s->offset, (off_t)s->size));
}

int64_t exec_lseek(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_handle_fd(w->x, s->handle);

	if (fd < 0)
		return fd;
	exec_begin(w);
	return exec_end(w, lseek(fd, (off_t)s->offset, (int)s->flags));
}

/* File systems differ in how much one call copies: it goes on to what the recording copied. */
int64_t exec_copy_range(struct exec_worker *w, const struct plan_step *s)
{
	int in = exec_handle_fd(w->x, s->handle), out = exec_handle_fd(w->x, s->ext->handle2);
	off_t from = (off_t)s->offset, to = (off_t)s->ext->offset2;
	uint64_t want = s->result >= 0 ? (uint64_t)s->result : s->size, done = 0;
	int64_t r;

	if (in < 0 || out < 0)
		return -EBADF;
	want = MIN(want, CALL_MAX);
	exec_begin(w);
	do {
		r = copy_file_range(in, &from, out, &to, (size_t)(want - done), 0);
		if (r > 0)
			done += (uint64_t)r;
	} while (r > 0 && done < want && !atomic_load(&w->x->abort));
	r = exec_end(w, r);
	atomic_fetch_add_explicit(&w->x->bytes, done, memory_order_relaxed);
	return done ? (int64_t)done : r;
}
