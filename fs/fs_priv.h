/* SPDX-License-Identifier: MIT */
/* What the files of fs/ share: the mirror's state, the recorder's hand-over. Nobody else includes
 * it. */
#ifndef FS_PRIV_H
#define FS_PRIV_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "iotape/event.h"
#include "iotape/record.h"

struct fs;
struct inode;
struct handle;

/* queue.c: per-thread rings, one writer thread. */
struct queue;
/* Any thread, lock-free; copies the strings and the sample; gives ev its seq. Blocks while the
 * ring is full (counted). q NULL: not recording, does nothing. */
void queue_put(struct queue *q, const struct event *ev, const void *sample, size_t sample_len);
/* Lane of a thread id (0 for tid 0); puts an OP_LANE event when the thread is first seen. */
uint32_t queue_lane(struct queue *q, pid_t tid);

#define QUEUE_SAMPLE_MAX 32768u
struct queue_log;
/* Numbers events from 1; their start_ns, CLOCK_MONOTONIC in struct event as it is put (0: now),
 * becomes relative to base_ns. log is borrowed. */
int queue_new(struct queue **out, struct queue_log *log, int64_t base_ns);
int queue_start(struct queue *q); /* the writer; until then events wait in their rings */
void queue_stop(struct queue *q); /* what was put is handed to the log; the writer ends */
void queue_counts(const struct queue *q, uint64_t *drops, uint64_t *stalls, uint64_t *stall_ns);
void queue_free(struct queue *q);
/* A thread that takes no signals. */
int queue_thread(pthread_t *out, void *(*fn)(void *), void *arg);

/* ring.c: one producer, one consumer. */
struct queue_rec_head {
	uint32_t size; /* to the next one */
	uint32_t sample_len;
};
struct queue_rec {
	struct queue_rec_head head;
	struct event ev;
	char data[]; /* name, name2, target, sample */
};
struct queue_ring {
	struct queue_ring *next; /* never changes once it is in the list */
	size_t cap;              /* a power of two */
	char *buf;
	_Alignas(64) _Atomic uint64_t tail; /* written by the producer */
	_Atomic int owned;                  /* by a living thread */
	uint64_t reserved, head_seen;       /* the producer's */
	_Alignas(64) _Atomic uint64_t head; /* written by the consumer */
	uint64_t tail_seen;                 /* the consumer's */
};
int queue_ring_new(struct queue_ring **out, size_t cap);
void queue_ring_free(struct queue_ring *r);
/* Room for a record of n bytes, at most half the ring, or NULL. Fill it, then publish; returns the
 * bytes in use at most. */
struct queue_rec *queue_ring_reserve(struct queue_ring *r, size_t n);
size_t queue_ring_publish(struct queue_ring *r);
struct queue_rec *queue_ring_peek(struct queue_ring *r); /* the oldest, or NULL */
void queue_ring_consume(struct queue_ring *r, const struct queue_rec *rec);

/* lane.c: thread ids to lanes. */
struct queue_lanes;
int queue_lanes_new(struct queue_lanes **out);
void queue_lanes_free(struct queue_lanes *l);
uint32_t queue_lanes_get(struct queue_lanes *l, struct queue *q, pid_t tid);

/* log.c: the trace file; its limit, and room kept to close it when the device is full. */
enum queue_log_state { QUEUE_LOG_OPEN, QUEUE_LOG_LIMIT, QUEUE_LOG_FAILED };
/* Writes the header to fd (owned from then on). max_bytes 0: no limit. */
int queue_log_open(
	struct queue_log **out, int fd, const struct trace_header *h, uint64_t max_bytes);
enum queue_log_state queue_log_state(const struct queue_log *log); /* any thread */
/* 0, or negative when the event is not in the trace. */
int queue_log_put(struct queue_log *log, const struct event *ev);
void queue_log_tick(struct queue_log *log, int64_t now_ns); /* flushes what is due */
/* Trailer and index; fills in st what it knows: events, trace_bytes, trace_error, trace_text, and
 * takes the other counts from it. */
int queue_log_finish(struct queue_log *log, const char *reason, struct record_stats *st);
void queue_log_close(struct queue_log *log); /* NULL is fine */

/* A recording; record.c opens and closes it, serve.c serves. */
struct record_mount {
	char *path;     /* absolute, symlinks resolved */
	int id;         /* of the mount in mountinfo; 0: none */
	unsigned minor; /* of its st_dev: the kernel's name for the connection */
	int dev_fd;     /* of its connection; the session's */
	bool self;      /* over the source itself */
};
struct record {
	char *source; /* absolute */
	int source_fd;
	struct record_mount mount;
	char *trace_path, *made_path; /* made_path: as created; renamed when the mount stands */
	bool snapshot_full;
	int64_t start_ns;
	struct queue_log *log; /* NULL, like queue: not recording */
	struct queue *queue;
	struct fs *fs;
	struct fuse_session *session;
	int stop_fd, done_fd; /* eventfd: stop asked for; the loop has ended */
	_Atomic(const char *) reason;
	bool busy;
	pthread_t loop; /* where the session's loop runs */
	int loop_error;
	bool stuck;   /* it does not end: what it uses is left alone */
	uint64_t cut; /* requests whose users were cut off */
};

/* walk.c: all of the source as snap events, for those who want it before the workload begins. */
int record_snapshot(struct fs *fs);

/* mount.c: the mount itself, beyond what libfuse does. */
/* A dead mount of ours at path is taken away; 0 when there is none, else -errno and what to do. */
int record_mount_clear_dead(const char *path);
/* Mounts and attaches the session. m->path is set. opts: for libfuse, also in the trace. */
int record_mount_up(struct record_mount *m, struct fuse_session *se, const char *fsname,
	const char *opts, unsigned long flags);
/* 0: it is gone (or was before), -EBUSY: files are open below it. */
int record_mount_down(struct record_mount *m, bool lazy);
/* Ends the connection under its users: their calls fail at once. For a mount of which no thread
 * reads requests any more. *cut: how many were under way, 0 where that is not known. */
int record_mount_abort(const struct record_mount *m, uint64_t *cut);
/* Type of the file system that an open file is on, "" if not known. */
void record_mount_fs_type(int fd, char *type, size_t cap);
/* Is the directory dir (or an ancestor of it, over mount points) the same as the open one? */
int record_mount_inside(const char *dir, int fd);

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
	struct inode *root_inode;
	struct inode_table *table; /* inode.c */
	_Atomic uint64_t next_iid, next_oid;
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

/* inode.c */
struct inode_entry { /* a directory entry that is known to stand for an inode */
	uint64_t parent, hash;
	struct inode_entry *next;
};
struct inode {
	struct inode *next, **at; /* in its bucket */
	dev_t dev;
	ino_t ino;
	uint64_t iid;
	_Atomic uint64_t
		refs;     /* the kernel's lookups and our handles; to 0 under the stripe lock */
	int fd;           /* O_PATH; -1 while nobody refers to it: see inode_fd() */
	mode_t type;      /* S_IFMT bits */
	bool hashed;      /* found by (dev, ino); not any more once its last name is gone */
	bool listed;      /* known from a listing only: the full snap is still due */
	atomic_bool made; /* by the workload, or its attributes are in the trace already */
	struct inode_entry entry; /* the first known one (parent 0: none), the others behind it */
	pthread_mutex_t lock;     /* touch, owners, handles */
	struct touch *touch;      /* NULL: not looked at yet */
	struct lock_owner *owners;
	struct handle *handles;     /* open ones */
	_Atomic uint64_t unsampled; /* bytes written since the last content sample */
};
int inode_table_new(struct fs *fs);
void inode_table_free(struct fs *fs);
struct inode *inode_of(struct fs *fs, fuse_ino_t ino);
fuse_ino_t inode_number(struct fs *fs, const struct inode *in);
static inline int inode_fd(const struct inode *in)
{
	return in->fd;
}
/* "/proc/self/fd/N" of it, for calls that take no descriptor of the O_PATH kind. */
struct inode_path {
	char s[32];
};
void inode_path(const struct inode *in, struct inode_path *out);
/* The inode that (parent, name) stands for, with one reference more: fd (O_PATH, taken over always)
 * and st describe it. Unless made by this very operation it is snapped first when the trace does
 * not know it. NULL: no memory. */
struct inode *inode_enter(
	struct fs *fs, uint64_t parent, const char *name, int fd, const struct stat *st, bool made);
/* Its iid only, for operations on a name: no reference. pfd: directory, to read links below. */
uint64_t inode_name(struct fs *fs, uint64_t parent, int pfd, const char *name,
	const struct stat *st, bool made);
/* iid of an entry in a listing, of which only number and type are known. */
uint64_t inode_listed(
	struct fs *fs, uint64_t parent, const char *name, dev_t dev, ino_t ino, mode_t type);
void inode_ref(struct inode *in); /* caller holds one already */
void inode_put(struct fs *fs, struct inode *in, uint64_t n);
/* The entry is gone (st: as it was before); its last one: so is the identity. */
void inode_unlinked(struct fs *fs, uint64_t parent, const char *name, const struct stat *st);
void inode_moved(struct fs *fs, const struct stat *st, uint64_t parent, const char *name,
	uint64_t parent2, const char *name2);
void inode_linked(struct fs *fs, struct inode *in, uint64_t parent, const char *name);

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

/* cred.c: whom this thread acts as. */
void cred_daemon(struct fs *fs);
/* fs ids of the caller, so that privileges, quota and set-id bits are treated as natively. */
void cred_caller(struct fs *fs, fuse_req_t req);
/* Also its supplementary groups and umask: for what makes new entries. */
void cred_maker(struct fs *fs, fuse_req_t req);

/* lock.c */
/* Breaks a blocking call of the thread that gets it, nothing else. Handled from lock_init() on. */
#define LOCK_SIGNAL (SIGRTMIN + 3)
int lock_init(struct fs *fs);
int lock_stop(struct fs *fs, uint64_t *cut); /* see fs_stop() */
void lock_fini(struct fs *fs);
/* What the end of a close(2) or of a handle does to locks. */
void lock_owner_closed(struct inode *in, uint64_t owner);
void lock_handle_closed(struct inode *in, const struct handle *h); /* under the inode's lock */
void lock_drop_all(struct inode *in);

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

/* ops_*.c, one group of verbs a file; mirror_ops[] in init.c names them all. */
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
void mirror_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void mirror_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void mirror_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void mirror_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
/* lock.c: the operations */
void mirror_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock);
void mirror_setlk(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep);
void mirror_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op);

#endif
