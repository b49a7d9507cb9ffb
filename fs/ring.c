/* SPDX-License-Identifier: MIT */
/*
 * A ring of records of one producer thread and one consumer thread. Records lie in one piece
 * (a marker skips the end of the buffer when one does not fit there), so the consumer reads
 * events where they are. The producer keeps its own copy of the consumer's position and looks at
 * the shared one only when the ring seems full: neither side touches the other's cache line for
 * an ordinary record.
 *
 * A ring outlives its thread: another one may take it over. Nothing here blocks or counts.
 */
#include "queue_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SKIP UINT32_MAX /* sample_len of a marker: the rest of the buffer is empty */

int queue_ring_new(struct queue_ring **out, size_t cap)
{
	struct queue_ring *r = aligned_alloc(64, sizeof(*r));
	if (!r)
		return -ENOMEM;
	memset(r, 0, sizeof(*r));
	r->cap = cap;
	r->buf = mmap(NULL, cap, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->buf == MAP_FAILED) {
		free(r);
		return -ENOMEM;
	}
	*out = r;
	return 0;
}

void queue_ring_free(struct queue_ring *r)
{
	if (!r)
		return;
	munmap(r->buf, r->cap);
	free(r);
}

static bool has_room(struct queue_ring *r, uint64_t tail, size_t n)
{
	if (tail + n - r->head_seen <= r->cap)
		return true;
	r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
	return tail + n - r->head_seen <= r->cap;
}

struct queue_rec *queue_ring_reserve(struct queue_ring *r, size_t n)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	size_t at = tail & (r->cap - 1), skip = 0;

	n = (n + 7) & ~(size_t)7;
	if (at + n > r->cap)
		skip = r->cap - at;
	if (!has_room(r, tail, skip + n))
		return NULL;
	if (skip) {
		struct queue_rec_head *h = (void *)(r->buf + at);
		h->size = skip;
		h->sample_len = SKIP;
		at = 0;
	}
	struct queue_rec *rec = (void *)(r->buf + at);
	rec->head.size = n;
	r->reserved = tail + skip + n;
	return rec;
}

size_t queue_ring_publish(struct queue_ring *r)
{
	atomic_store_explicit(&r->tail, r->reserved, memory_order_release);
	return r->reserved - r->head_seen;
}

struct queue_rec *queue_ring_peek(struct queue_ring *r)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	for (;;) {
		if (head == r->tail_seen) {
			r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
			if (head == r->tail_seen)
				return NULL;
		}
		struct queue_rec *rec = (void *)(r->buf + (head & (r->cap - 1)));
		if (rec->head.sample_len != SKIP)
			return rec;
		head += rec->head.size;
		atomic_store_explicit(&r->head, head, memory_order_release);
	}
}

void queue_ring_consume(struct queue_ring *r, const struct queue_rec *rec)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	atomic_store_explicit(&r->head, head + rec->head.size, memory_order_release);
}
