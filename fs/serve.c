/* SPDX-License-Identifier: MIT */
/*
 * Serving a mount until it ends. A stop is an unmount: the kernel then ends the session after the
 * last request that was acknowledged, and nothing is lost. Where files are still open the unmount
 * is lazy, and the session is told to end with the requests under way. Should one of those hang in
 * the file system below, its user is cut off by the kernel, and at last the thread itself is left
 * behind: no wait here is without end, so that the trace is closed whatever the storage does.
 *
 * libfuse's loop has a thread of its own, so that there is one that never waits for storage.
 */
#include "lock_priv.h"
#include "record_priv.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#define THREADS_MAX  256 /* a request that hangs holds one */
#define THREADS_IDLE 16
#define BUSY_TRIES   15 /* of 20 ms: programs that are just ending */
#define GRACE_MS     1000
#define CUT_MS       10000 /* for requests under way: a slow disk's flush, not a dead one's */
#define WAKE_MS      100

/* True when the loop has ended. */
static bool ended(struct record *r, int ms)
{
	struct pollfd p = {r->done_fd, POLLIN, 0};

	return poll(&p, 1, ms) > 0;
}

/* The loop waits where only a signal wakes it, to see that the session is to end. */
static bool ended_awake(struct record *r, int ms)
{
	for (; ms > 0; ms -= WAKE_MS) {
		pthread_kill(r->loop, LOCK_SIGNAL);
		if (ended(r, WAKE_MS))
			return true;
	}
	return false;
}

static void stop(struct record *r)
{
	int busy = -EBUSY;

	for (int i = 0; i < BUSY_TRIES && busy == -EBUSY; i++) {
		busy = record_mount_down(&r->mount, false);
		if (ended(r, busy ? 20 : GRACE_MS))
			return;
	}
	r->busy = busy == -EBUSY;
	record_mount_down(&r->mount, true);
	if (ended(r, GRACE_MS))
		return;
	fuse_session_exit(r->session);
	if (ended_awake(r, CUT_MS))
		return;
	record_mount_abort(&r->mount, &r->cut);
	r->stuck = !ended_awake(r, GRACE_MS);
}

static void *loop_main(void *record)
{
	struct record *r = record;
	struct fuse_loop_config *c = fuse_loop_cfg_create();
	uint64_t one = 1;
	sigset_t wake;

	sigemptyset(&wake);
	sigaddset(&wake, LOCK_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
	r->loop_error = -ENOMEM;
	if (c) {
		fuse_loop_cfg_set_clone_fd(c, 1);
		fuse_loop_cfg_set_max_threads(c, THREADS_MAX);
		fuse_loop_cfg_set_idle_threads(c, THREADS_IDLE);
		r->loop_error = fuse_session_loop_mt(r->session, c);
		fuse_loop_cfg_destroy(c);
	}
	(void)!write(r->done_fd, &one, sizeof(one));
	return NULL;
}

static int loop(struct record *r)
{
	struct pollfd p[2] = {{r->stop_fd, POLLIN, 0}, {r->done_fd, POLLIN, 0}};
	int ret = queue_thread(&r->loop, loop_main, r);

	if (ret < 0)
		return ret;
	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (!p[1].revents)
		stop(r);
	if (r->stuck)
		return 0;
	pthread_join(r->loop, NULL);
	ret = MIN(r->loop_error, 0);
	return ret ? fail(ret, "%s: serving failed: %s", r->mount.path, strerror(-ret)) : 0;
}

int record_serve(struct record *r)
{
	uint64_t waiters = 0;
	int ret = 0;

	umask(0);
	if (r->queue)
		ret = queue_start(r->queue);
	if (ret < 0)
		return ret;
	if (r->queue && r->snapshot_full)
		ret = record_snapshot(r->fs);
	if (!ret)
		ret = loop(r);
	if (fs_stop(r->fs, &waiters))
		r->stuck = true;
	if (!r->cut) /* the kernel's number has them in it */
		r->cut = waiters;
	queue_stop(r->queue);
	if (!ret && r->stuck)
		ret = fail(-ETIMEDOUT, "%s: calls of the file system below do not come back",
			r->source);
	return ret;
}

void record_stop(struct record *r, const char *reason)
{
	const char *none = NULL;
	uint64_t one = 1;
	int saved = errno;

	atomic_compare_exchange_strong(&r->reason, &none, reason);
	(void)!write(r->stop_fd, &one, sizeof(one));
	errno = saved;
}
