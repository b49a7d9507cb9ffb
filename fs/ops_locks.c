/* SPDX-License-Identifier: MIT */
/*
 * Operations on locks, which are taken on the source itself, so programs there see them. flock goes
 * to the handle's own descriptor. A POSIX or OFD lock goes to a descriptor of its own for each
 * (inode, owner), as an open-file-description lock: owners keep each other out, handles of one
 * owner do not, and closing the descriptor drops the owner's locks as close(2) does.
 */
#include "lock_priv.h"
#include "mirror_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

struct lock_owner {
	struct lock_owner *next;
	uint64_t owner;
	const struct handle *via; /* through which it locked first */
	uint64_t number;          /* in the trace */
	int fd;
	pid_t pid;
};

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
		*o = (struct lock_owner){
			in->owners, owner, h, atomic_fetch_add(&fs->next_owner, 1), fd, pid};
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

/* The event is put under the lock, as by a try for a lock. */
bool lock_owner_closed(struct inode *in, uint64_t owner, struct probe *p, int result)
{
	struct lock_owner **at;
	bool told = false;

	pthread_mutex_lock(&in->lock);
	for (at = &in->owners; *at; at = &(*at)->next)
		if ((*at)->owner == owner) {
			p->ev.arg = (*at)->number;
			p->call_ns = 0;
			probe_call(p);
			owner_drop(at);
			probe_done(p, result);
			probe_end(p);
			told = true;
			break;
		}
	pthread_mutex_unlock(&in->lock);
	return told;
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

/* ---- the operations ---- */

void mirror_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
	struct fs *fs = fuse_req_userdata(req);
	struct handle *h = handle_of(fi);
	struct lock_waiter w = {.fs = fs, .req = req, .fd = h->fd, .flock = true, .op = op};
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
		r = lock_try(&w, h->inode, false);
		if (lock_refused(r)) {
			r = lock_wait(&w, h->inode);
			if (!r)
				return;
		}
	}
	lock_finish(&w, r);
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
	struct lock_waiter w = {
		.fs = fs, .req = req, .range = *lock, .owner = fi->lock_owner, .fd = -1};
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
		r = sleep ? lock_try(&w, in, false) : lock_now(&w, in);
	if (sleep && lock_refused(r)) {
		r = lock_wait(&w, in);
		if (!r) {
			close(w.fd);
			return;
		}
	}
	if (w.fd >= 0)
		close(w.fd);
	lock_finish(&w, r);
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
