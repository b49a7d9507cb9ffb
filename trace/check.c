/* SPDX-License-Identifier: MIT */
/*
 * Looks at every frame of a trace, also behind damaged ones: where a frame's end can be told it
 * goes on there, else it looks for the next frame that decompresses, by the magic number. What is
 * good can be copied frame by frame, unchanged, under a new trailer and index. Nothing is guessed:
 * a damaged frame is lost as a whole.
 */
#include "trace_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct checker {
	struct trace_in in;
	struct trace_damage *d;
	struct trace_header header;
	struct trace_schema schema;
	struct trace_chunk chunk;
	struct trace_trailer trailer; /* of the trace, then of the repaired one */
	struct trace_buf index;       /* what the table at the end must be */
	struct trace_out *out;        /* NULL: not repairing */
	uint64_t next_seq, gaps, op_count[OP_COUNT];
	int64_t last_end_ns;
	bool cut;
};

static void note_bad(struct checker *c, const char *text)
{
	if (!c->d->first_bad[0])
		snprintf(c->d->first_bad, sizeof(c->d->first_bad), "%s", text);
}

static int note_bad_frame(struct checker *c, int err, uint64_t frame, uint64_t offset)
{
	if (err != -EBADMSG && err != -ENODATA)
		return err;
	fail_in(err, "frame %" PRIu64 " at byte %" PRIu64, frame, offset);
	note_bad(c, fail_text());
	c->d->bad_frames++;
	return 0;
}

static int copy_frame(struct checker *c)
{
	return c->out ? trace_out_raw(c->out, c->in.z.p, c->in.z.n, c->in.data.n) : 0;
}

static int check_events(struct checker *c)
{
	for (uint32_t i = 0; i < c->chunk.n; i++) {
		const struct event *ev = &c->chunk.ev[i];
		int r = ev->op == OP_NONE ? 0 : event_check(ev);

		if (r)
			return r;
	}
	return 0;
}

static void count_events(struct checker *c)
{
	c->gaps += c->chunk.first_seq - c->next_seq;
	c->next_seq = c->chunk.first_seq + c->chunk.n;
	c->d->events += c->chunk.n;
	for (uint32_t i = 0; i < c->chunk.n; i++) {
		const struct event *ev = &c->chunk.ev[i];

		c->op_count[ev->op]++;
		if (ev->op != OP_NONE)
			c->last_end_ns = MAX(c->last_end_ns, ev->start_ns + (int64_t)ev->dur_ns);
	}
}

static int check_chunk(struct checker *c)
{
	int r = trace_chunk_decode(&c->chunk, &c->schema, c->in.data.p, c->in.data.n);

	if (!r)
		r = check_events(c);
	if (r)
		return r;
	if (c->d->has_trailer)
		return fail(-EBADMSG, "events behind the trailer");
	if (c->chunk.first_seq < c->next_seq) /* a repetition, as the reader has it */
		return c->chunk.first_seq + c->chunk.n <= c->next_seq
			       ? 0
			       : fail(-EBADMSG, "events that were read already");
	count_events(c);
	return copy_frame(c);
}

static int check_trailer(struct checker *c)
{
	struct trace_trailer t = {0};
	int r = trace_trailer_unpack(c->in.data.p, c->in.data.n, &t);

	if (r)
		return r;
	if (c->d->has_trailer) {
		free(t.reason);
		return fail(-EBADMSG, "a second trailer");
	}
	c->trailer = t;
	c->d->has_trailer = true;
	return 0;
}

static int check_payload(struct checker *c)
{
	int kind = trace_payload_kind(c->in.data.p, c->in.data.n);

	switch (kind) {
	case TRACE_KIND_CHUNK:
		return check_chunk(c);
	case TRACE_KIND_TRAILER:
		return check_trailer(c);
	case TRACE_KIND_HEADER:
		return fail(-EBADMSG, "another trace begins here");
	default:
		return kind < 0 ? kind : copy_frame(c);
	}
}

static int note_index(struct checker *c)
{
	return trace_index_add(
		&c->index, c->in.z.n, ZSTD_getFrameContentSize(c->in.z.p, c->in.z.n));
}

/* Offset of the next magic number from `at` on, UINT64_MAX when there is none. */
static uint64_t find_magic(struct checker *c, uint64_t at)
{
	static const uint8_t magic[] = {0x28, 0xB5, 0x2F, 0xFD};
	uint8_t buf[65536];

	for (;;) {
		ssize_t got = util_pread_all(c->in.fd, buf, sizeof(buf), at);
		const uint8_t *p;

		if (got < (ssize_t)sizeof(magic))
			return UINT64_MAX;
		p = memmem(buf, got, magic, sizeof(magic));
		if (p)
			return at + (p - buf);
		at += got - (sizeof(magic) - 1);
	}
}

/* Behind a frame whose end is not known: stands before the next one that can be read. 1, 0: none,
 * negative: trouble. */
static int resync(struct checker *c, uint64_t at)
{
	uint64_t frame = c->in.frame;
	int r;

	while ((at = find_magic(c, at + 1)) != UINT64_MAX) {
		r = trace_in_seek(&c->in, at);
		if (!r)
			r = trace_in_next(&c->in);
		if (r == 1 && trace_payload_kind(c->in.data.p, c->in.data.n) >= 0) {
			c->in.frame = frame;
			return (r = trace_in_seek(&c->in, at)) ? r : 1;
		}
		if (r < 0 && r != -EBADMSG && r != -ENODATA)
			return r;
	}
	return 0;
}

/* A damaged block head can lead to an end that is none: there the next frame must begin. */
static bool frame_follows(struct checker *c)
{
	uint8_t b[4] = {0};
	ssize_t got = util_pread_all(c->in.fd, b, sizeof(b), c->in.offset);
	uint32_t magic = b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;

	return got == 0 || (got == sizeof(b) && (magic == TRACE_ZSTD_MAGIC ||
							(magic & ~0xfu) == TRACE_SKIP_MAGIC));
}

/* A frame that cannot be read. 1: go on, 0: nothing behind it. */
static int bad_frame(struct checker *c, int err)
{
	uint64_t frame = c->in.frame, offset = c->in.frame_offset;
	char text[256];
	int r;

	snprintf(text, sizeof(text), "%s", fail_text());
	if (c->in.whole && frame_follows(c)) {
		r = note_index(c);
		note_bad(c, text);
		c->d->bad_frames++;
		return r ? r : 1;
	}
	r = resync(c, offset);
	if (r == 0 && err == -ENODATA) {
		snprintf(text, sizeof(text), "cut inside frame %" PRIu64 " at byte %" PRIu64, frame,
			offset);
		c->cut = true;
	} else {
		if (err == -ENODATA)
			snprintf(text, sizeof(text),
				"frame %" PRIu64 " at byte %" PRIu64 ": a block's head is damaged",
				frame, offset);
		c->d->bad_frames++;
	}
	note_bad(c, text);
	return r;
}

static int walk(struct checker *c)
{
	for (;;) {
		int r = trace_in_next(&c->in);

		if (r == 0)
			return 0;
		if (r == -EBADMSG || r == -ENODATA) {
			r = bad_frame(c, r);
			if (r <= 0)
				return r;
			continue;
		}
		if (r < 0)
			return r;
		if (!c->in.skippable) {
			c->d->frames++;
			r = note_index(c);
			if (!r)
				r = check_payload(c);
			if (r)
				r = note_bad_frame(c, r, c->in.frame, c->in.frame_offset);
			if (r)
				return r;
		}
		if (!c->d->first_bad[0])
			c->d->good_bytes = c->in.offset;
	}
}

static int check_header(struct checker *c)
{
	int r = trace_in_next(&c->in);

	if (r == 0)
		return fail(-ENODATA, "empty");
	if (r == -ENODATA)
		return fail(r, "cut inside its header: nothing can be read");
	if (r == -EBADMSG && !c->in.whole)
		return fail(r, "not an iotape trace");
	if (r == 1 && c->in.skippable)
		return fail(-EBADMSG, "not an iotape trace");
	if (r == 1)
		r = trace_header_unpack(c->in.data.p, c->in.data.n, &c->header, &c->schema);
	if (r)
		return r;
	c->d->frames = 1;
	c->d->good_bytes = c->in.offset;
	r = note_index(c);
	return r ? r : copy_frame(c);
}

static void count_losses(struct checker *c)
{
	struct trace_damage *d = c->d;

	if (d->has_trailer)
		d->lost_events =
			c->trailer.drops +
			(c->trailer.events > d->events ? c->trailer.events - d->events : 0);
	else
		d->lost_events = c->gaps;
	if (d->has_trailer && c->trailer.events < d->events)
		note_bad(c, "the trailer counts fewer events than there are");
	else if (d->has_trailer && c->trailer.events > d->events)
		note_bad(c, "the trailer counts more events than there are");
	else if (!d->has_trailer && !c->cut)
		note_bad(c, "cut: it ends without a trailer");
	else if (!d->has_index)
		note_bad(c, "the index at the end is missing");
	else if (!d->index_good)
		note_bad(c, "the index at the end does not agree with the frames");
}

static int repair_end(struct checker *c)
{
	struct trace_trailer t = c->trailer;
	char reason[] = "repaired";
	struct trace_buf b = {0};
	int r;

	t.events = c->d->events;
	t.drops = c->d->lost_events;
	memcpy(t.op_count, c->op_count, sizeof(t.op_count));
	if (!c->d->has_trailer) {
		t.reason = reason;
		/* the header may claim anything */
		t.end_mono_ns =
			(int64_t)((uint64_t)c->header.start_mono_ns + (uint64_t)c->last_end_ns);
	}
	r = trace_trailer_pack(&b, &t);
	if (!r)
		r = trace_out_frame(c->out, &b, NULL, 0);
	trace_buf_fini(&b);
	return r ? r : trace_index_write(c->out);
}

static int check(struct checker *c)
{
	off_t size = lseek(c->in.fd, 0, SEEK_END);
	int r;

	if (size < 0 || lseek(c->in.fd, 0, SEEK_SET) < 0)
		return fail(-errno, "only a file can be checked, not a pipe");
	c->d->file_bytes = size;
	r = check_header(c);
	if (!r)
		r = walk(c);
	if (r)
		return r;
	r = trace_index_verify(c->in.fd, size, &c->index);
	c->d->has_index = r != -ENODATA;
	c->d->index_good = r == 1;
	count_losses(c);
	return c->out ? repair_end(c) : 0;
}

int trace_check(const char *path, struct trace_damage *d, int repair_fd)
{
	_free_ struct checker *c = calloc(1, sizeof(*c));
	struct trace_out out = {.fd = -1};
	_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	*d = (struct trace_damage){0};
	if (!c)
		return fail(-ENOMEM, "no memory for a check");
	if (fd < 0)
		return fail(-errno, "%s: cannot open: %s", path, strerror(errno));
	c->d = d;
	c->next_seq = 1;
	r = trace_in_init(&c->in, fd);
	if (!r && repair_fd >= 0) {
		r = trace_out_init(&out, repair_fd, 1);
		c->out = &out;
	}
	if (!r)
		r = check(c);
	if (repair_fd >= 0)
		trace_out_fini(&out);
	trace_in_fini(&c->in);
	trace_header_fini(&c->header);
	trace_chunk_fini(&c->chunk);
	trace_buf_fini(&c->index);
	free(c->trailer.reason);
	return r ? fail_in(r, "%s", path) : 0;
}
