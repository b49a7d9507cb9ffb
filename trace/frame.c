/* SPDX-License-Identifier: MIT */
/*
 * Frames out. A payload becomes one whole zstd frame with content size and checksum; the compressor
 * is flushed where a plane ends, so that each plane gets its own entropy table. The frame is
 * written in one piece, and when the device is full what was written of it is cut off again, so
 * that the file stays a row of whole frames. What a payload means is not known here.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

int trace_out_init(struct trace_out *o, int fd, int level)
{
	*o = (struct trace_out){.fd = fd, .level = level};
	o->cctx = ZSTD_createCCtx();
	if (!o->cctx)
		return fail(-ENOMEM, "no memory for the compressor");
	ZSTD_CCtx_setParameter(o->cctx, ZSTD_c_checksumFlag, 1);
	if (ZSTD_isError(ZSTD_CCtx_setParameter(o->cctx, ZSTD_c_compressionLevel, level))) {
		trace_out_fini(o);
		return fail(-EINVAL, "zstd has no level %d", level);
	}
	return 0;
}

void trace_out_fini(struct trace_out *o)
{
	ZSTD_freeCCtx(o->cctx);
	trace_buf_fini(&o->z);
	trace_buf_fini(&o->index);
	*o = (struct trace_out){.fd = -1};
}

/* Runs the compressor over [in->pos, in->size) until `end` is done with it. */
static int compress_part(struct trace_out *o, ZSTD_inBuffer *in, ZSTD_EndDirective end)
{
	size_t left;

	do {
		uint8_t *room = trace_buf_room(&o->z, ZSTD_CStreamOutSize());
		ZSTD_outBuffer out = {room, room ? o->z.cap - o->z.n : 0, 0};

		if (!room)
			return fail(-ENOMEM, "no memory for a frame");
		left = ZSTD_compressStream2(o->cctx, &out, in, end);
		if (ZSTD_isError(left))
			return fail(-EIO, "zstd: %s", ZSTD_getErrorName(left));
		o->z.n += out.pos;
	} while (left || in->pos < in->size);
	return 0;
}

int trace_out_frame(
	struct trace_out *o, const struct trace_buf *payload, const uint32_t *ends, size_t n_ends)
{
	ZSTD_inBuffer in = {payload->p, 0, 0};
	int r = 0;

	if (payload->oom)
		return fail(-ENOMEM, "no memory for a frame");
	if (payload->n > TRACE_MAX_PAYLOAD)
		return fail(-EMSGSIZE, "a frame of %zu bytes is beyond the limit of the format",
			payload->n);
	o->z.n = 0;
	ZSTD_CCtx_reset(o->cctx, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(o->cctx, payload->n);
	/* else a high level would take a window beyond the reader's limit */
	ZSTD_CCtx_setParameter(o->cctx, ZSTD_c_windowLog,
		payload->n > 1u << TRACE_MAX_WINDOW_LOG ? TRACE_MAX_WINDOW_LOG - 2 : 0);
	for (size_t i = 0; i < n_ends && !r; i++) {
		in.size = ends[i];
		r = compress_part(o, &in, ZSTD_e_flush);
	}
	in.size = payload->n;
	if (!r)
		r = compress_part(o, &in, ZSTD_e_end);
	return r ? r : trace_out_raw(o, o->z.p, o->z.n, payload->n);
}

int trace_out_raw(struct trace_out *o, const void *p, size_t n, size_t payload_size)
{
	off_t start = lseek(o->fd, 0, SEEK_CUR);
	int r = util_write_all(o->fd, p, n);
	bool stays = false;

	if (r) {
		if (start >= 0) /* a pipe or a device has no end to cut off */
			stays = lseek(o->fd, start, SEEK_SET) < 0 ||
				(ftruncate(o->fd, start) < 0 && errno != EINVAL);
		return fail(r, "the trace cannot be written: %s%s", strerror(-r),
			stays ? "; its end could not be cut off" : "");
	}
	o->bytes += n;
	o->frames++;
	return trace_index_add(&o->index, n, payload_size);
}
