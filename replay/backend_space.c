/* SPDX-License-Identifier: MIT */
/*
 * Space of image files: is there enough, and are the blocks what was asked for? "Lazy" and "eager"
 * differ in nothing but the state of the extents, which tools that claim to preallocate do not
 * always bring about; so FIEMAP has the last word wherever the file system answers it.
 */
#include "backend_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MARGIN_BYTES ((uint64_t)16 << 20) /* the file system's own, for the extents */
#define ZERO_CHUNK   ((size_t)4 << 20)

const char *backend_human(char *buf, size_t cap, uint64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes;
	unsigned u = 0;

	for (; v >= 1024 && u + 1 < ARRAY_SIZE(unit); u++)
		v /= 1024;
	snprintf(buf, cap, u ? "%.1f %s" : "%.0f %s", v, unit[u]);
	return buf;
}

int backend_space(const char *path, uint64_t need_bytes)
{
	_free_ char *dir = backend_absolute(path);
	char need[32], have[32];
	struct statvfs v;
	uint64_t avail;
	char *slash;

	if (!dir)
		return -ENOENT;
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	if (access(dir, W_OK) < 0)
		return fail(-errno, "%s: cannot make a file there: %s", dir, strerror(errno));
	if (statvfs(dir, &v) < 0)
		return fail(-errno, "%s: %s", dir, strerror(errno));
	avail = (uint64_t)v.f_bavail * v.f_frsize;
	if (avail >= need_bytes && avail - need_bytes >= MIN(MARGIN_BYTES, need_bytes / 16))
		return 0;
	return fail(-ENOSPC,
		"%s: %s would be taken and %s are free: choose a smaller size= or "
		"another place",
		dir, backend_human(need, sizeof(need), need_bytes),
		backend_human(have, sizeof(have), avail));
}

static int no_room(int err, const char *path, uint64_t size)
{
	char want[32];

	backend_human(want, sizeof(want), size);
	if (err == -EOPNOTSUPP)
		return fail(err, "%s: its file system cannot preallocate: put it elsewhere", path);
	return fail(err, "cannot allocate %s for %s: %s%s", want, path, strerror(-err),
		err == -ENOSPC ? ": choose a smaller size= or another place" : "");
}

static int write_zeros(
	const struct backend *b, int fd, const char *path, uint64_t from, uint64_t size)
{
	_free_ void *zeros = aligned_alloc(4096, ZERO_CHUNK);
	_close_ int direct = open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
	int out = direct >= 0 ? direct : fd;

	if (!zeros)
		return fail(-ENOMEM, "out of memory");
	memset(zeros, 0, ZERO_CHUNK);
	for (uint64_t at = from, end = from + size; at < end;) {
		ssize_t n = pwrite(out, zeros, MIN(ZERO_CHUNK, end - at), (off_t)at);

		if (b->pol.stop && *b->pol.stop)
			return fail(-EINTR, "stopped while zeroing %s", path);
		if (n < 0 && errno == EINVAL && out != fd) {
			out = fd; /* no direct I/O after all */
			continue;
		}
		if (n < 0 && errno != EINTR)
			return no_room(-errno, path, size);
		at += MAX(n, 0);
	}
	if (fsync(out) < 0)
		return no_room(-errno, path, size);
	return 0;
}

#define EXTENTS 128u /* asked for at once */

/* Bytes in written and in unwritten extents. 1, or 0 when the file system does not tell. */
static int count_extents(int fd, uint64_t *written, uint64_t *unwritten)
{
	union {
		struct fiemap m;
		uint8_t room[sizeof(struct fiemap) + EXTENTS * sizeof(struct fiemap_extent)];
	} q;
	uint64_t at = 0;
	bool last = false;

	*written = *unwritten = 0;
	while (!last) {
		memset(&q.m, 0, sizeof(q.m));
		q.m.fm_start = at;
		q.m.fm_length = FIEMAP_MAX_OFFSET - at;
		q.m.fm_flags = FIEMAP_FLAG_SYNC;
		q.m.fm_extent_count = EXTENTS;
		if (ioctl(fd, FS_IOC_FIEMAP, &q) < 0)
			return 0;
		if (!q.m.fm_mapped_extents)
			break;
		for (uint32_t i = 0; i < q.m.fm_mapped_extents; i++) {
			bool un = q.m.fm_extents[i].fe_flags & FIEMAP_EXTENT_UNWRITTEN;

			*(un ? unwritten : written) += q.m.fm_extents[i].fe_length;
			at = q.m.fm_extents[i].fe_logical + q.m.fm_extents[i].fe_length;
			last = q.m.fm_extents[i].fe_flags & FIEMAP_EXTENT_LAST;
		}
	}
	return 1;
}

static int verify(int fd, const char *path, enum backend_provision p, uint64_t size)
{
	static const char *const name[] = {"thin", "lazy", "eager"};
	uint64_t w, u;
	bool right = true;

	if (!count_extents(fd, &w, &u))
		return 0;
	switch (p) {
	case BACKEND_THIN:
		right = !w && !u;
		break;
	case BACKEND_LAZY:
		right = !w && u >= size;
		break;
	case BACKEND_EAGER:
		right = w >= size && !u;
		break;
	}
	if (right)
		return 0;
	return fail(-EOPNOTSUPP,
		"%s: its file system made %llu bytes written and %llu unwritten of "
		"it, which is not %s: put it elsewhere",
		path, (unsigned long long)w, (unsigned long long)u, name[p]);
}

int backend_allocate(
	const struct backend *b, int fd, const char *path, enum backend_provision p, uint64_t size)
{
	int r = 0;

	/* qemu-img leaves one block of zeros in front */
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)size);
	if (p != BACKEND_THIN && fallocate(fd, 0, 0, (off_t)size) < 0 &&
		!(p == BACKEND_EAGER && errno == EOPNOTSUPP))
		return no_room(-errno, path, size);
	if (p == BACKEND_EAGER)
		r = write_zeros(b, fd, path, 0, size);
	return r < 0 ? r : verify(fd, path, p, size);
}

int backend_zero_unwritten(const struct backend *b, int fd, const char *path, uint64_t size)
{
	union {
		struct fiemap m;
		uint8_t room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} q;
	const struct fiemap_extent *e = q.m.fm_extents;
	uint64_t at = 0;

	while (at < size) {
		memset(&q, 0, sizeof(q));
		q.m.fm_start = at;
		q.m.fm_length = size - at;
		q.m.fm_flags = FIEMAP_FLAG_SYNC;
		q.m.fm_extent_count = 1;
		if (ioctl(fd, FS_IOC_FIEMAP, &q) < 0 || !q.m.fm_mapped_extents)
			break;
		uint64_t from = MAX(e->fe_logical, at), end = e->fe_logical + e->fe_length;

		if (end <= at)
			break;
		if (e->fe_flags & FIEMAP_EXTENT_UNWRITTEN) {
			int r = write_zeros(b, fd, path, from, MIN(end, size) - from);

			if (r < 0)
				return r;
		}
		at = end;
	}
	return verify(fd, path, BACKEND_EAGER, size);
}
