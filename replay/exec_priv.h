/* SPDX-License-Identifier: MIT */
/* The executor from inside. */
#ifndef EXEC_PRIV_H
#define EXEC_PRIV_H

#include <errno.h>
#include <stdatomic.h>

#include "plan_priv.h"

enum exec_verdict { EXEC_MATCHED, EXEC_MISMATCHED, EXEC_ENVIRONMENT, EXEC_SKIPPED };
#define EXEC_SKIP  INT64_MIN       /* what an operation returns when it may not be issued here */
#define EXEC_AGAIN (INT64_MIN + 1) /* and when other lanes of the thread must go on first */

struct exec_rec { /* what became of a step; CLOCK_MONOTONIC */
	int64_t start_ns, end_ns, result;
	uint8_t verdict;
	bool done;
};

/* On its own cache line: other lanes poll it. */
struct exec_progress {
	_Alignas(64) _Atomic uint32_t done; /* steps of the lane that have ended */
	_Atomic uint32_t waiters;
};

struct exec_handle {
	_Atomic int fd;        /* -1: not open */
	_Atomic uint32_t left; /* steps that still need it */
	/* directories; used by one lane at a time, as the recording did */
	uint64_t recorded_entries, replayed_entries;
	bool ended, partial;
};

struct exec {
	const struct plan *p;
	const struct replay_opts *o;
	int root_fd;
	bool null, root; /* root: this user may do anything */
	bool recorded;   /* a recorder listens to marks */
	struct content content;
	_Atomic int *dir_fd; /* per node: O_PATH; -1 not yet */
	_Atomic uint32_t *dir_left;
	struct exec_handle *handles;
	struct exec_progress *progress;
	struct exec_rec **recs; /* per lane */
	int64_t start_ns;
	_Atomic bool abort;
	/* exec_stuck.c: one thread that waits for a lock must give up; nobody waits any more */
	_Atomic bool stuck, impatient;
	_Atomic uint64_t direct_refused, bytes;
	struct exec_worker *workers;
	unsigned n_workers;
	_Atomic unsigned running;
};

struct exec_worker {
	struct exec *x;
	unsigned index;
	bool started, block;  /* block: waiting for a lock may take the thread */
	_Atomic bool waiting; /* for other lanes, a lock, or nothing more */
	unsigned long thread;
	void *buf;
	size_t buf_size;
	int64_t t0, t1; /* of the call at hand */
	bool unequal;   /* the operation itself saw that its result differs */
};

static inline void exec_begin(struct exec_worker *w)
{
	w->t0 = util_now_ns();
}
static inline int64_t exec_end(struct exec_worker *w, int64_t r)
{
	int err = errno;

	w->t1 = util_now_ns();
	return r < 0 ? -err : r;
}

/* exec_path.c */
int exec_tables_new(struct exec *x);
void exec_tables_free(struct exec *x);
/* O_PATH descriptor of a directory node, opened when needed; -errno. */
int exec_dir(struct exec *x, uint32_t node);
void exec_dir_put(struct exec *x, uint32_t node);
/* A directory that is about to move or vanish is opened while its name still holds. */
void exec_dir_keep(struct exec *x, uint32_t node);
int exec_handle_fd(struct exec *x, uint32_t handle); /* -EBADF when the open failed */
void exec_handle_set(struct exec *x, uint32_t handle, int fd);
void exec_handle_put(struct exec *x, uint32_t handle);
/* Tells a recorder that is listening: the next call of this thread, an op, is none of the trace. */
void exec_own(const struct exec *x, int fd, enum op op);

/* exec_names.c, exec_attr.c, exec_file.c, exec_dir.c: one function an operation */
typedef int64_t (*exec_fn)(struct exec_worker *w, const struct plan_step *s);
int64_t exec_lookup(struct exec_worker *w, const struct plan_step *s);
int64_t exec_mknod(struct exec_worker *w, const struct plan_step *s);
int64_t exec_mkdir(struct exec_worker *w, const struct plan_step *s);
int64_t exec_symlink(struct exec_worker *w, const struct plan_step *s);
int64_t exec_link(struct exec_worker *w, const struct plan_step *s);
int64_t exec_unlink(struct exec_worker *w, const struct plan_step *s);
int64_t exec_rmdir(struct exec_worker *w, const struct plan_step *s);
int64_t exec_rename(struct exec_worker *w, const struct plan_step *s);
int64_t exec_readlink(struct exec_worker *w, const struct plan_step *s);
int64_t exec_getattr(struct exec_worker *w, const struct plan_step *s);
int64_t exec_setattr(struct exec_worker *w, const struct plan_step *s);
int64_t exec_access(struct exec_worker *w, const struct plan_step *s);
int64_t exec_statfs(struct exec_worker *w, const struct plan_step *s);
int64_t exec_xattr(struct exec_worker *w, const struct plan_step *s);
int64_t exec_open(struct exec_worker *w, const struct plan_step *s);
int64_t exec_read(struct exec_worker *w, const struct plan_step *s);
int64_t exec_write(struct exec_worker *w, const struct plan_step *s);
int64_t exec_close(struct exec_worker *w, const struct plan_step *s);
int64_t exec_fsync(struct exec_worker *w, const struct plan_step *s);
int64_t exec_fallocate(struct exec_worker *w, const struct plan_step *s);
int64_t exec_lseek(struct exec_worker *w, const struct plan_step *s);
int64_t exec_copy_range(struct exec_worker *w, const struct plan_step *s);
int64_t exec_lock(struct exec_worker *w, const struct plan_step *s);
int64_t exec_flock(struct exec_worker *w, const struct plan_step *s);
int64_t exec_ioctl(struct exec_worker *w, const struct plan_step *s);
int64_t exec_poll(struct exec_worker *w, const struct plan_step *s);
int64_t exec_readdir(struct exec_worker *w, const struct plan_step *s);
/* exec_lock.c */
/* closing: the step's handle is about to be closed. */
void exec_drop_locks(struct exec_worker *w, const struct plan_step *s, bool closing);
/* exec_file.c */
/* The worker's buffer, page-aligned, of at least MIN(n, EXEC_IO_MAX) bytes; NULL: no memory. */
#define EXEC_IO_MAX ((size_t)4 << 20)
void *exec_buffer(struct exec_worker *w, uint64_t n);
uint32_t exec_mode(const struct exec *x, uint32_t mode); /* that may be given to a new file */

/* exec_step.c */
/* Issues the step and fills *rec. False: not yet, other lanes of this thread must go on first. */
bool exec_step(struct exec_worker *w, const struct plan_step *s, struct exec_rec *rec);

bool exec_withheld(const struct exec *x, const struct plan_step *s); /* for want of privileges */

/* exec_judge.c */
enum exec_verdict exec_judge(
	const struct exec *x, const struct plan_step *s, int64_t result, bool unequal);

/* exec_result.c */
int exec_result(struct exec *x, struct replay_result *out);

/* exec_stuck.c */
struct exec_stuck {
	int64_t since_ns;
	uint64_t steps;
	unsigned times;
};
/* Called every now and then with the steps that have ended. True: wake the threads. */
bool exec_stuck_check(struct exec *x, struct exec_stuck *k, uint64_t steps);
/* The thread that asks is the one that gives up. */
bool exec_stuck_yield(struct exec *x);
static inline void exec_waits(struct exec_worker *w, bool waiting)
{
	atomic_store_explicit(&w->waiting, waiting, memory_order_relaxed);
}

/* pace.c */
/* The moment at which the step may start, given when its predecessors had ended (0: at once). */
int64_t pace_target(const struct exec *x, const struct plan_step *s);
/* Until then, or until the run is aborted. */
void pace_sleep(const struct exec *x, int64_t target_ns);

/* cpu.c */
struct cpu_times {
	uint64_t busy, total; /* of all cores, clock ticks */
	double self_seconds;
};
void exec_cpu_now(struct cpu_times *t);
double exec_cpu_percent(const struct cpu_times *from, const struct cpu_times *to);

#endif
