/* SPDX-License-Identifier: MIT */
/*
 * Operations on file data: read, write, fallocate, lseek, copy_file_range. Data goes through one
 * aligned buffer a thread, so that O_DIRECT reaches the file below. An append is done by the file
 * below itself, and the offset that came out is what is recorded. Page-cache write-back of a shared
 * map must go where it belongs whatever the flags of the handle that the kernel chose for it.
 */
#include "mirror_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define SAMPLE_BYTES 32768u
#define SAMPLE_EVERY (UINT64_C(1) << 20)

static pthread_key_t buffer_key;
static pthread_once_t buffer_once = PTHREAD_ONCE_INIT;

struct buffer {
	size_t cap;
	void *p;
};

static void buffer_free(void *buffer)
{
	struct buffer *b = buffer;

	free(b->p);
	free(b);
}

static void buffer_key_make(void)
{
	pthread_key_create(&buffer_key, buffer_free);
}

void *mirror_buffer(size_t n)
{
	struct buffer *b;

	pthread_once(&buffer_once, buffer_key_make);
	b = pthread_getspecific(buffer_key);
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b || pthread_setspecific(buffer_key, b)) {
			free(b);
			return NULL;
		}
	}
	if (b->cap < n) {
		size_t cap = MAX((n + 4095) & ~(size_t)4095, (size_t)1 << 17);
		void *p = aligned_alloc(4096, cap);

		if (!p)
			return NULL;
		free(b->p);
		b->p = p;
		b->cap = cap;
	}
	return b->p;
}

static struct fs *begin(struct probe *p, fuse_req_t req, enum op op, const struct handle *h)
{
	struct fs *fs = fuse_req_userdata(req);

	probe_begin(p, fs, req, op);
	p->ev.iid = h->inode->iid;
	p->ev.oid = h->oid;
	return fs;
}

/* fcntl(F_SETFL) on the application's descriptor shows in the flags of the next request. */
static void follow_flags(struct handle *h, int flags)
{
	if ((h->flags ^ flags) & (O_DIRECT | O_APPEND)) {
		fcntl(h->fd, F_SETFL, flags & (O_DIRECT | O_APPEND | O_NOATIME));
		h->flags = (h->flags & ~(O_DIRECT | O_APPEND)) | (flags & (O_DIRECT | O_APPEND));
	}
}

/* A page cache takes a short read for the end of the file: where it is short because the next
 * block cannot be read, it must be told so (it then asks page by page). */
static ssize_t read_in(const struct handle *h, char *buf, size_t size, off_t off)
{
	ssize_t n = pread(h->fd, buf, size, off), more;

	if (n < 0)
		return -errno;
	while (!h->direct && n > 0 && (size_t)n < size) {
		more = pread(h->fd, buf + n, size - (size_t)n, off + n);
		if (more < 0)
			return -errno;
		if (!more)
			break;
		n += more;
	}
	return n;
}

void mirror_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	void *buf = mirror_buffer(size);
	struct probe p;
	struct fs *fs = begin(&p, req, OP_READ, h);
	ssize_t n;

	(void)ino;
	follow_flags(h, fi->flags);
	p.ev.offset = (uint64_t)off;
	p.ev.size = size;
	probe_call(&p);
	n = buf ? read_in(h, buf, size, off) : -ENOMEM;
	probe_done(&p, n);
	probe_end(&p);
	if (n < 0) {
		fuse_reply_err(req, (int)-n);
	} else {
		atomic_fetch_add_explicit(&fs->read_bytes, (uint64_t)n, memory_order_relaxed);
		fuse_reply_buf(req, buf, (size_t)n);
	}
}

/* Write-back of a page: a descriptor of its own where the handle would append or refuse. */
static ssize_t write_page(struct handle *h, const char *buf, size_t size, off_t off)
{
	char path[32];
	ssize_t n;
	int fd;

	if (!(h->flags & (O_APPEND | O_DIRECT))) {
		n = pwrite(h->fd, buf, size, off);
		return n < 0 ? -errno : n;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", h->fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = pwrite(fd, buf, size, off);
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

/* The offset where it went comes out in *off. */
static ssize_t write_out(struct handle *h, const char *buf, size_t size, off_t *off)
{
	ssize_t n;
	off_t end;

	if (h->flags & O_DIRECT) { /* the request's data is not aligned in memory */
		void *b = mirror_buffer(size);

		if (!b)
			return -ENOMEM;
		buf = memcpy(b, buf, size);
	}
	if (!(h->flags & O_APPEND)) {
		n = pwrite(h->fd, buf, size, *off);
		return n < 0 ? -errno : n;
	}
	pthread_mutex_lock(&h->lock);
	n = write(h->fd, buf, size);
	n = n < 0 ? -errno : n;
	end = n > 0 ? lseek(h->fd, 0, SEEK_CUR) : -1;
	if (end >= n)
		*off = end - n;
	pthread_mutex_unlock(&h->lock);
	return n;
}

static bool all_zero(const char *buf, size_t n)
{
	return n && !buf[0] && !memcmp(buf, buf + 1, n - 1);
}

/* What the data is like; one write a MiB of the file gives a sample. */
static void look_at(struct probe *p, struct inode *in, const char *buf, size_t size)
{
	if (!size)
		return;
	if (all_zero(buf, size)) {
		p->ev.content = EVENT_CONTENT_ZERO;
		return;
	}
	p->ev.content = EVENT_CONTENT_LIKE;
	if (atomic_load_explicit(&in->unsampled, memory_order_relaxed) >= SAMPLE_EVERY) {
		atomic_store_explicit(&in->unsampled, 0, memory_order_relaxed);
		p->ev.content = EVENT_CONTENT_SAMPLE;
		p->sample = buf;
		p->sample_len = MIN(size, SAMPLE_BYTES);
	}
	atomic_fetch_add_explicit(&in->unsampled, size, memory_order_relaxed);
}

void mirror_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	struct probe p;
	struct fs *fs = begin(&p, req, OP_WRITE, h);
	off_t at = off;
	ssize_t n;

	(void)ino;
	if (fi->writepage) {
		cred_daemon(fs);
	} else {
		cred_caller(fs, req);
		follow_flags(h, fi->flags);
	}
	p.ev.size = size;
	if (fs->queue)
		p.ev.first_touch =
			inode_touch(h->inode, h->fd, (uint64_t)off, (uint64_t)off + size);
	probe_call(&p);
	n = fi->writepage ? write_page(h, buf, size, off) : write_out(h, buf, size, &at);
	probe_done(&p, n);
	p.ev.offset = (uint64_t)at;
	if (fs->queue) {
		if (n < (ssize_t)size)
			inode_touch_drop(h->inode); /* not all of it is there: look again */
		else if (at != off)
			p.ev.first_touch =
				inode_touch(h->inode, h->fd, (uint64_t)at, (uint64_t)at + size);
		if (fs->content)
			look_at(&p, h->inode, buf, size);
	}
	probe_end(&p);
	if (n < 0) {
		fuse_reply_err(req, (int)-n);
		return;
	}
	atomic_fetch_add_explicit(&fs->write_bytes, (uint64_t)n, memory_order_relaxed);
	fuse_reply_write(req, (size_t)n);
	if (at != off &&
		fs->session) /* the file grew behind the mount: the kernel's size is wrong */
		fuse_lowlevel_notify_inval_inode(fs->session, ino, -1, 0);
}

void mirror_fallocate(
	fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	struct probe p;
	struct fs *fs = begin(&p, req, OP_FALLOCATE, h);
	int err;

	(void)ino;
	cred_caller(fs, req);
	p.ev.offset = (uint64_t)off;
	p.ev.size = (uint64_t)len;
	p.ev.mode = (uint32_t)mode;
	probe_call(&p);
	err = fallocate(h->fd, mode, off, len) < 0 ? errno : 0;
	probe_done(&p, -err);
	if (!err && mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
		inode_untouch(h->inode, (uint64_t)off, (uint64_t)off + (uint64_t)len);
	else if (!err && mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
		inode_touch_drop(h->inode);
	probe_end(&p);
	fuse_reply_err(req, err);
}

void mirror_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
	struct handle *h = handle_of(fi);
	struct probe p;
	struct fs *fs = begin(&p, req, OP_LSEEK, h);
	off_t r;

	(void)ino;
	cred_daemon(fs);
	p.ev.offset = (uint64_t)off;
	p.ev.flags = (uint32_t)whence;
	probe_call(&p);
	r = lseek(h->fd, off, whence);
	r = r < 0 ? -errno : r;
	probe_done(&p, r);
	probe_end(&p);
	if (r < 0)
		fuse_reply_err(req, (int)-r);
	else
		fuse_reply_lseek(req, r);
}

void mirror_copy_file_range(fuse_req_t req, fuse_ino_t ino, off_t off, struct fuse_file_info *fi,
	fuse_ino_t ino2, off_t off2, struct fuse_file_info *fi2, size_t len, int flags)
{
	struct handle *h = handle_of(fi), *h2 = handle_of(fi2);
	off_t from = off, to = off2;
	struct probe p;
	struct fs *fs = begin(&p, req, OP_COPY_FILE_RANGE, h);
	ssize_t n;

	(void)ino;
	(void)ino2;
	cred_caller(fs, req);
	p.ev.offset = (uint64_t)off;
	p.ev.size = len;
	p.ev.flags = (uint32_t)flags;
	p.ev.iid2 = h2->inode->iid;
	p.ev.oid2 = h2->oid;
	p.ev.offset2 = (uint64_t)off2;
	probe_call(&p);
	n = copy_file_range(h->fd, &from, h2->fd, &to, len, (unsigned)flags);
	n = n < 0 ? -errno : n;
	probe_done(&p, n);
	if (n > 0 && fs->queue)
		inode_touch(h2->inode, h2->fd, (uint64_t)off2, (uint64_t)(off2 + n));
	probe_end(&p);
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}
