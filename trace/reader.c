/* SPDX-License-Identifier: MIT */
/*
 * The reader of a trace: frame by frame from the front, so that a pipe, a trace still being written
 * and one that was cut all read alike. A chunk is decoded whole, then handed out event by event. It
 * stops at damage; going on behind it is check.c's.
 */
#include "trace_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct trace_reader {
	struct trace_in in;
	int own_fd;
	char *name;
	uint64_t start; /* offset of the header frame */
	struct trace_header header;
	struct trace_schema schema;
	struct trace_chunk chunk;
	uint32_t row;
	uint64_t chunks, next_seq, skipped;
	struct trace_trailer trailer;
	bool has_trailer, ended, cut;
	int failed; /* sticky */
};

static int in_frame(const struct trace_reader *r, int err)
{
	return fail_in(err, "%s: frame %llu at byte %llu", r->name, (unsigned long long)r->in.frame,
		(unsigned long long)r->in.frame_offset);
}

static int read_header(struct trace_reader *r)
{
	int n;

	do
		n = trace_in_next(&r->in);
	while (n == 1 && r->in.skippable);
	if (n == 0)
		return fail(-ENODATA, "%s: %s", r->name, r->in.frame ? "no trace" : "empty");
	if (n == -ENODATA)
		return fail(n, "%s: cut inside its header: nothing can be read", r->name);
	if (n == -EBADMSG && !r->in.whole)
		return fail(n, "%s: not an iotape trace", r->name);
	if (n < 0)
		return fail_in(n, "%s", r->name);
	n = trace_header_unpack(r->in.data.p, r->in.data.n, &r->header, &r->schema);
	return n ? fail_in(n, "%s", r->name) : 0;
}

static int reader_new(struct trace_reader **out, int fd, bool own, const char *name)
{
	struct trace_reader *r = calloc(1, sizeof(*r));
	int err = 0;

	if (r)
		r->name = strdup(name);
	if (!r || !r->name) {
		free(r);
		if (own)
			close(fd);
		return fail(-ENOMEM, "no memory for a trace reader");
	}
	r->own_fd = own ? fd : -1;
	r->next_seq = 1;
	err = trace_in_init(&r->in, fd);
	r->start = r->in.offset;
	if (!err)
		err = read_header(r);
	if (err)
		trace_reader_close(r);
	else
		*out = r;
	return err;
}

int trace_reader_open(struct trace_reader **out, const char *path)
{
	int fd;

	if (!strcmp(path, "-"))
		return reader_new(out, STDIN_FILENO, false, "stdin");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(-errno, "%s: cannot open: %s", path, strerror(errno));
	return reader_new(out, fd, true, path);
}

int trace_reader_open_fd(struct trace_reader **out, int fd, const char *name)
{
	return reader_new(out, fd, false, name);
}

const struct trace_header *trace_reader_header(const struct trace_reader *r)
{
	return &r->header;
}

/* A chunk may be written twice when its writer died in between; numbers never go back otherwise. */
static int take_chunk(struct trace_reader *r)
{
	uint64_t end;
	int err = trace_chunk_decode(&r->chunk, &r->schema, r->in.data.p, r->in.data.n);

	if (err)
		return in_frame(r, err);
	end = r->chunk.first_seq + r->chunk.n;
	if (r->chunk.first_seq < r->next_seq) {
		if (end > r->next_seq)
			return in_frame(
				r, fail(-EBADMSG,
					   "its events begin at %llu, but %llu was read already",
					   (unsigned long long)r->chunk.first_seq,
					   (unsigned long long)r->next_seq - 1));
		r->chunk.n = 0;
		return 0;
	}
	r->next_seq = end;
	r->row = 0;
	r->chunks++;
	return 0;
}

static int take_trailer(struct trace_reader *r)
{
	int err = trace_trailer_unpack(r->in.data.p, r->in.data.n, &r->trailer);

	r->has_trailer = !err;
	return err ? in_frame(r, err) : 0;
}

/* 1: a frame was taken in, 0: end. */
static int next_frame(struct trace_reader *r)
{
	int kind, n = trace_in_next(&r->in);

	if (n == 0 || n == -ENODATA) {
		r->cut = !r->has_trailer;
		r->ended = true;
		return 0;
	}
	if (n < 0)
		return fail_in(n, "%s", r->name);
	if (r->in.skippable)
		return 1;
	kind = trace_payload_kind(r->in.data.p, r->in.data.n);
	if (kind < 0)
		return in_frame(r, kind);
	if (kind == TRACE_KIND_HEADER || (r->has_trailer && kind != TRACE_KIND_OTHER))
		return in_frame(
			r, fail(-EBADMSG, "another trace begins or goes on behind the end"));
	n = kind == TRACE_KIND_CHUNK     ? take_chunk(r)
	    : kind == TRACE_KIND_TRAILER ? take_trailer(r)
					 : 0;
	return n ? n : 1;
}

int trace_reader_next(struct trace_reader *r, struct event *ev)
{
	for (;;) {
		int n;

		while (r->row < r->chunk.n) {
			const struct event *e = &r->chunk.ev[r->row++];

			if (e->op == OP_NONE) {
				r->skipped++;
				continue;
			}
			n = event_check(e);
			if (n) {
				r->row = r->chunk.n = 0;
				return r->failed = in_frame(r, n);
			}
			*ev = *e;
			return 1;
		}
		if (r->failed || r->ended)
			return r->failed;
		r->row = r->chunk.n = 0;
		n = next_frame(r);
		if (n < 0)
			r->failed = n;
	}
}

uint64_t trace_reader_chunk(const struct trace_reader *r)
{
	return r->chunks ? r->chunks - 1 : 0;
}

uint64_t trace_reader_skipped(const struct trace_reader *r)
{
	return r->skipped;
}

const struct trace_trailer *trace_reader_trailer(const struct trace_reader *r)
{
	return r->has_trailer ? &r->trailer : NULL;
}

bool trace_reader_cut(const struct trace_reader *r)
{
	return r->cut;
}

int trace_reader_rewind(struct trace_reader *r)
{
	int err = trace_in_seek(&r->in, r->start);

	if (err)
		return fail_in(err, "%s", r->name);
	trace_header_fini(&r->header);
	free(r->trailer.reason);
	r->trailer = (struct trace_trailer){0};
	r->row = r->chunk.n = 0;
	r->chunks = r->skipped = 0;
	r->next_seq = 1;
	r->has_trailer = r->ended = r->cut = false;
	r->in.frame = UINT64_MAX;
	r->failed = read_header(r);
	return r->failed;
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	trace_in_fini(&r->in);
	trace_header_fini(&r->header);
	trace_chunk_fini(&r->chunk);
	free(r->trailer.reason);
	free(r->name);
	if (r->own_fd >= 0)
		close(r->own_fd);
	free(r);
}

int trace_reader_each(struct trace_reader *r, event_fn fn, void *ctx)
{
	struct event ev;
	int n;

	while ((n = trace_reader_next(r, &ev)) > 0) {
		n = fn(ctx, &ev);
		if (n)
			return n;
	}
	return n;
}
