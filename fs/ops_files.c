/* SPDX-License-Identifier: MIT */
/*
 * Operations on open files and directories but for their data and listings: open, flush, release,
 * fsync, ioctl, poll; and what a handle is. A file is opened again through /proc/self/fd of its
 * inode, so no name is looked up. Only ioctls whose argument is plain data of known size are handed
 * through: one that holds pointers would make the kernel use the daemon's memory.
 */
#include "lock_priv.h"
#include "mirror_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

struct handle *handle_new(struct fs *fs, struct inode *in, int fd, int flags)
{
	struct handle *h = malloc(sizeof(*h));

	if (!h)
		return NULL;
	h->inode = in;
	h->fd = fd;
	h->flags = flags;
	h->oid = atomic_fetch_add(&fs->next_oid, 1);
	h->pos = 0;
	h->direct = false;
	pthread_mutex_init(&h->lock, NULL);
	inode_ref(in);
	pthread_mutex_lock(&in->lock);
	h->next = in->handles;
	h->at = &in->handles;
	if (h->next)
		h->next->at = &h->next;
	in->handles = h;
	pthread_mutex_unlock(&in->lock);
	return h;
}

static void drop(struct handle *h)
{
	close(h->fd);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void handle_free(struct fs *fs, struct handle *h)
{
	struct inode *in = h->inode;

	pthread_mutex_lock(&in->lock);
	lock_handle_closed(in, h);
	*h->at = h->next;
	if (h->next)
		h->next->at = h->at;
	pthread_mutex_unlock(&in->lock);
	drop(h);
	inode_put(fs, in, 1);
}

void handle_drop_all(struct inode *in)
{
	struct handle *next;

	for (struct handle *h = in->handles; h; h = next) {
		next = h->next;
		drop(h);
	}
	in->handles = NULL;
}

/* Files whose size is not the length of what they give: a page cache would cut them. */
static bool is_synthetic(int fd)
{
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return false;
	return st.f_type == PROC_SUPER_MAGIC || st.f_type == SYSFS_MAGIC ||
	       st.f_type == DEBUGFS_MAGIC || st.f_type == TRACEFS_MAGIC ||
	       st.f_type == CGROUP_SUPER_MAGIC || st.f_type == CGROUP2_SUPER_MAGIC;
}

void mirror_open_mode(struct fs *fs, struct handle *h, struct fuse_file_info *fi)
{
	if (!S_ISREG(h->inode->type))
		return;
	if (fs->view == RECORD_VIEW_APP)
		h->direct = fs->direct_mmap; /* else shared maps would fail: page cache */
	else
		h->direct = is_synthetic(h->fd);
	fi->direct_io = h->direct;
	fi->keep_cache = !h->direct; /* the kernel drops it when size or mtime have changed */
}

static void open_as(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, enum op op)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino);
	int flags = fi->flags & ~(O_CREAT | O_EXCL | O_NOCTTY | O_NOFOLLOW);
	struct handle *h = NULL;
	struct inode_path path;
	struct probe p;
	int fd, err = 0;

	if (op == OP_OPENDIR)
		flags = O_RDONLY | O_DIRECTORY;
	probe_begin(&p, fs, req, op);
	if (flags & O_TRUNC)
		cred_caller(fs, req);
	else
		cred_daemon(fs);
	inode_path(in, &path);
	p.ev.iid = in->iid;
	p.ev.flags = (uint32_t)fi->flags;
	probe_call(&p);
	fd = open(path.s, flags | O_CLOEXEC);
	if (fd < 0)
		err = errno;
	probe_done(&p, -err);
	if (!err) {
		if (flags & O_TRUNC)
			inode_touch_cut(in, 0);
		h = handle_new(fs, in, fd, fi->flags);
		if (h) {
			p.ev.oid = h->oid;
			fi->fh = (uintptr_t)h;
			mirror_open_mode(fs, h, fi);
		} else {
			close(fd);
			err = ENOMEM;
		}
	}
	probe_end(&p);
	if (err)
		fuse_reply_err(req, err);
	else if (fuse_reply_open(req, fi) == -ENOENT)
		handle_free(fs, h);
}

void mirror_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	open_as(req, ino, fi, OP_OPEN);
}

void mirror_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	open_as(req, ino, fi, OP_OPENDIR);
}

static void begin(struct probe *p, fuse_req_t req, enum op op, const struct handle *h)
{
	struct fs *fs = fuse_req_userdata(req);

	probe_begin(p, fs, req, op);
	cred_daemon(fs);
	p->ev.iid = h->inode->iid;
	p->ev.oid = h->oid;
}

void mirror_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	struct probe p;
	int fd, err = 0;

	(void)ino;
	begin(&p, req, OP_FLUSH, h);
	probe_call(&p);
	if ((h->flags & O_ACCMODE) != O_RDONLY) { /* some file systems report errors at close */
		fd = dup(h->fd);
		if (fd < 0 || close(fd) < 0)
			err = errno;
	}
	if (!lock_owner_closed(h->inode, fi->lock_owner, &p, -err)) {
		probe_done(&p, -err);
		probe_end(&p);
	}
	fuse_reply_err(req, err);
}

static void release(fuse_req_t req, struct fuse_file_info *fi, enum op op)
{
	struct handle *h = handle_of(fi);
	struct probe p;

	begin(&p, req, op, h);
	probe_call(&p);
	handle_free(p.fs, h);
	probe_done(&p, 0);
	probe_end(&p);
	fuse_reply_err(req, 0);
}

void mirror_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	release(req, fi, OP_RELEASE);
}

void mirror_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	release(req, fi, OP_RELEASEDIR);
}

static void sync_as(fuse_req_t req, int datasync, struct fuse_file_info *fi, enum op op)
{
	struct handle *h = handle_of(fi);
	struct probe p;
	int err;

	begin(&p, req, op, h);
	p.ev.flags = datasync ? 1 : 0;
	probe_call(&p);
	err = (datasync ? fdatasync(h->fd) : fsync(h->fd)) < 0 ? errno : 0;
	probe_done(&p, -err);
	probe_end(&p);
	fuse_reply_err(req, err);
}

void mirror_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	sync_as(req, datasync, fi, OP_FSYNC);
}

void mirror_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	(void)ino;
	sync_as(req, datasync, fi, OP_FSYNCDIR);
}

static void mark(fuse_req_t req, const struct record_mark *m)
{
	struct probe p;

	probe_begin(&p, fuse_req_userdata(req), req, OP_MARK);
	p.ev.name = (struct bytes){m->name, (uint32_t)strnlen(m->name, sizeof(m->name))};
	probe_call(&p);
	probe_done(&p, 0);
	probe_end(&p);
	fuse_reply_ioctl(req, 0, NULL, 0);
}

static bool plain_ioctl(unsigned cmd)
{
	return cmd == FS_IOC_GETFLAGS || cmd == FS_IOC_SETFLAGS || cmd == FS_IOC_GETVERSION ||
	       cmd == FS_IOC_FSGETXATTR || cmd == FS_IOC_FSSETXATTR || cmd == FS_IOC_GETFSLABEL;
}

void mirror_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
	struct fuse_file_info *fi, unsigned flags, const void *in, size_t in_size, size_t out_size)
{
	struct handle *h = handle_of(fi);
	char buf[512] __attribute__((aligned(16))) = {0};
	struct probe p;
	int r;

	(void)ino;
	(void)arg;
	if (cmd == RECORD_IOC_MARK && in_size >= sizeof(struct record_mark)) {
		mark(req, in);
		return;
	}
	begin(&p, req, OP_IOCTL, h);
	p.ev.arg = cmd;
	p.ev.size = MAX(in_size, out_size);
	probe_call(&p);
	if (!plain_ioctl(cmd) || flags & FUSE_IOCTL_COMPAT || in_size > sizeof(buf) ||
		out_size > sizeof(buf)) {
		r = -ENOTTY;
	} else {
		if (in_size)
			memcpy(buf, in, in_size);
		r = ioctl(h->fd, cmd, buf);
		r = r < 0 ? -errno : r;
	}
	probe_done(&p, r);
	probe_end(&p);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_ioctl(req, r, buf, out_size);
}

void mirror_poll(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph)
{
	struct handle *h = handle_of(fi);
	struct pollfd pfd = {.fd = h->fd, .events = (short)fi->poll_events};
	struct probe p;
	int r;

	(void)ino;
	if (ph)
		fuse_pollhandle_destroy(ph); /* a file is always ready: nothing to notify */
	begin(&p, req, OP_POLL, h);
	p.ev.flags = fi->poll_events;
	probe_call(&p);
	r = poll(&pfd, 1, 0);
	r = r < 0 ? -errno : pfd.revents;
	probe_done(&p, r);
	probe_end(&p);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_poll(req, (unsigned)r);
}
