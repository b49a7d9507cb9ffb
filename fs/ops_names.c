/* SPDX-License-Identifier: MIT */
/*
 * Operations on names: lookup and its end, readlink, unlink, rmdir, rename, link. Before a name
 * goes it is looked at, so that the event says which inode it stood for and the inode table learns
 * of the end of an identity.
 */
#include "mirror_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>

void mirror_entry(
	struct fs *fs, const struct inode *in, const struct stat *st, struct fuse_entry_param *e)
{
	memset(e, 0, sizeof(*e));
	e->ino = inode_number(fs, in);
	e->generation = in->iid;
	e->attr = *st;
	e->attr.st_ino = in->shown;
	e->attr_timeout = MIRROR_TIMEOUT;
	e->entry_timeout = MIRROR_TIMEOUT;
}

void mirror_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *dir = inode_of(fs, parent), *in = NULL;
	struct fuse_entry_param e;
	struct probe p;
	struct stat st;
	int r;

	probe_begin(&p, fs, req, OP_LOOKUP);
	cred_daemon(fs);
	p.ev.parent = dir->iid;
	p.ev.name = BYTES_STR(name);
	probe_call(&p);
	r = inode_look(fs, dir, name, &p, &st, &in);
	if (!r) {
		p.ev.iid = in->iid;
		p.ev.mode = st.st_mode;
		mirror_entry(fs, in, &st, &e);
	}
	probe_end(&p);
	if (r)
		fuse_reply_err(req, -r);
	else if (fuse_reply_entry(req, &e) == -ENOENT)
		inode_put(fs, in, 1);
}

void mirror_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	struct fs *fs = fuse_req_userdata(req);

	inode_put(fs, inode_of(fs, ino), n);
	fuse_reply_none(req);
}

void mirror_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct fs *fs = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		inode_put(fs, inode_of(fs, forgets[i].ino), forgets[i].nlookup);
	fuse_reply_none(req);
}

void mirror_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino);
	char link[PATH_MAX + 1];
	struct probe p;
	ssize_t n;

	probe_begin(&p, fs, req, OP_READLINK);
	cred_daemon(fs);
	p.ev.iid = in->iid;
	probe_call(&p);
	n = readlinkat(inode_fd(in), "", link, sizeof(link) - 1);
	n = n < 0 ? -errno : n;
	probe_done(&p, n);
	probe_end(&p);
	if (n < 0) {
		fuse_reply_err(req, (int)-n);
	} else {
		link[n] = 0;
		fuse_reply_readlink(req, link);
	}
}

static void drop_name(fuse_req_t req, fuse_ino_t parent, const char *name, enum op op, int flags)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *dir = inode_of(fs, parent);
	struct probe p;
	struct stat st;
	bool seen;
	int err;

	probe_begin(&p, fs, req, op);
	cred_daemon(fs);
	inode_change_begin(dir, NULL);
	seen = fstatat(inode_fd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	p.ev.parent = dir->iid;
	p.ev.name = BYTES_STR(name);
	if (seen)
		p.ev.iid = inode_name(fs, dir->iid, inode_fd(dir), name, &st, false);
	probe_call(&p);
	err = unlinkat(inode_fd(dir), name, flags) < 0 ? errno : 0;
	probe_done(&p, -err);
	if (!err && seen)
		inode_unlinked(fs, dir->iid, name, &st);
	probe_end(&p);
	inode_change_end(dir, NULL);
	fuse_reply_err(req, err);
}

void mirror_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	drop_name(req, parent, name, OP_UNLINK, 0);
}

void mirror_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	drop_name(req, parent, name, OP_RMDIR, AT_REMOVEDIR);
}

/* What the table has to learn of a rename that succeeded. */
static void renamed(struct fs *fs, const struct event *ev, struct inode *dir, const char *name,
	const struct stat *st, struct inode *dir2, const char *name2, const struct stat *st2)
{
	struct stat white;

	if (ev->iid && ev->iid == ev->iid2)
		return; /* two names of one file: rename does nothing */
	if (ev->iid2 && !(ev->flags & RENAME_EXCHANGE))
		inode_unlinked(fs, dir2->iid, name2, st2);
	if (ev->iid2 && ev->flags & RENAME_EXCHANGE)
		inode_moved(fs, st2, dir2->iid, name2, dir->iid, name);
	if (ev->iid)
		inode_moved(fs, st, dir->iid, name, dir2->iid, name2);
	if (ev->flags & RENAME_WHITEOUT &&
		fstatat(inode_fd(dir), name, &white, AT_SYMLINK_NOFOLLOW) == 0)
		inode_name(fs, dir->iid, inode_fd(dir), name, &white, true);
}

void mirror_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t parent2,
	const char *name2, unsigned flags)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *dir = inode_of(fs, parent), *dir2 = inode_of(fs, parent2);
	struct stat st, st2;
	struct probe p;
	int err;

	probe_begin(&p, fs, req, OP_RENAME);
	cred_daemon(fs);
	p.ev.parent = dir->iid;
	p.ev.name = BYTES_STR(name);
	p.ev.parent2 = dir2->iid;
	p.ev.name2 = BYTES_STR(name2);
	p.ev.flags = flags;
	inode_change_begin(dir, dir2);
	if (fstatat(inode_fd(dir), name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		p.ev.iid = inode_name(fs, dir->iid, inode_fd(dir), name, &st, false);
	if (fstatat(inode_fd(dir2), name2, &st2, AT_SYMLINK_NOFOLLOW) == 0)
		p.ev.iid2 = inode_name(fs, dir2->iid, inode_fd(dir2), name2, &st2, false);
	probe_call(&p);
	err = renameat2(inode_fd(dir), name, inode_fd(dir2), name2, flags) < 0 ? errno : 0;
	probe_done(&p, -err);
	if (!err)
		renamed(fs, &p.ev, dir, name, &st, dir2, name2, &st2);
	probe_end(&p);
	inode_change_end(dir, dir2);
	fuse_reply_err(req, err);
}

void mirror_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *in = inode_of(fs, ino), *dir = inode_of(fs, parent);
	struct fuse_entry_param e;
	struct inode_path path;
	struct probe p;
	struct stat st;
	int r, err = 0;

	probe_begin(&p, fs, req, OP_LINK);
	cred_daemon(fs);
	p.ev.iid = in->iid;
	p.ev.parent = dir->iid;
	p.ev.name = BYTES_STR(name);
	inode_change_begin(dir, NULL);
	probe_call(&p);
	if (fs->root) {
		r = linkat(inode_fd(in), "", inode_fd(dir), name, AT_EMPTY_PATH);
	} else {
		inode_path(in, &path);
		r = linkat(AT_FDCWD, path.s, inode_fd(dir), name, AT_SYMLINK_FOLLOW);
	}
	if (r < 0 || fstat(inode_fd(in), &st) < 0)
		err = errno;
	probe_done(&p, -err);
	if (!err) {
		inode_linked(fs, in, dir->iid, name);
		inode_ref(in);
		mirror_entry(fs, in, &st, &e);
	}
	probe_end(&p);
	inode_change_end(dir, NULL);
	if (err)
		fuse_reply_err(req, err);
	else if (fuse_reply_entry(req, &e) == -ENOENT)
		inode_put(fs, in, 1);
}
