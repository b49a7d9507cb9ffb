/* SPDX-License-Identifier: MIT */
/*
 * Serving a mount until it ends. A stop is an unmount: the kernel then ends the session after the
 * last request that was acknowledged, and nothing is lost. Files that are still open are given a
 * moment after a lazy unmount; then the session is told to end and one request is made to it, so
 * that its loop looks. A thread of its own does this, because a signal handler may only write to
 * a descriptor and libfuse's loop waits where nothing but a request wakes it.
 */
#include "fs_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#define THREADS_MAX  256 /* a request that waits for a lock holds one */
#define THREADS_IDLE 16
#define BUSY_TRIES   15 /* of 20 ms: programs that are just ending */
#define GRACE_MS     1000

/* True when the loop has ended. */
static bool ended(struct record *r, int ms)
{
	struct pollfd p = {r->done_fd, POLLIN, 0};

	return poll(&p, 1, ms) > 0;
}

static void cut_off(struct record *r, int root)
{
	struct statfs sf;

	queue_set_self(r->queue, (pid_t)syscall(SYS_gettid));
	fuse_session_exit(r->session);
	do {
		if (root >= 0)
			(void)!fstatfs(root, &sf);
	} while (!ended(r, 100));
}

static void *stopper(void *record)
{
	struct record *r = record;
	struct pollfd p[2] = {{r->stop_fd, POLLIN, 0}, {r->done_fd, POLLIN, 0}};
	_close_ int root = -1;
	int busy = -EBUSY;

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[1].revents)
		return NULL;
	for (int i = 0; i < BUSY_TRIES && busy == -EBUSY; i++) {
		busy = record_mount_down(&r->mount, false);
		if (ended(r, busy ? 20 : GRACE_MS))
			return NULL;
	}
	/* a handle of our own on the mount, for the request that ends the loop */
	root = open(r->mount.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r->busy = busy == -EBUSY;
	record_mount_down(&r->mount, true);
	if (!ended(r, GRACE_MS))
		cut_off(r, root);
	return NULL;
}

static int loop(struct record *r)
{
	struct fuse_loop_config *c = fuse_loop_cfg_create();
	int ret;

	if (!c)
		return fail(-ENOMEM, "out of memory");
	fuse_loop_cfg_set_clone_fd(c, 1);
	fuse_loop_cfg_set_max_threads(c, THREADS_MAX);
	fuse_loop_cfg_set_idle_threads(c, THREADS_IDLE);
	ret = fuse_session_loop_mt(r->session, c);
	fuse_loop_cfg_destroy(c);
	return ret < 0 ? fail(ret, "%s: serving failed: %s", r->mount.path, strerror(-ret)) : 0;
}

int record_serve(struct record *r)
{
	pthread_t stop_thread;
	uint64_t one = 1;
	int ret = 0;

	umask(0);
	if (r->queue)
		ret = queue_start(r->queue);
	if (ret < 0)
		return ret;
	if (r->queue && r->snapshot_full)
		ret = record_snapshot(r->fs);
	if (!ret)
		ret = queue_thread(&stop_thread, stopper, r);
	if (!ret) {
		ret = loop(r);
		(void)!write(r->done_fd, &one, sizeof(one));
		pthread_join(stop_thread, NULL);
	}
	fs_stop(r->fs);
	queue_stop(r->queue);
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
