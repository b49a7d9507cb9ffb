/* SPDX-License-Identifier: MIT */
/*
 * How well a piece of data compresses, as the two numbers from which content like it can be made
 * up again: one ratio of a fast and one of an ordinary compressor say more than an entropy does.
 * The compressor and its output stay: making them anew cost more than compressing.
 */
#include "iotape/trace.h"

#include <errno.h>
#include <zstd.h>

struct trace_sampler {
	ZSTD_CCtx *zc;
	void *packed;
	size_t max_bytes, cap;
};

int trace_sampler_new(struct trace_sampler **out, size_t max_bytes)
{
	struct trace_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->max_bytes = max_bytes;
	s->cap = ZSTD_compressBound(max_bytes);
	s->packed = malloc(s->cap);
	s->zc = ZSTD_createCCtx();
	if (!s->packed || !s->zc) {
		trace_sampler_free(s);
		return fail(-ENOMEM, "out of memory");
	}
	*out = s;
	return 0;
}

void trace_sampler_free(struct trace_sampler *s)
{
	if (!s)
		return;
	ZSTD_freeCCtx(s->zc);
	free(s->packed);
	free(s);
}

int trace_sampler_ratios(struct trace_sampler *s, const void *p, size_t n, uint8_t ratio[2])
{
	static const int levels[2] = {-5, 1};

	if (!n || n > s->max_bytes)
		return -EINVAL;
	for (int i = 0; i < 2; i++) {
		size_t r = ZSTD_compressCCtx(s->zc, s->packed, s->cap, p, n, levels[i]);
		if (ZSTD_isError(r))
			return -EIO;
		ratio[i] = (uint8_t)MIN(r * 255 / n, 255);
	}
	return 0;
}
