/* SPDX-License-Identifier: MIT */
/*
 * Initial state: what existed before the workload touched it, as snap events that come before the
 * first event that refers to it. A listing gives name and type only; the attributes follow when the
 * entry is looked up. Of a sparse file the ranges that hold data are told; extended attributes when
 * the first call on any of them comes. Nothing here changes the source; what cannot be read is left
 * out.
 */
#include "inode_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#define NS INT64_C(1000000000)

static void put(struct probe *p)
{
	probe_call(p);
	probe_done(p, 0);
	probe_end(p);
}

static void put_ranges(struct fs *fs, uint64_t iid, int fd, uint64_t size)
{
	struct probe p;
	off_t data, hole = 0;

	while ((uint64_t)hole < size) {
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0)
			return;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data)
			return;
		probe_begin(&p, fs, NULL, OP_SNAP_DATA);
		p.ev.iid = iid;
		p.ev.offset = (uint64_t)data;
		p.ev.size = (uint64_t)(hole - data);
		put(&p);
	}
}

/* A descriptor that can seek, of a file that may have holes; -1 otherwise. */
static int open_sparse(int fd, int pfd, const char *name, const struct stat *st)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOATIME, r;
	char path[32];

	if (!S_ISREG(st->st_mode) || st->st_size <= TOUCH_BLOCK ||
		st->st_blocks * 512 >= st->st_size)
		return -1;
	if (fd >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		flags &= ~O_NOFOLLOW;
	}
	r = fd >= 0 ? open(path, flags) : openat(pfd, name, flags);
	if (r < 0 && errno == EPERM) {
		flags &= ~O_NOATIME;
		r = fd >= 0 ? open(path, flags) : openat(pfd, name, flags);
	}
	if (r >= 0 && lseek(r, 0, SEEK_DATA) < 0 && errno != ENXIO) {
		close(r);
		r = -1;
	}
	return r;
}

void snap_inode(struct fs *fs, uint64_t parent, const char *name, uint64_t iid, int fd, int pfd,
	const struct stat *st)
{
	char link[PATH_MAX];
	_close_ int sparse = -1;
	struct probe p;
	ssize_t n = 0;

	if (!fs->queue)
		return;
	if (S_ISLNK(st->st_mode)) {
		n = fd >= 0 ? readlinkat(fd, "", link, sizeof(link))
			    : readlinkat(pfd, name, link, sizeof(link));
		n = MAX(n, 0);
	}
	sparse = open_sparse(fd, pfd, name, st);
	probe_begin(&p, fs, NULL, OP_SNAP);
	p.ev.iid = iid;
	p.ev.parent = parent;
	p.ev.name = BYTES_STR(name);
	p.ev.mode = st->st_mode;
	p.ev.uid = st->st_uid;
	p.ev.gid = st->st_gid;
	p.ev.size = (uint64_t)st->st_size;
	p.ev.rdev = st->st_rdev;
	p.ev.arg = st->st_nlink;
	p.ev.atime_ns = st->st_atim.tv_sec * NS + st->st_atim.tv_nsec;
	p.ev.mtime_ns = st->st_mtim.tv_sec * NS + st->st_mtim.tv_nsec;
	p.ev.target = (struct bytes){link, (uint32_t)n};
	p.ev.flags = sparse >= 0 ? EVENT_SNAP_SPARSE : 0;
	put(&p);
	if (sparse >= 0)
		put_ranges(fs, iid, sparse, (uint64_t)st->st_size);
}

void snap_root(struct fs *fs)
{
	struct stat st;

	if (fstat(fs->source_fd, &st) == 0)
		snap_inode(fs, 0, "", EVENT_ROOT_IID, fs->source_fd, -1, &st);
}

void snap_listed(struct fs *fs, uint64_t parent, const char *name, uint64_t iid, mode_t type)
{
	struct probe p;

	if (!fs->queue)
		return;
	probe_begin(&p, fs, NULL, OP_SNAP);
	p.ev.iid = iid;
	p.ev.parent = parent;
	p.ev.name = BYTES_STR(name);
	p.ev.mode = type;
	p.ev.flags = EVENT_SNAP_LISTED;
	put(&p);
}

void snap_xattrs(struct fs *fs, struct inode *in)
{
	struct inode_path path;
	_free_ char *names = NULL;
	_free_ char *value = NULL;
	ssize_t n, size;
	struct probe p;

	if (!fs->queue || atomic_exchange(&in->made, true))
		return;
	inode_path(in, &path);
	n = listxattr(path.s, NULL, 0);
	if (n <= 0)
		return;
	names = malloc((size_t)n);
	value = malloc(XATTR_SIZE_MAX);
	if (!names || !value)
		return;
	n = listxattr(path.s, names, (size_t)n);
	for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1) {
		size = getxattr(path.s, name, value, XATTR_SIZE_MAX);
		if (size < 0)
			continue;
		probe_begin(&p, fs, NULL, OP_SNAP_XATTR);
		p.ev.iid = in->iid;
		p.ev.name = BYTES_STR(name);
		p.ev.size = (uint64_t)size;
		if (!strncmp(name, "system.", 7) || !strncmp(name, "security.", 9))
			p.ev.target = (struct bytes){value, (uint32_t)MIN(size, EVENT_NAME_MAX)};
		put(&p);
	}
}
