/* SPDX-License-Identifier: MIT */
/*
 * Operations on attributes: getattr, setattr, access, statfs. The O_PATH descriptor of the inode
 * serves all but truncation by name; a change of size acts as the caller, so that set-id bits go
 * when they would natively.
 */
#include "mirror_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#define NS INT64_C(1000000000)

void mirror_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino);
	struct probe p;
	struct stat st;
	int err;

	probe_begin(&p, fs, req, OP_GETATTR);
	cred_daemon(fs);
	p.ev.iid = in->iid;
	if (fi && fi->fh)
		p.ev.oid = handle_of(fi)->oid;
	probe_call(&p);
	err = fstat(inode_fd(in), &st) < 0 ? errno : 0;
	probe_done(&p, -err);
	probe_end(&p);
	st.st_ino = in->shown;
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_attr(req, &st, MIRROR_TIMEOUT);
}

static int set_mode(struct inode *in, mode_t mode)
{
	static atomic_bool missing; /* Linux before 6.6 */
	struct inode_path path;

	if (!missing) {
		if (syscall(SYS_fchmodat2, inode_fd(in), "", mode, AT_EMPTY_PATH) == 0)
			return 0;
		if (errno != ENOSYS)
			return -errno;
		missing = true;
	}
	inode_path(in, &path);
	return chmod(path.s, mode) < 0 ? -errno : 0;
}

static int set_size(struct fs *fs, fuse_req_t req, struct inode *in, struct handle *h, off_t size)
{
	struct inode_path path;
	int r;

	cred_caller(fs, req);
	if (h) {
		r = ftruncate(h->fd, size);
	} else {
		inode_path(in, &path);
		r = truncate(path.s, size);
	}
	r = r < 0 ? -errno : 0;
	if (!r)
		inode_touch_cut(in, (uint64_t)size);
	cred_daemon(fs);
	return r;
}

static int set_times(struct inode *in, const struct stat *attr, int set)
{
	struct timespec ts[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};

	if (set & FUSE_SET_ATTR_ATIME_NOW)
		ts[0].tv_nsec = UTIME_NOW;
	else if (set & FUSE_SET_ATTR_ATIME)
		ts[0] = attr->st_atim;
	if (set & FUSE_SET_ATTR_MTIME_NOW)
		ts[1].tv_nsec = UTIME_NOW;
	else if (set & FUSE_SET_ATTR_MTIME)
		ts[1] = attr->st_mtim;
	return utimensat(inode_fd(in), "", ts, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int set_all(struct fs *fs, fuse_req_t req, struct inode *in, struct handle *h,
	const struct stat *attr, int set)
{
	int r = 0;

	if (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
		uid_t uid = set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1;
		gid_t gid = set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1;

		r = fchownat(inode_fd(in), "", uid, gid, AT_EMPTY_PATH) < 0 ? -errno : 0;
	}
	if (!r && set & FUSE_SET_ATTR_MODE)
		r = set_mode(in, attr->st_mode);
	if (!r && set & FUSE_SET_ATTR_SIZE)
		r = set_size(fs, req, in, h, attr->st_size);
	if (!r && set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
				FUSE_SET_ATTR_MTIME_NOW))
		r = set_times(in, attr, set);
	return r;
}

_Static_assert((int)EVENT_SET_MODE == FUSE_SET_ATTR_MODE &&
		       (int)EVENT_SET_UID == FUSE_SET_ATTR_UID &&
		       (int)EVENT_SET_GID == FUSE_SET_ATTR_GID &&
		       (int)EVENT_SET_SIZE == FUSE_SET_ATTR_SIZE &&
		       (int)EVENT_SET_ATIME == FUSE_SET_ATTR_ATIME &&
		       (int)EVENT_SET_MTIME == FUSE_SET_ATTR_MTIME &&
		       (int)EVENT_SET_ATIME_NOW == FUSE_SET_ATTR_ATIME_NOW &&
		       (int)EVENT_SET_MTIME_NOW == FUSE_SET_ATTR_MTIME_NOW,
	"a trace holds the protocol's numbers");

static void note_set(struct event *ev, const struct stat *attr, int set)
{
	ev->arg = (uint32_t)set;
	ev->mode = set & FUSE_SET_ATTR_MODE ? attr->st_mode : 0;
	ev->uid = set & FUSE_SET_ATTR_UID ? attr->st_uid : 0;
	ev->gid = set & FUSE_SET_ATTR_GID ? attr->st_gid : 0;
	ev->size = set & FUSE_SET_ATTR_SIZE ? (uint64_t)attr->st_size : 0;
	if (set & FUSE_SET_ATTR_ATIME && !(set & FUSE_SET_ATTR_ATIME_NOW))
		ev->atime_ns = attr->st_atim.tv_sec * NS + attr->st_atim.tv_nsec;
	if (set & FUSE_SET_ATTR_MTIME && !(set & FUSE_SET_ATTR_MTIME_NOW))
		ev->mtime_ns = attr->st_mtim.tv_sec * NS + attr->st_mtim.tv_nsec;
}

void mirror_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino);
	struct handle *h = fi ? handle_of(fi) : NULL;
	struct probe p;
	struct stat st;
	int r;

	probe_begin(&p, fs, req, OP_SETATTR);
	cred_daemon(fs);
	p.ev.iid = in->iid;
	p.ev.oid = h ? h->oid : 0;
	note_set(&p.ev, attr, set);
	probe_call(&p);
	r = set_all(fs, req, in, h, attr, set);
	probe_done(&p, r);
	if (!r && fstat(inode_fd(in), &st) < 0)
		r = -errno;
	probe_end(&p);
	st.st_ino = in->shown;
	if (r)
		fuse_reply_err(req, -r);
	else
		fuse_reply_attr(req, &st, MIRROR_TIMEOUT);
}

void mirror_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino);
	struct probe p;
	int err;

	probe_begin(&p, fs, req, OP_ACCESS);
	cred_maker(fs, req);
	p.ev.iid = in->iid;
	p.ev.mode = (uint32_t)mask;
	probe_call(&p);
	err = faccessat(inode_fd(in), "", mask, AT_EMPTY_PATH | AT_EACCESS) < 0 ? errno : 0;
	probe_done(&p, -err);
	probe_end(&p);
	fuse_reply_err(req, err);
}

void mirror_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino);
	struct statvfs st;
	struct probe p;
	int err;

	probe_begin(&p, fs, req, OP_STATFS);
	cred_daemon(fs);
	p.ev.iid = in->iid;
	probe_call(&p);
	err = fstatvfs(inode_fd(in), &st) < 0 ? errno : 0;
	probe_done(&p, -err);
	probe_end(&p);
	if (err)
		fuse_reply_err(req, err);
	else
		fuse_reply_statfs(req, &st);
}
