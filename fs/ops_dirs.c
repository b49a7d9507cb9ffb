/* SPDX-License-Identifier: MIT */
/*
 * Listings. Each request reads the directory anew from the cookie that the kernel asks for (d_off
 * of the file system below), and nothing that did not fit into a reply is kept: no stale entries,
 * and seekdir works as below. Entries that the trace does not know yet are snapped: by name and
 * type in a plain listing, whole in a readdirplus.
 */
#include "mirror_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

struct listing {
	struct fs *fs;
	fuse_req_t req;
	struct handle *h;
	bool plus;
	char *out;
	size_t room, used;
	int64_t entries;
};

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static ino_t shown(const struct listing *l, const struct dirent64 *d)
{
	return inode_shown(l->fs, l->h->inode->dev, d->d_ino);
}

/* Tells the trace of an entry. Where another file system is mounted the listing has the number of
 * what that hides. */
static void note(const struct listing *l, const struct dirent64 *d)
{
	const struct inode *dir = l->h->inode;
	dev_t dev = dir->dev;
	ino_t ino = d->d_ino;
	struct statx sx;

	if (!l->fs->queue || is_dots(d->d_name) || d->d_type == DT_UNKNOWN)
		return;
	if (d->d_type == DT_DIR &&
		!statx(inode_fd(dir), d->d_name,
			AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_INO,
			&sx)) {
		dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
		ino = sx.stx_ino;
	}
	inode_listed(l->fs, dir->iid, d->d_name, dev, ino, DTTOIF(d->d_type));
}

/* Adds one entry; false when it does not fit any more. */
static bool add_plain(struct listing *l, const struct dirent64 *d)
{
	struct stat st = {.st_ino = shown(l, d), .st_mode = DTTOIF(d->d_type)};
	size_t n = fuse_add_direntry(
		l->req, l->out + l->used, l->room - l->used, d->d_name, &st, d->d_off);

	if (n > l->room - l->used)
		return false;
	l->used += n;
	note(l, d);
	return true;
}

static bool add_plus(struct listing *l, const struct dirent64 *d)
{
	struct fuse_entry_param e = {.attr = {.st_ino = shown(l, d), .st_mode = DTTOIF(d->d_type)}};
	struct inode *dir = l->h->inode, *in = NULL;
	struct stat st;
	size_t n = fuse_add_direntry_plus(l->req, NULL, 0, d->d_name, &e, d->d_off);

	if (n > l->room - l->used)
		return false;
	if (!is_dots(d->d_name) && !inode_look(l->fs, dir, d->d_name, NULL, &st, &in))
		mirror_entry(l->fs, in, &st, &e);
	fuse_add_direntry_plus(
		l->req, l->out + l->used, l->room - l->used, d->d_name, &e, d->d_off);
	l->used += n;
	return true;
}

/* Fills the reply from cookie off on. 0 or -errno. */
static int fill(struct listing *l, char *raw, size_t raw_size, off_t off)
{
	struct handle *h = l->h;

	if (off != h->pos && lseek(h->fd, off, SEEK_SET) < 0)
		return -errno;
	h->pos = off;
	for (;;) {
		ssize_t n = getdents64(h->fd, raw, raw_size), at = 0;

		if (n < 0) {
			h->pos = -1;
			return l->entries ? 0 : -errno;
		}
		if (!n)
			return 0;
		while (at < n) {
			const struct dirent64 *d = (const void *)(raw + at);

			if (!(l->plus ? add_plus(l, d) : add_plain(l, d))) {
				h->pos = -1; /* the descriptor is beyond: seek next time */
				return 0;
			}
			l->entries++;
			h->pos = d->d_off;
			at += d->d_reclen;
		}
	}
}

static void list(fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi, bool plus)
{
	struct handle *h = handle_of(fi);
	struct listing l = {fuse_req_userdata(req), req, h, plus, NULL, size, 0, 0};
	/* an entry is at most 1.3 times as long in the reply; plus, at least 4 times */
	size_t raw_size = MAX(plus ? size / 5 : size / 4 * 3, (size_t)1024);
	char *buf = mirror_buffer(size + raw_size);
	struct probe p;
	int r = -ENOMEM;

	probe_begin(&p, l.fs, req, plus ? OP_READDIRPLUS : OP_READDIR);
	cred_daemon(l.fs);
	p.ev.iid = h->inode->iid;
	p.ev.oid = h->oid;
	p.ev.offset = (uint64_t)off;
	p.ev.size = size;
	probe_call(&p);
	if (buf) {
		l.out = buf + raw_size;
		pthread_mutex_lock(&h->lock);
		r = fill(&l, buf, raw_size & ~(size_t)7, off);
		pthread_mutex_unlock(&h->lock);
	}
	probe_done(&p, r < 0 ? r : l.entries);
	probe_end(&p);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_buf(req, l.out, l.used);
}

void mirror_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)ino;
	list(req, size, off, fi, false);
}

void mirror_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	(void)ino;
	list(req, size, off, fi, true);
}
