/* SPDX-License-Identifier: MIT */
/*
 * Log-linear histogram: below HIST_SUB every value has its own bucket, above that each power of two
 * is cut into HIST_SUB equal ones. The index is the position of the highest bit and the
 * HIST_SUB_BITS bits behind it, so adding is a few instructions and merging is adding up. Knows
 * nothing of time.
 */
#include "iotape/stats.h"

#include <math.h>
#include <string.h>

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

static unsigned bucket_of(uint64_t value)
{
	unsigned shift;

	if (value < HIST_SUB)
		return (unsigned)value;
	shift = 63u - HIST_SUB_BITS - (unsigned)__builtin_clzll(value);
	return shift * HIST_SUB + (unsigned)(value >> shift);
}

static uint64_t upper_edge(unsigned bucket)
{
	unsigned shift;

	if (bucket < 2 * HIST_SUB)
		return bucket;
	shift = bucket / HIST_SUB - 1;
	/* the last bucket's edge is 2^64: the shift leaves 0, and 0 - 1 is right */
	return ((uint64_t)(bucket - shift * HIST_SUB + 1) << shift) - 1;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

void hist_add(struct hist *h, uint64_t value)
{
	if (!h->count || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->count++;
	h->sum = add_saturating(h->sum, value);
	h->bucket[bucket_of(value)]++;
}

void hist_merge(struct hist *into, const struct hist *h)
{
	if (!h->count)
		return;
	if (!into->count || h->min < into->min)
		into->min = h->min;
	if (h->max > into->max)
		into->max = h->max;
	into->count += h->count;
	into->sum = add_saturating(into->sum, h->sum);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		into->bucket[i] += h->bucket[i];
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t seen = 0, rank;

	if (!h->count)
		return 0;
	if (!(q > 0))
		return h->min;
	if (q >= 1)
		return h->max;
	rank = (uint64_t)ceil(q * (double)h->count);
	rank = MAX(rank, 1);
	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			return MIN(upper_edge(i), h->max);
	}
	return h->max;
}

double hist_mean(const struct hist *h)
{
	return h->count ? (double)h->sum / (double)h->count : 0;
}
