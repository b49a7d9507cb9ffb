/* SPDX-License-Identifier: MIT */
/*
 * Makes single entries of the initial tree, always new ones, by one name in a descriptor of the
 * directory, so that nothing can end up outside. Data is written, not allocated beforehand, and
 * only where there was data: space that the workload itself will allocate stays untouched. Made
 * only when privileged, because a trace may come from anybody: device nodes (else a plain file
 * stands in), set-id bits, attributes that give rights.
 */
#include "prepare_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define XATTR_MAX 65536u

static int fail_name(int err, const char *doing, struct bytes name)
{
	char text[128];

	bytes_escape(text, sizeof(text), name);
	return fail(err, "initial tree: cannot %s \"%s\": %s", doing, text, strerror(-err));
}

/* What this file system or user will not have, while the rest can be made. */
static bool skippable(int err)
{
	return err == -ENAMETOOLONG || err == -EINVAL || err == -EILSEQ || err == -EPERM ||
	       err == -EOPNOTSUPP || err == -EMLINK;
}

static int skip_or_fail(struct prepare *p, int err, const char *doing, struct bytes name)
{
	if (!skippable(err))
		return fail_name(err, doing, name);
	p->rep->skipped++;
	return 0;
}

static struct timespec timespec_of(int64_t ns)
{
	int64_t s = ns / 1000000000, rest = ns % 1000000000;

	if (rest < 0) {
		rest += 1000000000;
		s--;
	}
	return (struct timespec){.tv_sec = s, .tv_nsec = rest};
}

static bool known(const struct event *snap)
{
	return !(snap->flags & EVENT_SNAP_LISTED);
}

/* ---- attributes of something open ---- */
static void set_xattrs(struct prepare *p, int fd, uint64_t iid)
{
	uint64_t i;

	if (!u64map_get(&p->xattr, iid, &i))
		return;
	for (; i; i = p->chain[i - 1]) {
		const struct event *x = &p->events[i - 1];
		char name[TREE_NAME_CAP];
		bool user = x->name.n > 5 && !memcmp(x->name.p, "user.", 5);
		bool acl = x->name.n > 17 && !memcmp(x->name.p, "system.posix_acl_", 17);
		bool rights = p->o->privileged && plan_privileged_attr(x->name);
		int r = -1;

		if (!tree_name(name, x->name) || x->size > XATTR_MAX) {
			p->rep->skipped++;
			continue;
		}
		if (x->target.n && x->target.n == x->size && (user || acl || rights)) {
			r = fsetxattr(fd, name, x->target.p, x->target.n, 0);
		} else if (user || (rights && *name == 't')) {
			content_fill(&p->content, p->buf, x->size, iid, 0, EVENT_CONTENT_NONE,
				(const uint8_t[2]){0, 0});
			r = fsetxattr(fd, name, p->buf, x->size, 0);
		}
		if (r)
			p->rep->skipped++;
	}
}

/* Owner, then mode (chown clears bits), then times. */
static int set_attrs(struct prepare *p, int fd, const struct event *snap, mode_t keep)
{
	struct timespec t[2] = {timespec_of(snap->atime_ns), timespec_of(snap->mtime_ns)};
	mode_t may = S_ISDIR(snap->mode) ? 03777 : 01777;

	if ((snap->uid != geteuid() || snap->gid != getegid()) && fchown(fd, snap->uid, snap->gid))
		p->rep->skipped++;
	if (p->o->privileged)
		may = 07777;
	else if (snap->mode & (S_ISUID | S_ISGID) && !S_ISDIR(snap->mode))
		p->rep->skipped++;
	if (fchmod(fd, (snap->mode & may) | keep))
		return -errno;
	if (futimens(fd, t))
		return errno == EINVAL ? 0 : -errno; /* a time that the file system has not */
	return 0;
}

int prepare_finish_dir(struct prepare *p, const struct tree_dir *dir, const struct event *snap)
{
	int fd = tree_dirs_fd(&p->dirs, dir), r = fd;

	if (fd >= 0 && !known(snap))
		return fchmod(fd, 0755) ? fail_name(-errno, "set the mode of", dir->name) : 0;
	if (fd >= 0) {
		set_xattrs(p, fd, snap->iid);
		/* the root must stay one that can be cleared away */
		r = set_attrs(p, fd, snap, dir->parent ? 0 : 0700);
	}
	return r < 0 ? fail_name(r, "set attributes of", dir->name) : 0;
}

/* ---- data ---- */
static int write_range(struct prepare *p, int fd, const struct event *snap, uint64_t offset,
	uint64_t size, const struct event *like)
{
	while (size) {
		size_t n = MIN(size, PREPARE_BUF - offset % PREPARE_BUF), done = 0;

		if (prepare_stopped(p))
			return -EINTR;
		content_fill(&p->content, p->buf, n, snap->iid, offset,
			like ? like->content : EVENT_CONTENT_NONE,
			like ? like->ratio : (const uint8_t[2]){0, 0});
		while (done < n) {
			ssize_t k =
				pwrite(fd, (char *)p->buf + done, n - done, (off_t)(offset + done));

			if (k < 0 && errno == EINTR && !prepare_stopped(p))
				continue;
			if (k <= 0)
				return k < 0 ? -errno : -EIO;
			done += (size_t)k;
		}
		p->rep->bytes += n;
		offset += n;
		size -= n;
	}
	return 0;
}

static int write_data(struct prepare *p, int fd, const struct event *snap)
{
	const struct event *d;
	uint64_t i = 0;
	int r = 0;

	u64map_get(&p->data, snap->iid, &i);
	if (!(snap->flags & EVENT_SNAP_SPARSE))
		return write_range(p, fd, snap, 0, snap->size, i ? &p->events[i - 1] : NULL);
	if (snap->size > INT64_MAX || ftruncate(fd, (off_t)snap->size))
		return snap->size > INT64_MAX ? -EFBIG : -errno;
	for (; i && !r; i = p->chain[i - 1]) {
		d = &p->events[i - 1];
		if (d->offset < snap->size)
			r = write_range(
				p, fd, snap, d->offset, MIN(d->size, snap->size - d->offset), d);
	}
	return r;
}

/* ---- entries ---- */
static int make_file(struct prepare *p, struct prepare_item *it, int dir, const char *name)
{
	const struct event *snap = it->snap;
	_close_ int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r;

	if (fd < 0)
		return -errno;
	it->made = true;
	p->rep->files++;
	if (!S_ISREG(snap->mode)) {
		p->rep->skipped++; /* a device, or of a type that nobody knows */
		return 0;
	}
	if (!known(snap))
		return 0;
	r = write_data(p, fd, snap);
	if (r)
		return r;
	set_xattrs(p, fd, snap->iid);
	return set_attrs(p, fd, snap, 0);
}

static int make_dir(struct prepare *p, struct prepare_item *it, int dir, const char *name)
{
	if (mkdirat(dir, name, 0700)) {
		struct stat st;

		/* lost+found and the like: there, and what it should be */
		if (errno != EEXIST || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
			return -errno;
		if (!S_ISDIR(st.st_mode))
			return -EEXIST;
	}
	it->made = true;
	p->rep->dirs++;
	return 0;
}

static void set_special(struct prepare *p, const struct event *snap, int dir, const char *name)
{
	struct timespec t[2] = {timespec_of(snap->atime_ns), timespec_of(snap->mtime_ns)};

	if (!known(snap))
		return;
	if ((snap->uid != geteuid() || snap->gid != getegid()) &&
		fchownat(dir, name, snap->uid, snap->gid, AT_SYMLINK_NOFOLLOW))
		p->rep->skipped++;
	if (!S_ISLNK(snap->mode) && fchmodat(dir, name, snap->mode & 01777, 0))
		p->rep->skipped++;
	if (utimensat(dir, name, t, AT_SYMLINK_NOFOLLOW))
		p->rep->skipped++;
}

static int make_special(struct prepare *p, struct prepare_item *it, int dir, const char *name)
{
	const struct event *snap = it->snap;
	_free_ char *target = NULL;
	int r;

	if (S_ISLNK(snap->mode)) {
		/* only listed: the text is not known */
		target = snap->target.n ? strndup(snap->target.p, snap->target.n)
					: strdup("unknown");
		if (!target)
			return -ENOMEM;
		r = symlinkat(target, dir, name);
	} else {
		r = mknodat(dir, name, (snap->mode & S_IFMT) | 0600, snap->rdev);
	}
	if (r)
		return -errno;
	it->made = true;
	p->rep->others++;
	set_special(p, snap, dir, name);
	return 0;
}

/* Another entry of an inode that is there already. */
static int make_link(struct prepare *p, struct prepare_item *it, const struct prepare_item *first)
{
	char from[TREE_NAME_CAP], to[TREE_NAME_CAP];
	_close_ int src = -1;
	int dir;

	if (!first->made || S_ISDIR(first->snap->mode) ||
		(first->snap->mode & S_IFMT) != (it->snap->mode & S_IFMT)) {
		p->rep->skipped++;
		return 0;
	}
	dir = tree_dirs_fd(&p->dirs, first->dir.parent);
	if (dir < 0)
		return dir;
	src = fcntl(dir, F_DUPFD_CLOEXEC, 0); /* the next look-up may close it */
	if (src < 0)
		return -errno;
	dir = tree_dirs_fd(&p->dirs, it->dir.parent);
	if (dir < 0)
		return dir;
	if (!tree_name(from, first->entry->name) || !tree_name(to, it->entry->name))
		return -EINVAL;
	if (linkat(src, from, dir, to, 0))
		return -errno;
	p->rep->links++;
	return 0;
}

int prepare_make(struct prepare *p, struct prepare_item *it)
{
	const struct event *snap = it->snap;
	char buf[TREE_NAME_CAP];
	const char *name = tree_name(buf, it->entry->name);
	bool device = S_ISCHR(snap->mode) || S_ISBLK(snap->mode);
	uint64_t first;
	int dir, r = 1;

	if (snap->iid && u64map_get(&p->first, snap->iid, &first)) {
		r = make_link(p, it, &p->items[first - 1]);
		return r ? skip_or_fail(p, r, "link", it->entry->name) : 0;
	}
	if (!name)
		return skip_or_fail(p, -ENAMETOOLONG, "make", it->entry->name);
	dir = tree_dirs_fd(&p->dirs, it->dir.parent);
	if (dir < 0)
		return fail_name(dir, "enter the directory of", it->entry->name);
	if (S_ISDIR(snap->mode))
		r = make_dir(p, it, dir, name);
	else if (S_ISLNK(snap->mode) || S_ISFIFO(snap->mode) || S_ISSOCK(snap->mode) ||
		 (device && p->o->privileged && known(snap)))
		r = make_special(p, it, dir, name);
	if (!S_ISDIR(snap->mode) && (r == 1 || (r == -EPERM && device)))
		r = make_file(p, it, dir, name);
	if (r && prepare_stopped(p))
		return -EINTR;
	if (r && (r == -EFBIG || it->made))
		return fail_name(r, "write", it->entry->name);
	if (r)
		return skip_or_fail(p, r, "make", it->entry->name);
	if (snap->iid && u64map_put(&p->first, snap->iid, (uint64_t)(it - p->items) + 1))
		return fail(-ENOMEM, "out of memory");
	return 0;
}
