/* SPDX-License-Identifier: MIT */
/* From the threads that serve requests to the trace file: what the queue, its rings, lanes and
 * log share. */
#ifndef QUEUE_PRIV_H
#define QUEUE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "iotape/record.h"

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

#endif
