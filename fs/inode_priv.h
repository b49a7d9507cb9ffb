/* SPDX-License-Identifier: MIT */
/* Inodes and open handles, and what is told and kept of them. */
#ifndef INODE_PRIV_H
#define INODE_PRIV_H

#include <pthread.h>
#include <sys/stat.h>

#include "fs_priv.h"

struct handle;
struct touch;

/* inode.c */
struct inode_entry { /* a directory entry that is known to stand for an inode */
	uint64_t parent, hash;
	struct inode_entry *next;
};
struct inode {
	struct inode *next, **at; /* in its bucket */
	dev_t dev;
	ino_t ino, shown; /* shown: to applications */
	uint64_t iid;
	_Atomic uint64_t
		refs;     /* the kernel's lookups and our handles; to 0 under the stripe lock */
	int fd;           /* O_PATH; -1 while nobody refers to it: see inode_fd() */
	mode_t type;      /* S_IFMT bits */
	bool hashed;      /* found by (dev, ino); not any more once its last name is gone */
	bool listed;      /* known from a listing only: the full snap is still due */
	atomic_bool made; /* by the workload, or its attributes are in the trace already */
	struct inode_entry entry; /* the first known one (parent 0: none), the others behind it */
	pthread_mutex_t lock;     /* touch, owners, handles; directory: names below are changed */
	struct touch *touch;      /* NULL: not looked at yet */
	struct lock_owner *owners;
	struct handle *handles;     /* open ones */
	_Atomic uint32_t changes;   /* of names in the directory; odd: one is under way */
	_Atomic uint64_t unsampled; /* bytes written since the last content sample */
};
/* The table; what follows it, under the lock of the stripe that a number belongs to. */
struct inode_stripe;
struct inode_stripe *inode_lock(struct fs *fs, dev_t dev, ino_t ino);
void inode_unlock(struct inode_stripe *s);
struct inode *inode_find(struct inode_stripe *s, dev_t dev, ino_t ino);
struct inode *inode_add(struct fs *fs, struct inode_stripe *s, dev_t dev, ino_t ino, mode_t type);
/* Its last name is gone: not found any more. True: nobody refers to it; inode_destroy() it after
 * the unlock. */
bool inode_unhash(struct inode_stripe *s, struct inode *in);
void inode_rehash(struct inode_stripe *s, struct inode *in); /* found again */
void inode_destroy(struct inode *in);

int inode_table_new(struct fs *fs);
void inode_table_free(struct fs *fs);
struct inode *inode_of(struct fs *fs, fuse_ino_t ino);
fuse_ino_t inode_number(struct fs *fs, const struct inode *in);
/* st_ino as applications see it: the source's own numbers are what they are; those of another file
 * system below it, which on the mount are of the same device, are made to differ. */
ino_t inode_shown(struct fs *fs, dev_t dev, ino_t ino);
static inline int inode_fd(const struct inode *in)
{
	return in->fd;
}
/* "/proc/self/fd/N" of it, for calls that take no descriptor of the O_PATH kind. */
struct inode_path {
	char s[32];
};
void inode_path(const struct inode *in, struct inode_path *out);
void inode_ref(struct inode *in); /* caller holds one already */
void inode_put(struct fs *fs, struct inode *in, uint64_t n);

/* names.c */
/* Looks a name up. *out has one reference more; it is snapped first when the trace does not know
 * it. p, or NULL, gets the end of the backing call. 0 or -errno. */
int inode_look(struct fs *fs, struct inode *dir, const char *name, struct probe *p, struct stat *st,
	struct inode **out);
/* Around everything that changes names in dir (and dir2, or NULL), until its event is put: then the
 * trace is in the order of the changes. What follows is for in between, or for when nobody else is
 * there. */
void inode_change_begin(struct inode *dir, struct inode *dir2);
void inode_change_end(struct inode *dir, struct inode *dir2);
/* The inode that (parent, name) stands for, with one reference more: fd (O_PATH, taken over always)
 * and st describe it. made: by this very operation; else as in inode_look(). NULL: no memory. */
struct inode *inode_enter(
	struct fs *fs, uint64_t parent, const char *name, int fd, const struct stat *st, bool made);
/* Its iid only, without a reference. pfd: directory, to read links below. */
uint64_t inode_name(struct fs *fs, uint64_t parent, int pfd, const char *name,
	const struct stat *st, bool made);
/* iid of an entry in a listing, of which only number and type are known. */
uint64_t inode_listed(
	struct fs *fs, uint64_t parent, const char *name, dev_t dev, ino_t ino, mode_t type);
/* The entry is gone (st: as it was before); its last one: so is the identity. */
void inode_unlinked(struct fs *fs, uint64_t parent, const char *name, const struct stat *st);
void inode_moved(struct fs *fs, const struct stat *st, uint64_t parent, const char *name,
	uint64_t parent2, const char *name2);
void inode_linked(struct fs *fs, struct inode *in, uint64_t parent, const char *name);

/* An open file or directory; fi->fh. */
struct handle {
	struct handle *next, **at; /* of the inode's */
	struct inode *inode;       /* one reference */
	int fd;
	_Atomic int flags; /* of open(2), as set on fd now */
	bool direct;       /* no page cache above it */
	uint64_t oid;
	pthread_mutex_t lock; /* pos */
	off_t pos;            /* directory: cookie at which fd stands */
};
static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}
struct handle *handle_new(struct fs *fs, struct inode *in, int fd, int flags);
void handle_free(struct fs *fs, struct handle *h);
void handle_drop_all(struct inode *in); /* those that the kernel never closed */

/* snap.c: initial state, put before the first event that refers to it. */
void snap_root(struct fs *fs);
/* fd: O_PATH of it, or -1 and then (pfd, name) says where it is. */
void snap_inode(struct fs *fs, uint64_t parent, const char *name, uint64_t iid, int fd, int pfd,
	const struct stat *st);
void snap_listed(struct fs *fs, uint64_t parent, const char *name, uint64_t iid, mode_t type);
void snap_xattrs(struct fs *fs, struct inode *in);

/* touch.c: which blocks of a file are allocated. Not thread-safe. */
#define TOUCH_BLOCK 4096u
struct touch;
struct touch *touch_new(void); /* nothing allocated; NULL: no memory */
void touch_free(struct touch *t);
/* Marks [from, to); true when any block of it was not. */
bool touch_add(struct touch *t, uint64_t from, uint64_t to);
void touch_del(struct touch *t, uint64_t from, uint64_t to); /* whole blocks in it are free again */
void touch_cut(struct touch *t, uint64_t size);
/* As a file stands now; fd is not O_PATH. */
int touch_load(struct touch *t, int fd, const struct stat *st);
/* The same on an inode, with its lock. fd: any open descriptor of it. */
bool inode_touch(struct inode *in, int fd, uint64_t from, uint64_t to);
void inode_untouch(struct inode *in, uint64_t from, uint64_t to);
void inode_touch_cut(struct inode *in, uint64_t size);
void inode_touch_drop(struct inode *in); /* look again at the next write */

#endif
