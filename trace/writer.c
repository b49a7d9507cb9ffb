/* SPDX-License-Identifier: MIT */
/*
 * The writer of a trace: numbers events, gathers them in the encoder and writes a frame when a
 * chunk is full or the caller's clock says so. Single-threaded; the queue in front of it is the
 * recorder's. A chunk that could not be written is dropped and counted, and the file stays whole.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

struct trace_writer {
	struct trace_out out;
	struct trace_encoder *enc;
	uint64_t next_seq; /* that an unnumbered event gets */
	uint64_t events;   /* in the file */
	uint64_t lost;     /* in chunks that could not be written */
	uint64_t op_count[OP_COUNT], op_pending[OP_COUNT];
	bool finished;
};

static int write_header(struct trace_writer *w, const struct trace_header *h)
{
	struct trace_header with_level = *h;
	struct trace_buf b = {0};
	int r;

	with_level.level = w->out.level;
	r = trace_header_pack(&b, &with_level);
	if (!r)
		r = trace_out_frame(&w->out, &b, NULL, 0);
	trace_buf_fini(&b);
	return r;
}

int trace_writer_open(struct trace_writer **out, int fd, const struct trace_header *h)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return fail(-ENOMEM, "no memory for a trace writer");
	w->next_seq = 1;
	r = trace_out_init(&w->out, fd, h->level ? h->level : 1);
	if (!r)
		r = trace_encoder_new(&w->enc);
	if (!r)
		r = write_header(w, h);
	if (r)
		trace_writer_close(w);
	else
		*out = w;
	return r;
}

int trace_writer_put(struct trace_writer *w, const struct event *ev)
{
	struct event numbered;
	int r;

	if (w->finished)
		return fail(-EINVAL, "the trace is finished already");
	if (!ev->seq) {
		numbered = *ev;
		numbered.seq = w->next_seq;
		ev = &numbered;
	}
	if (ev->seq < w->next_seq || ev->seq == UINT64_MAX)
		return fail(-EINVAL, "event %llu comes after event %llu",
			(unsigned long long)ev->seq, (unsigned long long)w->next_seq - 1);
	r = event_check(ev);
	if (r)
		return r;
	/* within a chunk numbers follow on */
	if (ev->seq != w->next_seq) {
		r = trace_writer_flush(w);
		if (r)
			return r;
	}
	r = trace_encoder_put(w->enc, ev);
	if (r)
		return r;
	w->op_pending[ev->op]++;
	w->next_seq = ev->seq + 1;
	return trace_encoder_full(w->enc) ? trace_writer_flush(w) : 0;
}

int trace_writer_flush(struct trace_writer *w)
{
	size_t rows = trace_encoder_rows(w->enc), n_ends;
	const struct trace_buf *payload;
	const uint32_t *ends;
	int r;

	if (!rows)
		return 0;
	r = trace_encoder_take(w->enc, &payload, &ends, &n_ends);
	if (!r)
		r = trace_out_frame(&w->out, payload, ends, n_ends);
	if (r) {
		w->lost += rows;
	} else {
		w->events += rows;
		for (int op = 0; op < OP_COUNT; op++)
			w->op_count[op] += w->op_pending[op];
	}
	memset(w->op_pending, 0, sizeof(w->op_pending));
	return r;
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->out.bytes;
}

uint64_t trace_writer_events(const struct trace_writer *w)
{
	return w->events + trace_encoder_rows(w->enc);
}

int trace_writer_finish(struct trace_writer *w, const struct trace_trailer *t)
{
	struct trace_trailer all = t ? *t : (struct trace_trailer){0};
	struct trace_buf b = {0};
	int flushed, r;

	if (w->finished)
		return 0;
	/* the trailer is small: it may well fit where a chunk did not */
	flushed = trace_writer_flush(w);
	w->finished = true;
	all.events = w->events;
	all.drops += w->lost;
	memcpy(all.op_count, w->op_count, sizeof(all.op_count));
	r = trace_trailer_pack(&b, &all);
	if (!r)
		r = trace_out_frame(&w->out, &b, NULL, 0);
	trace_buf_fini(&b);
	if (!r)
		r = trace_index_write(&w->out);
	return flushed ? flushed : r;
}

void trace_writer_close(struct trace_writer *w)
{
	if (!w)
		return;
	trace_encoder_free(w->enc);
	trace_out_fini(&w->out);
	free(w);
}

int trace_writer_sink(void *writer, const struct event *ev)
{
	return trace_writer_put(writer, ev);
}
