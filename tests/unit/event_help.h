/* SPDX-License-Identifier: MIT */
/* Random but valid events, and comparison field by field. */
#ifndef EVENT_HELP_H
#define EVENT_HELP_H

#include "test.h"

#include "iotape/trace.h"

struct rng {
	uint64_t s;
};

/* splitmix64 (S. Vigna, public domain algorithm) */
static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->s += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* Of any magnitude, often 0 or the largest. */
static inline uint64_t rng_wild(struct rng *r, uint64_t most)
{
	uint64_t v = rng_next(r), kind = rng_next(r) % 16;

	if (kind == 0)
		return 0;
	if (kind == 1)
		return most;
	v >>= rng_next(r) % 64;
	return most == UINT64_MAX ? v : v % (most + 1);
}

static inline bool event_has(const struct event *ev, enum field f)
{
	return op_info[ev->op].fields & FIELD_BIT(f);
}

/* Text of 1 to 40 bytes without '/' and NUL, one of a few hundred, in a caller's buffer. */
static inline struct bytes random_name(struct rng *r, char buf[64])
{
	struct rng own = {rng_next(r) % 300};
	uint32_t n = 1 + rng_next(&own) % 40;

	for (uint32_t i = 0; i < n; i++) {
		buf[i] = 1 + rng_next(&own) % 255;
		if (buf[i] == '/' || buf[i] == '.')
			buf[i] = '_';
	}
	return (struct bytes){buf, n};
}

#define TIME_LIMIT (INT64_C(1) << 61)

static inline void random_scalar(struct rng *r, struct event *ev, int f)
{
	char *p = (char *)ev + field_info[f].offset;

	switch (field_info[f].type) {
	case FIELD_U8:
		*(uint8_t *)p = rng_next(r) % (f == FIELD_CONTENT ? EVENT_CONTENT_COUNT : 2);
		break;
	case FIELD_U16:
		break;
	case FIELD_U32:
		*(uint32_t *)p = rng_wild(r, UINT32_MAX);
		break;
	case FIELD_U8X2:
		p[0] = rng_next(r);
		p[1] = rng_next(r);
		break;
	case FIELD_U64:
		*(uint64_t *)p = rng_wild(r,
			f == FIELD_DUR_NS || f == FIELD_QUEUE_NS ? (uint64_t)TIME_LIMIT
			: f == FIELD_OFFSET || f == FIELD_OFFSET2 || f == FIELD_SIZE ? INT64_MAX
										     : UINT64_MAX);
		break;
	case FIELD_I64:
		*(int64_t *)p = rng_wild(r, UINT64_MAX);
		if (f == FIELD_START_NS)
			*(int64_t *)p %= TIME_LIMIT + 1;
		break;
	case FIELD_BYTES:
		break;
	}
}

/* Every field that the operation has is wild, within what event_check() allows. */
static inline void random_event(struct rng *r, unsigned op, struct event *ev, char text[3][64])
{
	*ev = (struct event){.op = op};
	for (int f = 0; f < FIELD_COUNT; f++)
		if (event_has(ev, f) && f != FIELD_SEQ && f != FIELD_OP)
			random_scalar(r, ev, f);
	if (event_has(ev, FIELD_NAME))
		ev->name = random_name(r, text[0]);
	if (event_has(ev, FIELD_NAME2))
		ev->name2 = random_name(r, text[1]);
	if (event_has(ev, FIELD_TARGET) && rng_next(r) % 2)
		ev->target = random_name(r, text[2]);
	if (ev->result < 0)
		ev->result = -(int64_t)(rng_next(r) % 4096);
	else if (event_has(ev, FIELD_SIZE) && (uint64_t)ev->result > ev->size)
		ev->result = ev->size;
}

static inline void assert_event_equal(const struct event *a, const struct event *b)
{
	for (int f = 0; f < FIELD_COUNT; f++) {
		static const size_t size[] = {[FIELD_U8] = 1,
			[FIELD_U16] = 2,
			[FIELD_U32] = 4,
			[FIELD_U64] = 8,
			[FIELD_I64] = 8,
			[FIELD_U8X2] = 2};
		const char *pa = (const char *)a + field_info[f].offset;
		const char *pb = (const char *)b + field_info[f].offset;

		if (field_info[f].type == FIELD_BYTES) {
			if (!bytes_equal(*(const struct bytes *)pa, *(const struct bytes *)pb))
				fail_msg("event %llu: %s differs", (unsigned long long)a->seq,
					field_info[f].key);
		} else if (memcmp(pa, pb, size[field_info[f].type]) != 0) {
			fail_msg("event %llu (%s): %s differs", (unsigned long long)a->seq,
				op_info[a->op].name, field_info[f].key);
		}
	}
}

#endif
