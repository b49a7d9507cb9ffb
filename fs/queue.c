/* SPDX-License-Identifier: MIT */
/*
 * The hand-over from the threads that serve requests to the one that writes the trace. Each
 * producer has a ring of its own; the number that it takes from one counter just before it
 * publishes a record is the record's place in the trace, and the writer goes by these numbers,
 * waiting for one that is taken but not published yet. Room is reserved before the number is
 * taken, so a full ring never stands in the way of the others.
 *
 * A producer makes no system call: the writer looks after the rings every few milliseconds while
 * there is traffic, and asks to be woken only when it goes to sleep for long or a ring is half
 * full. One of the two files that start threads. What the trace file is and when it is full is
 * log.c's.
 */
#include "queue_priv.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define RING_BYTES      ((size_t)1 << 20)
#define NAP_NS          4000000   /* between two looks while there is traffic */
#define GAP_NS          20000     /* a number is taken but not published yet */
#define IDLE_NS         250000000 /* this long without an event: sleep until woken */
#define DRAIN_EVENTS    2048
#define PRODUCER_NAP_NS 100000

enum { AWAKE, NAPPING, SLEEPING };

struct queue {
	_Alignas(64) _Atomic uint64_t taken; /* last number given out */
	_Alignas(64) _Atomic int sleep;      /* of the writer; a futex */
	_Atomic int stopping;
	_Atomic(struct queue_ring *) rings; /* only ever grows; newest first */
	_Atomic uint64_t drops, stalls, stall_ns;
	pthread_key_t key; /* a thread's ring */
	pthread_t thread;
	bool running;
	struct queue_lanes *lanes;
	struct queue_log *log; /* of the writer's thread while it runs */
	int64_t base_ns;
	/* the writer's alone */
	struct trace_sampler *sampler;
	uint64_t written;
	struct queue_ring *cur;
};

static void futex_wait(_Atomic int *word, int value, int64_t ns)
{
	struct timespec ts = {ns / 1000000000, ns % 1000000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns > 0 ? &ts : NULL, NULL, 0);
}

static void wake_writer(struct queue *q)
{
	if (atomic_exchange(&q->sleep, AWAKE) != AWAKE)
		syscall(SYS_futex, &q->sleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* What comes after the limit of the file is not lost: it was not asked for. */
static void drop(struct queue *q)
{
	if (queue_log_state(q->log) != QUEUE_LOG_LIMIT)
		atomic_fetch_add_explicit(&q->drops, 1, memory_order_relaxed);
}

/* ---- producers ---- */

/* A thread ends: another may go on with its ring, behind what is still in it. */
static void ring_release(void *ring)
{
	struct queue_ring *r = ring;

	atomic_store_explicit(&r->owned, 0, memory_order_release);
}

static struct queue_ring *ring_acquire(struct queue *q)
{
	struct queue_ring *r;

	for (r = atomic_load(&q->rings); r; r = r->next) {
		int zero = 0;
		if (atomic_compare_exchange_strong(&r->owned, &zero, 1))
			break;
	}
	if (!r) {
		if (queue_ring_new(&r, RING_BYTES) < 0)
			return NULL;
		atomic_init(&r->owned, 1);
		r->next = atomic_load(&q->rings);
		while (!atomic_compare_exchange_weak(&q->rings, &r->next, r))
			;
	}
	if (pthread_setspecific(q->key, r)) {
		ring_release(r);
		return NULL;
	}
	return r;
}

/* The ring is full: wakes the writer and waits for it. NULL when the recording has ended. */
static struct queue_rec *wait_for_room(struct queue *q, struct queue_ring *r, size_t n)
{
	struct timespec nap = {0, PRODUCER_NAP_NS};
	int64_t since = util_now_ns();
	struct queue_rec *rec;

	do {
		wake_writer(q);
		nanosleep(&nap, NULL);
		rec = queue_ring_reserve(r, n);
	} while (!rec && queue_log_state(q->log) == QUEUE_LOG_OPEN);
	atomic_fetch_add(&q->stalls, 1);
	atomic_fetch_add(&q->stall_ns, (uint64_t)(util_now_ns() - since));
	return rec;
}

static char *put_bytes(char *p, struct bytes b)
{
	if (b.n)
		memcpy(p, b.p, b.n);
	return p + b.n;
}

void queue_put(struct queue *q, const struct event *ev, const void *sample, size_t sample_len)
{
	if (!q)
		return;
	if (queue_log_state(q->log) != QUEUE_LOG_OPEN) {
		drop(q);
		return;
	}
	struct queue_ring *r = pthread_getspecific(q->key);
	struct queue_rec *rec = NULL;
	sample_len = MIN(sample_len, QUEUE_SAMPLE_MAX);
	size_t n = sizeof(*rec) + ev->name.n + ev->name2.n + ev->target.n + sample_len;

	if (!r)
		r = ring_acquire(q);
	if (r && n <= RING_BYTES / 2) {
		rec = queue_ring_reserve(r, n);
		if (!rec)
			rec = wait_for_room(q, r, n);
	}
	if (!rec) {
		drop(q);
		return;
	}
	rec->head.sample_len = sample_len;
	rec->ev = *ev;
	char *p = put_bytes(rec->data, ev->name);
	p = put_bytes(p, ev->name2);
	p = put_bytes(p, ev->target);
	if (sample_len)
		memcpy(p, sample, sample_len);
	rec->ev.start_ns = (ev->start_ns ? ev->start_ns : util_now_ns()) - q->base_ns;
	rec->ev.seq = atomic_fetch_add(&q->taken, 1) + 1;
	/* In this order, against take_nap(): either it sees the number or this sees it asleep. */
	int sleep = atomic_load(&q->sleep);
	size_t used = queue_ring_publish(r);
	if (sleep == SLEEPING || (sleep == NAPPING && used > RING_BYTES / 2))
		wake_writer(q);
}

uint32_t queue_lane(struct queue *q, pid_t tid)
{
	return q ? queue_lanes_get(q->lanes, q, tid) : 0;
}

/* ---- the writer ---- */

static struct queue_rec *next_in_order(struct queue *q)
{
	struct queue_rec *rec;

	if (q->cur && (rec = queue_ring_peek(q->cur)) && rec->ev.seq == q->written + 1)
		return rec;
	for (struct queue_ring *r = atomic_load(&q->rings); r; r = r->next) {
		rec = queue_ring_peek(r);
		if (rec && rec->ev.seq == q->written + 1) {
			q->cur = r;
			return rec;
		}
	}
	return NULL;
}

static void write_rec(struct queue *q, struct queue_rec *rec)
{
	struct event *ev = &rec->ev;
	const char *p = rec->data;

	ev->name.p = p;
	ev->name2.p = p += ev->name.n;
	ev->target.p = p += ev->name2.n;
	p += ev->target.n;
	if (rec->head.sample_len && ev->content == EVENT_CONTENT_SAMPLE &&
		trace_sampler_ratios(q->sampler, p, rec->head.sample_len, ev->ratio) < 0)
		ev->content = EVENT_CONTENT_LIKE;
	if (queue_log_put(q->log, ev) < 0)
		drop(q);
}

/* Writes what is there, in order, but not for ever. Returns how many. */
static unsigned drain(struct queue *q)
{
	struct queue_rec *rec;
	unsigned n = 0;

	while (n < DRAIN_EVENTS && (rec = next_in_order(q))) {
		write_rec(q, rec);
		queue_ring_consume(q->cur, rec);
		q->written++;
		n++;
	}
	return n;
}

static void take_nap(struct queue *q, int kind, int64_t ns)
{
	atomic_store(&q->sleep, kind);
	if (kind == NAPPING || atomic_load(&q->taken) == q->written)
		if (!atomic_load(&q->stopping))
			futex_wait(&q->sleep, kind, ns);
	atomic_store(&q->sleep, AWAKE);
}

static void *writer_main(void *queue)
{
	struct queue *q = queue;
	int64_t now = util_now_ns(), busy_ns = now;

	for (;;) {
		bool stopping = atomic_load(&q->stopping);
		unsigned n = drain(q);
		now = util_now_ns();
		queue_log_tick(q->log, now);
		if (n)
			busy_ns = now;
		if (n == DRAIN_EVENTS)
			continue;
		if (atomic_load(&q->taken) != q->written) {
			struct timespec gap = {0, GAP_NS};
			if (!n)
				nanosleep(&gap, NULL);
		} else if (stopping) {
			return NULL;
		} else if (now - busy_ns < IDLE_NS) {
			take_nap(q, NAPPING, NAP_NS);
		} else {
			take_nap(q, SLEEPING, 0);
		}
	}
}

int queue_thread(pthread_t *out, void *(*fn)(void *), void *arg)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(out, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r ? fail(-r, "cannot start a thread: %s", strerror(r)) : 0;
}

/* ---- life ---- */

int queue_new(struct queue **out, struct queue_log *log, int64_t base_ns)
{
	struct queue *q = aligned_alloc(64, sizeof(*q));
	int r;

	if (!q)
		return fail(-ENOMEM, "out of memory");
	memset(q, 0, sizeof(*q));
	q->log = log;
	q->base_ns = base_ns;
	r = pthread_key_create(&q->key, ring_release);
	if (r) {
		free(q);
		return fail(-r, "out of thread-local keys: %s", strerror(r));
	}
	r = queue_lanes_new(&q->lanes);
	if (!r)
		r = trace_sampler_new(&q->sampler, QUEUE_SAMPLE_MAX);
	if (r < 0) {
		queue_free(q);
		return r;
	}
	*out = q;
	return 0;
}

int queue_start(struct queue *q)
{
	int r = queue_thread(&q->thread, writer_main, q);

	q->running = r == 0;
	return r;
}

void queue_stop(struct queue *q)
{
	if (!q || !q->running)
		return;
	atomic_store(&q->stopping, 1);
	wake_writer(q);
	pthread_join(q->thread, NULL);
	q->running = false;
}

void queue_counts(const struct queue *q, uint64_t *drops, uint64_t *stalls, uint64_t *stall_ns)
{
	*drops = atomic_load(&q->drops);
	*stalls = atomic_load(&q->stalls);
	*stall_ns = atomic_load(&q->stall_ns);
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	queue_stop(q);
	pthread_key_delete(q->key);
	for (struct queue_ring *next, *r = atomic_load(&q->rings); r; r = next) {
		next = r->next;
		queue_ring_free(r);
	}
	queue_lanes_free(q->lanes);
	trace_sampler_free(q->sampler);
	free(q);
}
