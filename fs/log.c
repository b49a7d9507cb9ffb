/* SPDX-License-Identifier: MIT */
/*
 * The trace file of a recording. Room is kept ahead of the file's end (blocks beyond it that
 * nobody sees), so that when the device fills up the events gathered so far, the trailer and the
 * index still fit: the recording ends with a whole trace, and the application's I/O goes on. The
 * same happens when the limit asked for is reached.
 *
 * One thread at a time; only the state may be looked at by others.
 */
#include "queue_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define AHEAD_STEP   ((uint64_t)1 << 20) /* blocks taken at once */
#define AHEAD_LEAST  ((uint64_t)64 << 10)
#define CLOSING      ((uint64_t)64 << 10) /* what a trailer, an index and a block's rest take */
#define EVENT_WEIGHT 24 /* bytes that an event takes at most but for its strings */

struct queue_log {
	int fd;
	struct trace_writer *writer;
	_Atomic int state;
	uint64_t max_bytes;
	uint64_t ahead_end, ahead_step; /* step 0: the file system cannot do it */
	uint64_t pending_bytes;         /* upper bound of what is gathered but not written */
	uint64_t bytes;                 /* as of the last look: a frame was written since if not */
	int64_t flush_ns;               /* when the gathered events are due; 0: none */
	int64_t end_ns;                 /* when the recording ended before its time */
	int error;
	uint64_t taken;   /* events handed to the writer */
	uint64_t refused; /* events that were none */
	char text[256];
};

int queue_log_open(struct queue_log **out, int fd, const struct trace_header *h, uint64_t max_bytes)
{
	_free_ struct queue_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return fail(-ENOMEM, "out of memory");
	log->fd = fd;
	log->max_bytes = max_bytes;
	log->ahead_step = AHEAD_STEP;
	r = trace_writer_open(&log->writer, fd, h);
	if (r < 0)
		return r;
	log->bytes = log->ahead_end = trace_writer_bytes(log->writer);
	*out = STEAL(log);
	return 0;
}

enum queue_log_state queue_log_state(const struct queue_log *log)
{
	return atomic_load_explicit(&log->state, memory_order_acquire);
}

static void end(struct queue_log *log, enum queue_log_state state)
{
	if (queue_log_state(log) != QUEUE_LOG_OPEN)
		return;
	log->end_ns = util_now_ns();
	atomic_store_explicit(&log->state, state, memory_order_release);
}

static int failed(struct queue_log *log, int err)
{
	if (!log->error) {
		log->error = err;
		if (err == -ENOSPC || err == -EDQUOT || err == -EFBIG)
			snprintf(log->text, sizeof(log->text),
				"no room for the trace (%s) after %.1f MiB", strerror(-err),
				(double)trace_writer_bytes(log->writer) / (1 << 20));
		else
			snprintf(log->text, sizeof(log->text), "the trace cannot be written: %s",
				strerror(-err));
	}
	end(log, QUEUE_LOG_FAILED);
	return err;
}

static void flush(struct queue_log *log)
{
	int r = trace_writer_flush(log->writer);

	log->flush_ns = 0;
	log->pending_bytes = 0;
	log->bytes = trace_writer_bytes(log->writer);
	if (r < 0)
		failed(log, r);
}

/* Keeps the blocks that closing the file needs beyond what is gathered. False: there are none. */
static bool keep_ahead(struct queue_log *log, uint64_t need)
{
	while (log->ahead_step && log->ahead_end < need) {
		if (!fallocate(log->fd, FALLOC_FL_KEEP_SIZE, (off_t)log->ahead_end,
			    (off_t)log->ahead_step)) {
			log->ahead_end += log->ahead_step;
		} else if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
			if (log->ahead_step == AHEAD_LEAST) {
				failed(log, -errno);
				return false;
			}
			log->ahead_step /= 2;
		} else if (errno != EINTR) {
			log->ahead_step = 0;
		}
	}
	return true;
}

int queue_log_put(struct queue_log *log, const struct event *ev)
{
	int r;

	if (queue_log_state(log) != QUEUE_LOG_OPEN)
		return -ENOSPC;
	uint64_t weight = EVENT_WEIGHT + ev->name.n + ev->name2.n + ev->target.n;
	uint64_t need = log->bytes + log->pending_bytes + weight + CLOSING;
	if (log->max_bytes && need > log->max_bytes) {
		flush(log); /* what it really took */
		need = log->bytes + weight + CLOSING;
		if (need > log->max_bytes) {
			end(log, QUEUE_LOG_LIMIT);
			return -EFBIG;
		}
	}
	if (!keep_ahead(log, need)) {
		flush(log);
		return -ENOSPC;
	}
	r = trace_writer_put(log->writer, ev);
	if (r == -EBADMSG || r == -EINVAL || r == -ENAMETOOLONG) {
		if (!log->refused++)
			snprintf(log->text, sizeof(log->text), "%s", fail_text());
		return r;
	}
	log->taken++;
	if (r < 0) {
		failed(log, r);
		return 0; /* counted as taken and not written */
	}
	if (trace_writer_bytes(log->writer) != log->bytes) {
		log->bytes = trace_writer_bytes(log->writer);
		log->pending_bytes = 0;
		log->flush_ns = 0;
	} else {
		log->pending_bytes += weight;
		if (!log->flush_ns)
			log->flush_ns = util_now_ns() + TRACE_FLUSH_NS;
	}
	return 0;
}

void queue_log_tick(struct queue_log *log, int64_t now_ns)
{
	if (log->flush_ns && now_ns >= log->flush_ns)
		flush(log);
}

int queue_log_finish(struct queue_log *log, const char *reason, struct record_stats *st)
{
	struct trace_trailer t = {
		.drops = st->drops, .stalls = st->stalls, .stall_ns = st->stall_ns};
	int r;

	t.end_mono_ns = log->end_ns ? log->end_ns : util_now_ns();
	if (log->state == QUEUE_LOG_LIMIT)
		reason = "max-size";
	else if (log->state == QUEUE_LOG_FAILED)
		reason = log->error == -EIO ? "log device error" : "log device full";
	st->reason = reason;
	t.reason = (char *)reason;
	r = trace_writer_finish(log->writer, &t);
	if (r < 0)
		failed(log, r);
	/* the blocks ahead */
	if (log->ahead_end)
		(void)!ftruncate(log->fd, (off_t)trace_writer_bytes(log->writer));
	if (fsync(log->fd) && errno != EINVAL && errno != EROFS)
		failed(log, -errno);
	st->events = trace_writer_events(log->writer);
	st->drops += log->taken - st->events;
	st->trace_bytes = trace_writer_bytes(log->writer);
	st->trace_error = log->error ? log->error : log->refused ? -EBADMSG : 0;
	memcpy(st->trace_text, log->text, sizeof(st->trace_text));
	end(log, QUEUE_LOG_LIMIT); /* nothing is expected any more */
	close(STEAL_FD(log->fd));
	return st->trace_error;
}

void queue_log_close(struct queue_log *log)
{
	if (!log)
		return;
	trace_writer_close(log->writer);
	if (log->fd >= 0)
		close(log->fd);
	free(log);
}
