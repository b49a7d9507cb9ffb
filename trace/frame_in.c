/* SPDX-License-Identifier: MIT */
/*
 * Frames in. The extent of a frame is found by walking its block headers (RFC 8878), with no help
 * from an index, so it works on pipes; memory grows only with bytes that were read. Only a whole
 * frame is decompressed, in one go, and its checksum verified. Nothing here knows msgpack; going on
 * behind damage is check.c's affair, which needs `whole`: that the frame's end is known.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

#define READ_AHEAD    (256u << 10)
#define BLOCK_MAX     (128u << 10)
#define MAX_STORED    (TRACE_MAX_PAYLOAD + (1u << 20)) /* of a frame */
#define FLAG_CHECKSUM 4u
#define FLAG_RESERVED 0x18u /* the unused bit too: no encoder sets it */
#define FLAG_SINGLE   0x20u

int trace_in_init(struct trace_in *in, int fd)
{
	off_t at = lseek(fd, 0, SEEK_CUR);

	*in = (struct trace_in){.fd = fd, .seekable = at >= 0, .frame = UINT64_MAX};
	in->offset = at > 0 ? at : 0;
	in->buf = malloc(READ_AHEAD);
	in->dctx = ZSTD_createDCtx();
	if (!in->buf || !in->dctx) {
		trace_in_fini(in);
		return fail(-ENOMEM, "no memory to read a trace");
	}
	ZSTD_DCtx_setParameter(in->dctx, ZSTD_d_windowLogMax, TRACE_MAX_WINDOW_LOG);
	return 0;
}

void trace_in_fini(struct trace_in *in)
{
	ZSTD_freeDCtx(in->dctx);
	free(in->buf);
	trace_buf_fini(&in->z);
	trace_buf_fini(&in->data);
	*in = (struct trace_in){.fd = -1};
}

int trace_in_seek(struct trace_in *in, uint64_t offset)
{
	if (lseek(in->fd, offset, SEEK_SET) < 0)
		return fail(-errno, "cannot go back in a pipe");
	in->offset = offset;
	in->pos = in->len = 0;
	return 0;
}

/* 1: there are bytes in buf; 0: end of file. */
static int fill(struct trace_in *in)
{
	ssize_t got;

	if (in->pos < in->len)
		return 1;
	do
		got = read(in->fd, in->buf, READ_AHEAD);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return fail(-errno, "cannot read: %s", strerror(errno));
	in->pos = 0;
	in->len = got;
	return got > 0;
}

/* Appends n bytes of the file to in->z (or drops them). */
static int take(struct trace_in *in, uint64_t n, bool keep)
{
	while (n) {
		int r = fill(in);
		size_t part = MIN(n, in->len - in->pos);

		if (r <= 0)
			return r ? r : fail(-ENODATA, "the file ends inside a frame");
		if (keep)
			trace_buf_put(&in->z, in->buf + in->pos, part);
		if (in->z.oom)
			return fail(-ENOMEM, "no memory for a frame");
		in->pos += part;
		in->offset += part;
		n -= part;
	}
	return 0;
}

static uint32_t little_endian(const uint8_t *p, unsigned n)
{
	uint32_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

/* The blocks of a zstd frame behind its header; *blocks bounds what they can hold. */
static int take_blocks(struct trace_in *in, uint64_t *blocks)
{
	for (*blocks = 0;; ++*blocks) {
		uint32_t head, size, type;
		int r = take(in, 3, true);

		if (r)
			return r;
		head = little_endian(in->z.p + in->z.n - 3, 3);
		type = head >> 1 & 3;
		size = head >> 3;
		if (type == 3 || size > BLOCK_MAX)
			return fail(-EBADMSG, "a block's head is damaged");
		r = take(in, type == 1 ? 1 : size, true);
		if (r)
			return r;
		if (in->z.n > MAX_STORED)
			return fail(-EBADMSG, "it is larger than the format allows");
		if (head & 1)
			break;
	}
	++*blocks;
	return take(in, 4, true); /* checksum */
}

static int take_frame(struct trace_in *in)
{
	static const uint8_t dict_bytes[] = {0, 1, 2, 4}, size_bytes[] = {0, 2, 4, 8};
	unsigned long long size;
	uint64_t blocks;
	uint8_t flags;
	size_t got;
	int r = take(in, 1, true);

	if (r)
		return r;
	flags = in->z.p[4];
	if (flags & FLAG_RESERVED || flags & 3)
		return fail(-EBADMSG, "its head is damaged or needs a dictionary");
	if (!(flags & FLAG_CHECKSUM) || (!(flags >> 6) && !(flags & FLAG_SINGLE)))
		return fail(-EBADMSG, "it has no checksum or no content size");
	r = take(in,
		(flags & FLAG_SINGLE ? 0 : 1) + dict_bytes[flags & 3] +
			MAX(size_bytes[flags >> 6], flags & FLAG_SINGLE ? 1 : 0),
		true);
	if (r)
		return r;
	size = ZSTD_getFrameContentSize(in->z.p, in->z.n);
	if (size > TRACE_MAX_PAYLOAD)
		return fail(-EBADMSG, "it holds %llu bytes, more than the format allows", size);
	if (!(flags & FLAG_SINGLE) && in->z.p[5] > (TRACE_MAX_WINDOW_LOG - 10) << 3)
		return fail(-EBADMSG, "its window is larger than the format allows");
	if (flags & FLAG_SINGLE && size > 1u << TRACE_MAX_WINDOW_LOG)
		return fail(-EBADMSG, "its window is larger than the format allows");
	r = take_blocks(in, &blocks);
	if (r)
		return r;
	in->whole = true;
	if (size > blocks * BLOCK_MAX)
		return fail(-EBADMSG, "its content size is wrong");
	in->data.n = 0;
	if (!trace_buf_room(&in->data, size))
		return fail(-ENOMEM, "no memory for a frame of %llu bytes", size);
	got = ZSTD_decompressDCtx(in->dctx, in->data.p, size, in->z.p, in->z.n);
	if (ZSTD_isError(got))
		return fail(-EBADMSG, "%s", ZSTD_getErrorName(got));
	if (got != size)
		return fail(-EBADMSG, "its content size is wrong");
	in->data.n = size;
	return 1;
}

static int next(struct trace_in *in)
{
	uint32_t magic;
	int r = fill(in);

	if (r <= 0)
		return r;
	r = take(in, 4, true);
	if (r)
		return r;
	magic = little_endian(in->z.p, 4);
	if (magic == TRACE_ZSTD_MAGIC)
		return take_frame(in);
	if ((magic & ~0xfu) != TRACE_SKIP_MAGIC)
		return fail(-EBADMSG, "no frame begins here");
	r = take(in, 4, true);
	if (r)
		return r;
	r = take(in, little_endian(in->z.p + 4, 4), false);
	if (r)
		return r;
	in->z.n = in->data.n = 0;
	in->skippable = in->whole = true;
	return 1;
}

int trace_in_next(struct trace_in *in)
{
	int r;

	in->z.n = in->data.n = 0;
	in->skippable = in->whole = false;
	in->frame_offset = in->offset;
	in->frame++;
	r = next(in);
	if (r == -EBADMSG)
		fail_in(r, "frame %llu at byte %llu", (unsigned long long)in->frame,
			(unsigned long long)in->frame_offset);
	return r;
}
