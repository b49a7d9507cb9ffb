/* SPDX-License-Identifier: MIT */
/*
 * Operations that make an entry: mknod, mkdir, symlink, create (and the unnamed file of O_TMPFILE,
 * which arrives as a create, see init.c). They act as the caller; what comes out is entered into
 * the inode table as made by the workload, so it is never snapped.
 */
#include "mirror_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Enters the entry just made, reached by name; fd_path: O_PATH descriptor, or -1. */
static struct inode *enter(
	struct fs *fs, struct inode *dir, const char *name, struct fuse_entry_param *e)
{
	struct inode *in;
	struct stat st;
	int fd;

	cred_daemon(fs);
	fd = openat(inode_fd(dir), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return NULL;
	}
	in = inode_enter(fs, dir->iid, name, fd, &st, true);
	if (in)
		mirror_entry(fs, in, &st, e);
	return in;
}

static void made(fuse_req_t req, struct probe *p, struct inode *dir, const char *name, int err)
{
	struct fuse_entry_param e;
	struct inode *in = NULL;

	probe_done(p, -err);
	if (!err) {
		in = enter(p->fs, dir, name, &e);
		if (in)
			p->ev.iid = in->iid;
		else
			err = errno ? errno : EIO;
	}
	probe_end(p);
	inode_change_end(dir, NULL);
	if (err)
		fuse_reply_err(req, err);
	else if (fuse_reply_entry(req, &e) == -ENOENT)
		inode_put(p->fs, in, 1);
}

/* Until inode_change_end() nobody else changes names in the directory. */
static struct inode *begin(
	struct probe *p, fuse_req_t req, enum op op, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *dir = inode_of(fs, parent);

	probe_begin(p, fs, req, op);
	cred_maker(fs, req);
	p->ev.parent = dir->iid;
	p->ev.name = BYTES_STR(name);
	inode_change_begin(dir, NULL);
	return dir;
}

void mirror_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct probe p;
	struct inode *dir = begin(&p, req, OP_MKNOD, parent, name);
	int err;

	p.ev.mode = mode & ~fuse_req_ctx(req)->umask;
	p.ev.rdev = rdev;
	probe_call(&p);
	err = mknodat(inode_fd(dir), name, mode, rdev) < 0 ? errno : 0;
	made(req, &p, dir, name, err);
}

void mirror_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct probe p;
	struct inode *dir = begin(&p, req, OP_MKDIR, parent, name);
	int err;

	p.ev.mode = (mode & ~fuse_req_ctx(req)->umask) | S_IFDIR;
	probe_call(&p);
	err = mkdirat(inode_fd(dir), name, mode) < 0 ? errno : 0;
	made(req, &p, dir, name, err);
}

void mirror_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct probe p;
	struct inode *dir = begin(&p, req, OP_SYMLINK, parent, name);
	int err;

	p.ev.target = BYTES_STR(target);
	probe_call(&p);
	err = symlinkat(target, inode_fd(dir), name) < 0 ? errno : 0;
	made(req, &p, dir, name, err);
}

/* Opens as told; *fresh: the file was made, not found. */
static int create_open(
	struct fs *fs, struct inode *dir, const char *name, int flags, mode_t mode, bool *fresh)
{
	int fd;

	*fresh = true;
	flags &= ~(O_NOFOLLOW | O_NOCTTY);
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		struct inode_path path;

		inode_path(dir, &path);
		return open(path.s, (flags & ~O_CREAT) | O_CLOEXEC, mode);
	}
	flags |= O_CREAT | O_CLOEXEC;
	fd = openat(inode_fd(dir), name, flags | O_EXCL | O_NOFOLLOW, mode);
	if (fd < 0 && errno == EEXIST && !(flags & O_EXCL)) { /* made meanwhile behind the mount */
		*fresh = false;
		cred_daemon(fs);
		fd = openat(inode_fd(dir), name, (flags & ~O_CREAT) | O_NOFOLLOW);
	}
	return fd;
}

static struct inode *created(struct fs *fs, struct inode *dir, const char *name, int fd, bool tmp,
	bool fresh, struct fuse_entry_param *e)
{
	struct stat st, st2;
	struct inode *in;
	char path[32];
	int pfd = -1;

	cred_daemon(fs);
	if (fstat(fd, &st) < 0)
		return NULL;
	if (!tmp)
		pfd = openat(inode_fd(dir), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (pfd >= 0 &&
		(fstat(pfd, &st2) < 0 || st2.st_ino != st.st_ino || st2.st_dev != st.st_dev)) {
		close(pfd);
		pfd = -1;
	}
	if (pfd < 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		pfd = open(path, O_PATH | O_CLOEXEC);
	}
	if (pfd < 0)
		return NULL;
	in = inode_enter(fs, tmp ? 0 : dir->iid, name, pfd, &st, fresh);
	if (in) {
		if (tmp)
			in->made = true;
		mirror_entry(fs, in, &st, e);
	}
	return in;
}

void mirror_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	bool tmp = (fi->flags & O_TMPFILE) == O_TMPFILE, fresh = true;
	struct probe p;
	struct inode *dir = begin(&p, req, tmp ? OP_TMPFILE : OP_CREATE, parent, name), *in = NULL;
	struct fs *fs = p.fs;
	struct handle *h = NULL;
	struct fuse_entry_param e;
	int fd, err = 0;

	if (tmp)
		p.ev.name = (struct bytes){NULL, 0};
	p.ev.mode = (mode & ~fuse_req_ctx(req)->umask) | S_IFREG;
	p.ev.flags = (uint32_t)fi->flags;
	probe_call(&p);
	fd = create_open(fs, dir, name, fi->flags, mode, &fresh);
	if (fd < 0)
		err = errno;
	probe_done(&p, -err);
	if (!err) {
		in = created(fs, dir, name, fd, tmp, fresh, &e);
		h = in ? handle_new(fs, in, fd, fi->flags) : NULL;
		if (h) {
			p.ev.iid = in->iid;
			p.ev.oid = h->oid;
			fi->fh = (uintptr_t)h;
			mirror_open_mode(fs, h, fi);
		} else {
			err = ENOMEM;
			if (in)
				inode_put(fs, in, 1);
			close(fd);
		}
	}
	probe_end(&p);
	inode_change_end(dir, NULL);
	if (err) {
		fuse_reply_err(req, err);
	} else if (fuse_reply_create(req, &e, fi) == -ENOENT) {
		handle_free(fs, h);
		inode_put(fs, in, 1);
	}
}
