/* SPDX-License-Identifier: MIT */
/*
 * Locks. All replayed owners live in one process, where POSIX locks would know only one owner, so
 * they become locks of open file descriptions (OFD): plan_lock.c says of which, and when they go. A
 * wait for a lock that succeeded is issued as a wait when the lane has the thread for itself, else
 * it is tried again and again between steps of the thread's other lanes, which may be those that
 * release it.
 */
#include "exec_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

/* One of the two kinds of lock. */
struct lock_call {
	int fd, op;
	struct flock *fl; /* NULL: flock(2) */
};

static int lock_issue(const struct lock_call *c)
{
	return c->fl ? fcntl(c->fd, c->op, c->fl) : flock(c->fd, c->op);
}

/* What may have to wait: until it is given, or given up (exec_stuck.c). */
static int64_t lock_wait(struct exec_worker *w, const struct lock_call *c, bool wait)
{
	int64_t r;

	wait = wait && !atomic_load(&w->x->impatient);
	if (wait)
		exec_waits(w, true);
	exec_begin(w);
	do {
		r = exec_end(w, lock_issue(c));
		if (!wait || (r != -EAGAIN && r != -EINTR))
			break;
		if (exec_stuck_yield(w->x))
			r = -EDEADLK;
		else if (r == -EAGAIN)
			return EXEC_AGAIN;
	} while (r == -EINTR && !atomic_load(&w->x->abort));
	exec_waits(w, false);
	return r;
}

/* An owner that shares an open file description with another one locks through one of its own: both
 * would hold the same locks. It is opened when first needed, and stays for as long as the owner. */
static int own_description(struct exec_worker *w, const struct plan_step *s)
{
	static const int modes[] = {O_RDWR, O_RDONLY, O_WRONLY};
	struct exec_handle *h = &w->x->handles[s->ext->handle2];
	int fd = exec_handle_fd(w->x, s->handle), own = -1, none = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (unsigned i = 0; own < 0 && i < ARRAY_SIZE(modes); i++) {
		exec_own(w->x, fd, OP_OPEN);
		own = open(path, modes[i] | O_NONBLOCK | O_CLOEXEC);
	}
	if (own < 0)
		return fd;
	if (!atomic_compare_exchange_strong(&h->fd, &none, own)) { /* another thread of the owner */
		exec_own(w->x, own, OP_FLUSH);
		close(own);
		return none;
	}
	return own;
}

/* What the owner of the lock locks through (plan_lock.c). */
static int lock_fd(struct exec_worker *w, const struct plan_step *s)
{
	uint32_t through = s->ext->handle2;
	int fd = exec_handle_fd(w->x, through ? through : s->handle);

	if (fd >= 0 || !through || exec_handle_fd(w->x, s->handle) < 0)
		return fd;
	return w->x->p->handles[through]->oid ? exec_handle_fd(w->x, s->handle)
					      : own_description(w, s);
}

void exec_drop_locks(struct exec_worker *w, const struct plan_step *s, bool closing)
{
	uint32_t through = s->ext->handle2;
	struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	int fd = exec_handle_fd(w->x, through ? through : s->handle);

	/* a description of its own goes with its last step, which this is */
	if (fd < 0 || (through ? !w->x->p->handles[through]->oid : closing))
		return;
	exec_own(w->x, fd, OP_SETLK);
	fcntl(fd, F_OFD_SETLK, &all);
}

int64_t exec_lock(struct exec_worker *w, const struct plan_step *s)
{
	int fd = lock_fd(w, s), cmd = F_OFD_SETLK;
	bool wait = (s->flags & EVENT_LOCK_WAIT) && s->result >= 0;
	struct flock fl = {
		.l_type = (short)(s->flags & 0xff),
		.l_whence = SEEK_SET,
		.l_start = (off_t)s->offset,
		.l_len = (off_t)s->size,
	};

	if (fd < 0)
		return fd;
	if (s->op == OP_GETLK)
		cmd = F_OFD_GETLK;
	else if (wait && w->block && !atomic_load(&w->x->impatient))
		cmd = F_OFD_SETLKW;
	return lock_wait(w, &(struct lock_call){fd, cmd, &fl}, wait);
}

int64_t exec_flock(struct exec_worker *w, const struct plan_step *s)
{
	int fd = exec_handle_fd(w->x, s->handle);
	int op = (int)s->flags & (LOCK_SH | LOCK_EX | LOCK_UN | LOCK_NB);
	bool wait = !(op & LOCK_NB) && s->result >= 0;

	if (fd < 0)
		return fd;
	if (!wait || !w->block || atomic_load(&w->x->impatient))
		op |= LOCK_NB;
	return lock_wait(w, &(struct lock_call){fd, op, NULL}, wait);
}
