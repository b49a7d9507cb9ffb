/* SPDX-License-Identifier: MIT */
/*
 * Trying and waiting for locks. A request that has to wait must not hold a thread that serves the
 * mount: it gets one of its own (the third place that starts threads, beside the recorder's queue
 * and the executor), which sits in the blocking call. An interrupt or the end of the session breaks
 * that call with a signal; should the signal come too early, the alarm that ticks while waiting
 * brings the next one.
 */
#include "lock_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#define TICK_NS     50000000
#define STOP_S      3 /* for waiters to end, a tick each if nothing holds them */
#define STACK_BYTES ((size_t)256 << 10)

struct lock_waiters {
	pthread_mutex_t lock;
	pthread_cond_t none;
	unsigned n;
	atomic_bool stopping;
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

/* ---- waiting ---- */

static int try_lock(const struct lock_waiter *w, bool wait)
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
	struct lock_waiter *w = waiter;

	(void)req;
	w->interrupted = true;
	pthread_kill(w->thread, LOCK_SIGNAL);
}

void lock_finish(struct lock_waiter *w, int r)
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
	struct lock_waiter *w = waiter;
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
	lock_finish(w, r);
	close(w->fd);
	inode_put(w->fs, w->inode, 1);
	free(w);
	pthread_mutex_lock(&all->lock);
	if (!--all->n)
		pthread_cond_broadcast(&all->none);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

int lock_wait(const struct lock_waiter *from, struct inode *in)
{
	struct lock_waiters *all = from->fs->waiters;
	struct lock_waiter *w = malloc(sizeof(*w));
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

int lock_try(struct lock_waiter *w, struct inode *in, bool last)
{
	int r;

	pthread_mutex_lock(&in->lock);
	w->probe.call_ns = 0;
	probe_call(&w->probe);
	r = try_lock(w, false);
	probe_done(&w->probe, r);
	w->told = last || !lock_refused(r);
	if (w->told)
		probe_end(&w->probe);
	pthread_mutex_unlock(&in->lock);
	return r;
}

int lock_now(struct lock_waiter *w, struct inode *in)
{
	struct timespec moment = {0, 2000000};
	int r = lock_try(w, in, false);

	if (lock_refused(r)) {
		nanosleep(&moment, NULL);
		r = lock_try(w, in, true);
	}
	return r;
}
