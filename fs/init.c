/* SPDX-License-Identifier: MIT */
/*
 * The mirror's beginning and end, the table of its operations, and the INIT exchange. libfuse 3.14
 * does not know two things that the kernel offers, so the session's reads and writes are taken over
 * (fuse_session_custom_io) and the protocol touched in two places: the INIT reply gets the bits for
 * shared maps of direct-I/O files and for set-id bits cleared by the file system, and a TMPFILE
 * request, which has the layout of a CREATE, is handed on as one (its flags hold O_TMPFILE).
 */
#include "lock_priv.h"
#include "mirror_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>

#ifndef FUSE_DIRECT_IO_ALLOW_MMAP
#define FUSE_DIRECT_IO_ALLOW_MMAP (UINT64_C(1) << 36)
#endif
#define FLAGS2_DIRECT_MMAP ((uint32_t)(FUSE_DIRECT_IO_ALLOW_MMAP >> 32))
#define OPCODE_TMPFILE     51u

static ssize_t io_read(int fd, void *buf, size_t size, void *userdata)
{
	struct fs *fs = userdata;
	ssize_t n = read(fd, buf, size);
	struct fuse_in_header *in = buf;
	struct fuse_init_in *init = (void *)(in + 1);

	if (n < (ssize_t)sizeof(*in))
		return n;
	if (in->opcode == OPCODE_TMPFILE) {
		in->opcode = FUSE_CREATE;
	} else if (in->opcode == FUSE_INIT && n >= (ssize_t)(sizeof(*in) + sizeof(*init))) {
		fs->init_unique = in->unique;
		fs->init_flags = init->flags;
		fs->init_flags2 = init->flags & FUSE_INIT_EXT ? init->flags2 : 0;
	}
	return n;
}

static ssize_t io_writev(int fd, struct iovec *iov, int count, void *userdata)
{
	struct fs *fs = userdata;
	const struct fuse_out_header *out = iov[0].iov_base;
	struct fuse_init_out *init;

	if (fs->init_unique && count == 2 && out->unique == fs->init_unique && !out->error &&
		iov[1].iov_len >= sizeof(*init)) {
		init = iov[1].iov_base;
		fs->init_unique = 0;
		if (fs->init_flags & FUSE_HANDLE_KILLPRIV_V2)
			init->flags |= FUSE_HANDLE_KILLPRIV_V2;
		if (fs->direct_mmap) {
			init->flags |= FUSE_INIT_EXT;
			init->flags2 |= FLAGS2_DIRECT_MMAP;
		}
	}
	return writev(fd, iov, count);
}

int fs_init_session(struct fs *fs, struct fuse_session *se)
{
	static const struct fuse_custom_io io = {.writev = io_writev, .read = io_read};
	int r = fuse_session_custom_io(se, &io, fuse_session_fd(se));

	fs->session = se;
	return r ? fail(r < 0 ? r : -EIO, "libfuse does not let its I/O be taken over") : 0;
}

static void mirror_init(void *userdata, struct fuse_conn_info *conn)
{
	struct fs *fs = userdata;

	fs->direct_mmap = fs->init_flags2 & FLAGS2_DIRECT_MMAP;
	conn->want &= ~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ |
				  FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
	conn->want |= conn->capable &
		      (FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_DONT_MASK | FUSE_CAP_POSIX_ACL |
			      FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS | FUSE_CAP_READDIRPLUS |
			      FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_PARALLEL_DIROPS |
			      FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_IOCTL_DIR);
	conn->max_write = 1u << 20;
	conn->max_readahead = 1u << 20;
	snap_root(fs);
}

/* Every inode that the kernel knows holds a descriptor: as many as may be. */
static void raise_nofile(void)
{
	struct rlimit rl;
	FILE *f = fopen("/proc/sys/fs/nr_open", "re");
	unsigned long max = 0;

	if (f) {
		if (fscanf(f, "%lu", &max) != 1)
			max = 0;
		fclose(f);
	}
	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return;
	if (max > rl.rlim_max) {
		struct rlimit hard = {max, max};

		if (setrlimit(RLIMIT_NOFILE, &hard) == 0)
			return;
	}
	rl.rlim_cur = rl.rlim_max;
	setrlimit(RLIMIT_NOFILE, &rl);
}

int fs_new(struct fs **out, int source_fd, struct queue *queue, enum record_view view, bool content)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	struct stat st;
	int fd, r;

	if (!fs)
		return fail(-ENOMEM, "no memory for the mirror");
	raise_nofile();
	fs->source_fd = source_fd;
	fs->queue = queue;
	fs->view = view;
	fs->content = content && queue;
	fs->root = !geteuid();
	fs->next_iid = EVENT_ROOT_IID;
	fs->next_oid = 1;
	fs->next_owner = 1;
	fd = fcntl(source_fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) < 0) {
		r = fail(-errno, "cannot use the source directory: %s", strerror(errno));
		goto out;
	}
	fs->dev = st.st_dev;
	r = inode_table_new(fs);
	if (!r)
		r = lock_init(fs);
	if (r)
		goto out;
	fs->root_inode = inode_enter(fs, 0, "", STEAL_FD(fd), &st, false);
	if (!fs->root_inode) {
		r = fail(-ENOMEM, "no memory for the mirror");
		goto out;
	}
	*out = STEAL(fs);
out:
	if (fd >= 0)
		close(fd);
	fs_free(fs);
	return r;
}

int fs_stop(struct fs *fs, uint64_t *cut)
{
	return lock_stop(fs, cut);
}

void fs_free(struct fs *fs)
{
	if (!fs)
		return;
	inode_table_free(fs);
	lock_fini(fs);
	free(fs);
}

const struct fuse_lowlevel_ops mirror_ops = {
	.init = mirror_init,
	.lookup = mirror_lookup,
	.forget = mirror_forget,
	.forget_multi = mirror_forget_multi,
	.getattr = mirror_getattr,
	.setattr = mirror_setattr,
	.access = mirror_access,
	.statfs = mirror_statfs,
	.readlink = mirror_readlink,
	.mknod = mirror_mknod,
	.mkdir = mirror_mkdir,
	.symlink = mirror_symlink,
	.create = mirror_create,
	.unlink = mirror_unlink,
	.rmdir = mirror_rmdir,
	.rename = mirror_rename,
	.link = mirror_link,
	.setxattr = mirror_setxattr,
	.getxattr = mirror_getxattr,
	.listxattr = mirror_listxattr,
	.removexattr = mirror_removexattr,
	.open = mirror_open,
	.flush = mirror_flush,
	.release = mirror_release,
	.fsync = mirror_fsync,
	.ioctl = mirror_ioctl,
	.poll = mirror_poll,
	.read = mirror_read,
	.write = mirror_write,
	.fallocate = mirror_fallocate,
	.lseek = mirror_lseek,
	.copy_file_range = mirror_copy_file_range,
	.opendir = mirror_opendir,
	.readdir = mirror_readdir,
	.readdirplus = mirror_readdirplus,
	.releasedir = mirror_releasedir,
	.fsyncdir = mirror_fsyncdir,
	.getlk = mirror_getlk,
	.setlk = mirror_setlk,
	.flock = mirror_flock,
};
