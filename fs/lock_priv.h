/* SPDX-License-Identifier: MIT */
/* Locks: who holds and who waits. */
#ifndef LOCK_PRIV_H
#define LOCK_PRIV_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "inode_priv.h"

/* lock.c */
/* Breaks a blocking call of the thread that gets it, nothing else. Handled from lock_init() on. */
#define LOCK_SIGNAL (SIGRTMIN + 3)
int lock_init(struct fs *fs);
int lock_stop(struct fs *fs, uint64_t *cut); /* see fs_stop() */
void lock_fini(struct fs *fs);

/* A request for a lock. */
struct lock_waiter {
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
static inline bool lock_refused(int r)
{
	return r == -EAGAIN || r == -EACCES;
}
/* A try, under the inode's lock; timed and, unless it was refused and is not the last, put in
 * there: then no two of one file overlap in the trace, and it tells which of them came first. */
int lock_try(struct lock_waiter *w, struct inode *in, bool last);
/* Tries; a handle that was closed a moment ago may not have given up its lock yet (RELEASE comes
 * after close(2) has returned), so a refusal among our own is asked once more. */
int lock_now(struct lock_waiter *w, struct inode *in);
/* Hands a request that has to wait to a thread of its own. 0, or -errno: nothing was taken over. */
int lock_wait(const struct lock_waiter *from, struct inode *in);
void lock_finish(struct lock_waiter *w, int r); /* event, reply */

/* ops_locks.c */
/* The owner's close(2), which result is of: its locks go. True: it had some, and the event of p,
 * which tells its number, has been put. */
bool lock_owner_closed(struct inode *in, uint64_t owner, struct probe *p, int result);
void lock_handle_closed(struct inode *in, const struct handle *h); /* under the inode's lock */
void lock_drop_all(struct inode *in);

#endif
