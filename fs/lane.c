/* SPDX-License-Identifier: MIT */
/*
 * Lanes: small numbers for the threads that issue requests. A table with one cell for every
 * thread id that the kernel can give (memory comes as cells are touched) is read without a lock;
 * only the first request of a thread takes the mutex, reads who it is from /proc while the thread
 * waits for its reply, and puts the OP_LANE event. A thread id that was quiet for a while is
 * looked up again: with another birth it is another thread and gets a lane of its own.
 */
#include "queue_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#define TID_LIMIT   (4u << 20) /* PID_MAX_LIMIT of the kernel */
#define PIDFS_MAGIC 0x50494446
#define QUIET_TICKS 8u /* of about 268 ms */

struct cell {
	_Atomic uint64_t lane_tick; /* lane << 32 | tick of the last request */
	uint64_t birth;             /* of the thread; under the mutex */
};

struct queue_lanes {
	pthread_mutex_t lock;
	struct cell *cells;
	uint32_t next; /* under the mutex */
};

int queue_lanes_new(struct queue_lanes **out)
{
	struct queue_lanes *l = calloc(1, sizeof(*l));

	if (!l)
		return fail(-ENOMEM, "out of memory");
	l->cells = mmap(NULL, TID_LIMIT * sizeof(*l->cells), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (l->cells == MAP_FAILED) {
		free(l);
		return fail(-ENOMEM, "no address space for the table of threads");
	}
	pthread_mutex_init(&l->lock, NULL);
	*out = l;
	return 0;
}

void queue_lanes_free(struct queue_lanes *l)
{
	if (!l)
		return;
	munmap(l->cells, TID_LIMIT * sizeof(*l->cells));
	pthread_mutex_destroy(&l->lock);
	free(l);
}

static uint32_t tick_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint32_t)((uint64_t)ts.tv_sec * 4 + (uint64_t)ts.tv_nsec / 250000000);
}

/* Reads /proc/TID/NAME into buf as a string; the length, 0 when it cannot be read. */
static size_t read_proc(pid_t tid, const char *name, char *buf, size_t cap)
{
	char path[64];
	_close_ int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, cap - 1);
	buf[MAX(n, 0)] = 0;
	return (size_t)MAX(n, 0);
}

/* Field 22 of /proc/TID/stat, "tid (comm) state ppid ..."; comm may hold anything, ')' included. */
static uint64_t read_start(pid_t tid)
{
	char buf[1024], *p;

	if (!read_proc(tid, "stat", buf, sizeof(buf)))
		return 0;
	p = strrchr(buf, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

/* Tells a thread from a later one of the same id: the inode of its pidfd, which is never used
 * again, or on kernels that have none its start time. Newer kernels let nobody read /proc/TID/stat
 * while the thread is in execve(2), and that may be waiting for our answer: it closes files. 0:
 * gone. */
static uint64_t read_birth(pid_t tid)
{
	_close_ int fd = (int)syscall(SYS_pidfd_open, tid, O_EXCL /* PIDFD_THREAD */);
	struct statfs fs;
	struct stat st;

	if (fd < 0 && errno != EINVAL && errno != ENOSYS)
		return 0;
	if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == PIDFS_MAGIC && !fstat(fd, &st))
		return st.st_ino;
	return read_start(tid);
}

static pid_t read_tgid(pid_t tid)
{
	char buf[512];
	const char *p;

	if (!read_proc(tid, "status", buf, sizeof(buf)))
		return tid;
	p = strstr(buf, "\nTgid:");
	return p ? (pid_t)strtol(p + 6, NULL, 10) : tid;
}

/* The first request of a thread, or the first after a while. */
static uint32_t look_up(struct queue_lanes *l, struct queue *q, pid_t tid, uint32_t tick)
{
	struct cell *c = &l->cells[tid];
	char comm[64];
	uint64_t birth = read_birth(tid);
	uint32_t lane;

	if (read_proc(tid, "comm", comm, sizeof(comm)))
		comm[strlen(comm) - 1] = 0; /* the newline */
	pthread_mutex_lock(&l->lock);
	lane = (uint32_t)(atomic_load(&c->lane_tick) >> 32);
	if (!lane || (birth && birth != c->birth)) {
		struct event ev = {.op = OP_LANE,
			.lane = lane = ++l->next,
			.arg = (uint64_t)tid,
			.size = (uint64_t)read_tgid(tid)};
		for (char *p = comm; *p; p++)
			if (*p == '/') /* kworker/0:1 */
				*p = ':';
		if (!comm[0] || !strcmp(comm, ".") || !strcmp(comm, ".."))
			strcpy(comm, "?");
		ev.name = BYTES_STR(comm);
		c->birth = birth;
		queue_put(q, &ev, NULL, 0);
	}
	atomic_store(&c->lane_tick, (uint64_t)lane << 32 | tick);
	pthread_mutex_unlock(&l->lock);
	return lane;
}

uint32_t queue_lanes_get(struct queue_lanes *l, struct queue *q, pid_t tid)
{
	if (tid <= 0 || (uint32_t)tid >= TID_LIMIT)
		return 0;
	_Atomic uint64_t *cell = &l->cells[tid].lane_tick;
	uint64_t v = atomic_load_explicit(cell, memory_order_relaxed);
	uint32_t tick = tick_now(), lane = (uint32_t)(v >> 32);

	if (!lane || tick - (uint32_t)v > QUIET_TICKS)
		return look_up(l, q, tid, tick);
	if (tick != (uint32_t)v)
		atomic_compare_exchange_strong(cell, &v, (uint64_t)lane << 32 | tick);
	return lane;
}
