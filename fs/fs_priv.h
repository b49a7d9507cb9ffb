/* SPDX-License-Identifier: MIT */
/* What all operations of the mirror share: its state, an operation as a scope, whom it acts as. */
#ifndef FS_PRIV_H
#define FS_PRIV_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "iotape/record.h"

struct inode;
struct queue;

/* The mirror. Set up before the session starts, then only the counters and the table change. */
struct fs {
	int source_fd;       /* directory below; borrowed */
	struct queue *queue; /* NULL: not recording; borrowed */
	enum record_view view;
	bool content;                 /* look at written data: zero or not, samples */
	struct fuse_session *session; /* set by record.c before the loop; for notifications */
	bool root;                    /* the daemon may act as others */
	bool direct_mmap;             /* the kernel maps direct-I/O files shared (set at INIT) */
	dev_t dev;                    /* of the root */
	_Atomic uint64_t others[64];  /* devices below it, as met; inode_shown() */
	struct inode *root_inode;
	struct inode_table *table; /* inode.c */
	_Atomic uint64_t next_iid, next_oid, next_owner;
	struct lock_waiters *waiters;             /* lock.c */
	_Atomic uint64_t read_bytes, write_bytes; /* moved so far */
	uint64_t init_unique;                     /* init.c: of the INIT request; 0 when done */
	uint32_t init_flags, init_flags2;
};

/* init.c */
/* Makes the mirror of source_fd (O_PATH directory, borrowed; must outlive it). queue NULL: no
 * recording. Raises RLIMIT_NOFILE. */
int fs_new(
	struct fs **out, int source_fd, struct queue *queue, enum record_view view, bool content);
/* After fuse_session_mount() and before the loop: takes the session's reads and writes over, to
 * set what libfuse does not know in the INIT reply. */
int fs_init_session(struct fs *fs, struct fuse_session *se);
/* After the loop has ended, before the session is destroyed and the queue closed: ends those who
 * wait for locks, *cut of them. -EBUSY: some do not end, and use the mirror. */
int fs_stop(struct fs *fs, uint64_t *cut);
void fs_free(struct fs *fs); /* after fuse_session_destroy(); NULL is fine */
/* What fuse_session_new() gets with the fs as userdata. */
extern const struct fuse_lowlevel_ops mirror_ops;

/* probe.c: one operation as a scope. probe_begin, fill p.ev, probe_call - system call -
 * probe_done, probe_end, reply: the event is put before the reply, so those of one thread are in
 * its order. Free of cost (no clock) when fs->queue is NULL. */
struct probe {
	struct event ev;
	struct fs *fs;
	int64_t arrive_ns, call_ns, done_ns;
	const void *sample; /* write: some of its data, borrowed until probe_end */
	size_t sample_len;
};
/* req NULL: on nobody's behalf, lane 0. Stamps the arrival; lane of the caller; its uid and gid
 * where the operation has them. */
void probe_begin(struct probe *p, struct fs *fs, fuse_req_t req, enum op op);
void probe_call(struct probe *p); /* the backing call starts (again: only the first counts) */
void probe_done(struct probe *p, int64_t result); /* it ended with a value or -errno */
void probe_end(struct probe *p);

/* cred.c: whom this thread acts as. */
void cred_daemon(struct fs *fs);
/* fs ids of the caller, so that privileges, quota and set-id bits are treated as natively. */
void cred_caller(struct fs *fs, fuse_req_t req);
/* Also its supplementary groups and umask: for what makes new entries. */
void cred_maker(struct fs *fs, fuse_req_t req);

#endif
