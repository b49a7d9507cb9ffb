/* SPDX-License-Identifier: MIT */
/*
 * Locks are taken on the source itself, so programs there see them. flock goes to the handle's own
 * descriptor. A POSIX or OFD lock goes to a descriptor of its own for each (inode, owner), as an
 * open-file-description lock: owners keep each other out, handles of one owner do not, and closing
 * the descriptor drops the owner's locks as close(2) does.
 *
 * A request that has to wait must not hold a thread that serves the mount: it gets one of its own
 * (the third place that starts threads, beside the recorder's queue and the executor), which sits
 * in the blocking call. An interrupt or the end of the session breaks that call with a signal;
 * should the signal come too early, the alarm that ticks while waiting brings the next one.
 */
#include "fs_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define TICK_NS     50000000
#define STOP_S      3 /* for waiters to end, a tick each if nothing holds them */
#define STACK_BYTES ((size_t)256 << 10)

struct lock_owner {
	struct lock_owner *next;
	uint64_t owner;
	const struct handle *via; /* through which it locked first */
	uint64_t number;          /* in the trace */
	int fd;
	pid_t pid;
};

struct lock_waiters {
	pthread_mutex_t lock;
	pthread_cond_t none;
	unsigned n;
	atomic_bool stopping;
	_Atomic uint64_t numbers;
};

struct waiter {
	struct fs *fs;
	fuse_req_t req;
	struct probe probe;
	struct inode *inode; /* one reference */
	int fd;              /* the owner's or the handle's, duplicated */
	bool flock;
	int op;
	struct flock range;
	uint64_t owner;
	pthread_t thread;
	atomic_bool interrupted;
	bool told; /* its event has been put */
};

static void wake(int sig)
{
	(void)sig;
}

int lock_init(struct fs *fs)
{
	struct sigaction sa = {.sa_handler = wake}; /* no SA_RESTART: it is there to break calls */

	fs->waiters = calloc(1, sizeof(*fs->waiters));
	if (!fs->waiters)
		return fail(-ENOMEM, "no memory for locks");
	pthread_mutex_init(&fs->waiters->lock, NULL);
	pthread_cond_init(&fs->waiters->none, NULL);
	sigaction(LOCK_SIGNAL, &sa, NULL);
	return 0;
}

int lock_stop(struct fs *fs, uint64_t *cut)
{
	struct lock_waiters *w = fs->waiters;
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_S;
	w->stopping = true; /* every waiter looks at it at its next tick */
	pthread_mutex_lock(&w->lock);
	*cut = w->n;
	while (w->n && !r)
		r = pthread_cond_timedwait(&w->none, &w->lock, &until);
	pthread_mutex_unlock(&w->lock);
	return r ? -EBUSY : 0;
}

void lock_fini(struct fs *fs)
{
	if (!fs->waiters)
		return;
	pthread_mutex_destroy(&fs->waiters->lock);
	pthread_cond_destroy(&fs->waiters->none);
	free(fs->waiters);
	fs->waiters = NULL;
}

/* ---- owners; under the inode's lock ---- */

static struct lock_owner *owner_find(struct inode *in, uint64_t owner)
{
	struct lock_owner *o = in->owners;

	while (o && o->owner != owner)
		o = o->next;
	return o;
}

static int owner_open(const struct inode *in)
{
	struct inode_path path;
	int fd;

	inode_path(in, &path);
	fd = open(path.s, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = open(path.s, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open(path.s, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int owner_get(struct fs *fs, struct inode *in, const struct handle *h, uint64_t owner,
	pid_t pid, struct lock_owner **out)
{
	struct lock_owner *o = owner_find(in, owner);
	int fd;

	if (!o) {
		fd = owner_open(in);
		if (fd < 0)
			return fd;
		o = malloc(sizeof(*o));
		if (!o) {
			close(fd);
			return -ENOMEM;
		}
		*o = (struct lock_owner){in->owners, owner, h,
			atomic_fetch_add(&fs->waiters->numbers, 1) + 1, fd, pid};
		in->owners = o;
	}
	*out = o;
	return 0;
}

static void owner_drop(struct lock_owner **at)
{
	struct lock_owner *o = *at;

	*at = o->next;
	close(o->fd);
	free(o);
}

void lock_owner_closed(struct inode *in, uint64_t owner)
{
	struct lock_owner **at;

	pthread_mutex_lock(&in->lock);
	for (at = &in->owners; *at; at = &(*at)->next)
		if ((*at)->owner == owner) {
			owner_drop(at);
			break;
		}
	pthread_mutex_unlock(&in->lock);
}

void lock_handle_closed(struct inode *in, const struct handle *h)
{
	struct lock_owner **at;

	for (at = &in->owners; *at;)
		if ((*at)->via == h)
			owner_drop(at);
		else
			at = &(*at)->next;
}

void lock_drop_all(struct inode *in)
{
	while (in->owners)
		owner_drop(&in->owners);
}

/* ---- waiting ---- */

static int try_lock(const struct waiter *w, bool wait)
{
	struct flock range = w->range;
	int r;

	if (w->flock)
		r = flock(w->fd, wait ? w->op & ~LOCK_NB : w->op | LOCK_NB);
	else
		r = fcntl(w->fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range);
	return r < 0 ? -errno : 0;
}

static void on_interrupt(fuse_req_t req, void *waiter)
{
	struct waiter *w = waiter;

	(void)req;
	w->interrupted = true;
	pthread_kill(w->thread, LOCK_SIGNAL);
}

static void finish(struct waiter *w, int r)
{
	if (!w->told) {
		probe_done(&w->probe, r);
		probe_end(&w->probe);
	}
	/* the kernel starts an interrupted call again, which without a signal comes out as 512 */
	if (r == -EINTR && !w->interrupted)
		r = -ECONNABORTED;
	fuse_reply_err(w->req, -r);
}

static void *wait_main(void *waiter)
{
	struct waiter *w = waiter;
	struct lock_waiters *all = w->fs->waiters;
	struct sigevent se = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = LOCK_SIGNAL};
	struct itimerspec tick = {{0, TICK_NS}, {0, TICK_NS}};
	bool ticking;
	timer_t timer;
	sigset_t set;
	int r;

	sigfillset(&set);
	sigdelset(&set, LOCK_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	w->thread = pthread_self();
	se._sigev_un._tid = gettid();
	ticking = timer_create(CLOCK_MONOTONIC, &se, &timer) == 0;
	if (ticking)
		timer_settime(timer, 0, &tick, NULL);
	r = ticking ? -EINTR : -ENOLCK;
	fuse_req_interrupt_func(w->req, on_interrupt, w);
	while (ticking && !w->interrupted && !all->stopping) {
		r = try_lock(w, true);
		if (r != -EINTR)
			break;
	}
	fuse_req_interrupt_func(w->req, NULL, NULL);
	if (ticking)
		timer_delete(timer);
	finish(w, r);
	close(w->fd);
	inode_put(w->fs, w->inode, 1);
	free(w);
	pthread_mutex_lock(&all->lock);
	if (!--all->n)
		pthread_cond_broadcast(&all->none);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* Hands a request that has to wait to a thread of its own. 0, or -errno: nothing was taken over. */
static int wait_start(const struct waiter *from, struct inode *in)
{
	struct lock_waiters *all = from->fs->waiters;
	struct waiter *w = malloc(sizeof(*w));
	sigset_t full, old;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!w)
		return -ENOMEM;
	memcpy(w, from, sizeof(*w));
	w->inode = in;
	w->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 0);
	if (w->fd < 0) {
		r = -errno;
		free(w);
		return r;
	}
	inode_ref(in);
	pthread_mutex_lock(&all->lock);
	all->n++;
	pthread_mutex_unlock(&all->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&full);
	pthread_sigmask(SIG_SETMASK, &full, &old);
	r = pthread_create(&thread, &attr, wait_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!r)
		return 0;
	pthread_mutex_lock(&all->lock);
	all->n--;
	pthread_mutex_unlock(&all->lock);
	close(w->fd);
	inode_put(from->fs, in, 1);
	free(w);
	return -r;
}

static bool refused(int r)
{
	return r == -EAGAIN || r == -EACCES;
}

/* A try, under the inode's lock; timed and, unless it was refused and is not the last, put in
 * there: then no two of one file overlap in the trace, and it tells which of them came first. */
static int try_timed(struct waiter *w, struct inode *in, bool last)
{
	int r;

	pthread_mutex_lock(&in->lock);
	w->probe.call_ns = 0;
	probe_call(&w->probe);
	r = try_lock(w, false);
	probe_done(&w->probe, r);
	w->told = last || !refused(r);
	if (w->told)
		probe_end(&w->probe);
	pthread_mutex_unlock(&in->lock);
	return r;
}

/* Tries; a handle that was closed a moment ago may not have given up its lock yet (RELEASE comes
 * after close(2) has returned), so a refusal among our own is asked once more. */
static int lock_now(struct waiter *w, struct inode *in)
{
	struct timespec moment = {0, 2000000};
	int r = try_timed(w, in, false);

	if (refused(r)) {
		nanosleep(&moment, NULL);
		r = try_timed(w, in, true);
	}
	return r;
}

/* ---- the operations ---- */

void mirror_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
	struct fs *fs = fuse_req_userdata(req);
	struct handle *h = handle_of(fi);
	struct waiter w = {.fs = fs, .req = req, .fd = h->fd, .flock = true, .op = op};
	int r;

	(void)ino;
	probe_begin(&w.probe, fs, req, OP_FLOCK);
	cred_daemon(fs);
	w.probe.ev.iid = h->inode->iid;
	w.probe.ev.oid = h->oid;
	w.probe.ev.flags = (uint32_t)op;
	if (op & LOCK_NB || (op & ~LOCK_NB) == LOCK_UN) {
		r = lock_now(&w, h->inode);
	} else {
		r = try_timed(&w, h->inode, false);
		if (r == -EAGAIN) {
			r = wait_start(&w, h->inode);
			if (!r)
				return;
		}
	}
	finish(&w, r);
}

static void note_range(struct event *ev, const struct handle *h, const struct flock *lock)
{
	ev->iid = h->inode->iid;
	ev->oid = h->oid;
	ev->offset = (uint64_t)lock->l_start;
	ev->size = (uint64_t)lock->l_len;
	ev->flags = (uint32_t)lock->l_type;
}

void mirror_setlk(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep)
{
	struct fs *fs = fuse_req_userdata(req);
	struct handle *h = handle_of(fi);
	struct inode *in = h->inode;
	struct lock_owner *o = NULL;
	struct waiter w = {.fs = fs, .req = req, .range = *lock, .owner = fi->lock_owner, .fd = -1};
	int r = 0;

	(void)ino;
	probe_begin(&w.probe, fs, req, OP_SETLK);
	cred_daemon(fs);
	note_range(&w.probe.ev, h, lock);
	if (sleep)
		w.probe.ev.flags |= EVENT_LOCK_WAIT;
	w.range.l_pid = 0;
	w.range.l_whence = SEEK_SET;
	pthread_mutex_lock(&in->lock);
	if (lock->l_type != F_UNLCK)
		r = owner_get(fs, in, h, fi->lock_owner, lock->l_pid, &o);
	else
		o = owner_find(in, fi->lock_owner);
	if (o) {
		w.probe.ev.arg = o->number;
		w.fd = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
		r = w.fd < 0 ? -errno : 0;
	}
	pthread_mutex_unlock(&in->lock);
	if (!r && w.fd >= 0)
		r = sleep ? try_timed(&w, in, false) : lock_now(&w, in);
	if (sleep && (r == -EAGAIN || r == -EACCES)) {
		r = wait_start(&w, in);
		if (!r) {
			close(w.fd);
			return;
		}
	}
	if (w.fd >= 0)
		close(w.fd);
	finish(&w, r);
}

/* Which of our owners holds the range that was found: the one whom it does not keep out. */
static pid_t holder(struct inode *in, const struct flock *found, uint64_t asker)
{
	struct lock_owner *o;

	for (o = in->owners; o; o = o->next) {
		struct flock f = {.l_type = F_WRLCK,
			.l_whence = SEEK_SET,
			.l_start = found->l_start,
			.l_len = found->l_len};

		if (o->owner != asker && fcntl(o->fd, F_OFD_GETLK, &f) == 0 && f.l_type == F_UNLCK)
			return o->pid;
	}
	return 0;
}

void mirror_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
	struct fs *fs = fuse_req_userdata(req);
	struct handle *h = handle_of(fi);
	struct inode *in = h->inode;
	struct flock found = *lock;
	struct lock_owner *o;
	_close_ int own = -1;
	struct probe p;
	int fd, r;

	(void)ino;
	probe_begin(&p, fs, req, OP_GETLK);
	cred_daemon(fs);
	note_range(&p.ev, h, lock);
	found.l_pid = 0;
	found.l_whence = SEEK_SET;
	pthread_mutex_lock(&in->lock);
	o = owner_find(in, fi->lock_owner);
	fd = o ? o->fd : (own = owner_open(in));
	p.ev.arg = o ? o->number : 0;
	probe_call(&p);
	r = fd < 0 ? fd : fcntl(fd, F_OFD_GETLK, &found) < 0 ? -errno : 0;
	probe_done(&p, r);
	if (!r && found.l_type != F_UNLCK && found.l_pid == -1)
		found.l_pid = holder(in, &found, fi->lock_owner);
	pthread_mutex_unlock(&in->lock);
	probe_end(&p);
	if (r)
		fuse_reply_err(req, -r);
	else
		fuse_reply_lock(req, &found);
}
