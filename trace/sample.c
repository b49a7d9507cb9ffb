/* SPDX-License-Identifier: MIT */
/*
 * How well a piece of data compresses, as the two numbers from which content like it can be made
 * up again: one ratio of a fast and one of an ordinary compressor say more than an entropy does.
 */
#include "iotape/trace.h"

#include <errno.h>
#include <zstd.h>

int trace_sample_ratios(const void *p, size_t n, uint8_t ratio[2])
{
	static const int levels[2] = {-5, 1};
	size_t cap = ZSTD_compressBound(n);
	_free_ void *packed = malloc(cap);

	if (!packed || !n)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		size_t r = ZSTD_compress(packed, cap, p, n, levels[i]);
		if (ZSTD_isError(r))
			return -EIO;
		ratio[i] = (uint8_t)MIN(r * 255 / n, 255);
	}
	return 0;
}
