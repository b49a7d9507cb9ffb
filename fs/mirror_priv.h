/* SPDX-License-Identifier: MIT */
/* The operations, one group of verbs a file; mirror_ops[] in init.c names them all. */
#ifndef MIRROR_PRIV_H
#define MIRROR_PRIV_H

#include "inode_priv.h"

#define MIRROR_TIMEOUT 1.0
void mirror_entry(
	struct fs *fs, const struct inode *in, const struct stat *st, struct fuse_entry_param *e);
/* What a read or a direct write goes through: aligned memory of this thread. NULL: no memory. */
void *mirror_buffer(size_t n);
/* ops_names.c */
void mirror_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void mirror_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n);
void mirror_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);
void mirror_readlink(fuse_req_t req, fuse_ino_t ino);
void mirror_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void mirror_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void mirror_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t parent2,
	const char *name2, unsigned flags);
void mirror_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name);
/* ops_make.c */
void mirror_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void mirror_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void mirror_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void mirror_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
	struct fuse_file_info *fi);
/* ops_attrs.c */
void mirror_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set, struct fuse_file_info *fi);
void mirror_access(fuse_req_t req, fuse_ino_t ino, int mask);
void mirror_statfs(fuse_req_t req, fuse_ino_t ino);
/* ops_xattrs.c */
void mirror_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
	size_t size, int flags);
void mirror_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void mirror_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size);
void mirror_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);
/* ops_files.c */
void mirror_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void mirror_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void mirror_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
	struct fuse_file_info *fi, unsigned flags, const void *in, size_t in_size, size_t out_size);
void mirror_poll(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *ph);
/* How the kernel is to treat the open file. */
void mirror_open_mode(struct fs *fs, struct handle *h, struct fuse_file_info *fi);
/* ops_data.c */
void mirror_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void mirror_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
	struct fuse_file_info *fi);
void mirror_fallocate(
	fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len, struct fuse_file_info *fi);
void mirror_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi);
void mirror_copy_file_range(fuse_req_t req, fuse_ino_t ino, off_t off, struct fuse_file_info *fi,
	fuse_ino_t ino2, off_t off2, struct fuse_file_info *fi2, size_t len, int flags);
/* ops_dirs.c */
void mirror_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void mirror_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
/* ops_locks.c */
void mirror_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock);
void mirror_setlk(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep);
void mirror_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op);

#endif
