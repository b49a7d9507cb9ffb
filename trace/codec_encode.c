/* SPDX-License-Identifier: MIT */
/*
 * Events to columns. Each event is taken apart once, when it is put: every field that its operation
 * has goes, coded, to the end of that field's column. When the chunk is taken, a column becomes a
 * msgpack bin of byte planes, as many as its largest value needs; a column of zeros is left out.
 * Driven wholly by field_info[] and op_info[]; no operation is known by name here.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#define ROWS       TRACE_CHUNK_EVENTS
#define SLOTS      (4 * ROWS) /* of the string table: at most 3 strings an event */
#define TEXT_LIMIT (16u << 20)

struct column {
	uint64_t any; /* all values or-ed */
	uint64_t prev;
	uint32_t n;
	uint64_t v[ROWS];
};
struct slot {
	uint64_t hash;
	uint32_t number, at, n; /* number 0: free */
};
struct step {
	uint8_t field, type, coding;
	uint16_t offset;
};
struct trace_encoder {
	uint32_t rows, n_strings;
	uint64_t first_seq;
	int64_t t0;
	struct column col[FIELD_COUNT];
	struct slot slot[SLOTS];
	uint32_t used[3 * ROWS]; /* slots in order of their numbers */
	struct trace_buf text;
	uint64_t follow[TRACE_FOLLOW_SLOTS];
	struct trace_buf payload;
	uint32_t ends[FIELD_COUNT * 8];
	size_t n_ends;
	struct step step[OP_COUNT][FIELD_COUNT]; /* what an operation has, op first */
	uint8_t n_steps[OP_COUNT];
	uint64_t has_oid[OP_COUNT], has_size[OP_COUNT]; /* all ones or 0 */
};

int trace_encoder_new(struct trace_encoder **out)
{
	struct trace_encoder *e = calloc(1, sizeof(*e));

	if (!e)
		return fail(-ENOMEM, "no memory for the encoder");
	for (int op = 0; op < OP_COUNT; op++) {
		e->has_oid[op] = op_info[op].fields & FIELD_BIT(FIELD_OID) ? UINT64_MAX : 0;
		e->has_size[op] = op_info[op].fields & FIELD_BIT(FIELD_SIZE) ? UINT64_MAX : 0;
		for (int f = 0; f < FIELD_COUNT; f++)
			if (op_info[op].fields & FIELD_BIT(f) && f != FIELD_SEQ)
				e->step[op][e->n_steps[op]++] = (struct step){f, field_info[f].type,
					trace_field_coding[f], field_info[f].offset};
	}
	*out = e;
	return 0;
}

void trace_encoder_free(struct trace_encoder *e)
{
	if (!e)
		return;
	trace_buf_fini(&e->text);
	trace_buf_fini(&e->payload);
	free(e);
}

size_t trace_encoder_rows(const struct trace_encoder *e)
{
	return e->rows;
}

bool trace_encoder_full(const struct trace_encoder *e)
{
	return e->rows == ROWS || e->text.n >= TEXT_LIMIT;
}

/* Number of the string in this chunk's table, which it joins when new. */
static uint32_t intern(struct trace_encoder *e, struct bytes b)
{
	uint64_t hash;
	uint32_t i;

	if (!b.n)
		return 0;
	hash = XXH3_64bits(b.p, b.n);
	for (i = hash % SLOTS; e->slot[i].number; i = (i + 1) % SLOTS)
		if (e->slot[i].hash == hash && e->slot[i].n == b.n &&
			!memcmp(e->text.p + e->slot[i].at, b.p, b.n))
			return e->slot[i].number;
	e->slot[i] = (struct slot){hash, e->n_strings + 1, e->text.n, b.n};
	e->used[e->n_strings++] = i;
	trace_buf_put(&e->text, b.p, b.n);
	return e->n_strings;
}

static uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (0 - (v >> 63));
}

static inline uint64_t load(const struct event *ev, const struct step *s)
{
	const char *p = (const char *)ev + s->offset;

	switch (s->type) {
	case FIELD_U8:
		return *(const uint8_t *)p;
	case FIELD_U16:
		return *(const uint16_t *)p;
	case FIELD_U8X2:
		return ((const uint8_t *)p)[0] | (uint64_t)((const uint8_t *)p)[1] << 8;
	case FIELD_U32:
		return *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

static inline uint64_t code(struct trace_encoder *e, const struct event *ev, const struct step *s)
{
	uint64_t v, was;

	if (s->coding == CODING_STRING)
		return intern(e, *(const struct bytes *)((const char *)ev + s->offset));
	v = load(ev, s);
	if (s->coding == CODING_PLAIN)
		return s->type == FIELD_I64 ? zigzag(v) : v;
	if (s->coding == CODING_DELTA) {
		was = e->col[s->field].prev;
		e->col[s->field].prev = v;
	} else {
		uint64_t oid = ev->oid & e->has_oid[ev->op];
		uint64_t *end = &e->follow[oid % TRACE_FOLLOW_SLOTS];

		was = *end;
		*end = v + (ev->size & e->has_size[ev->op]);
	}
	return zigzag(v - was);
}

int trace_encoder_put(struct trace_encoder *e, const struct event *ev)
{
	const struct step *s;

	if (ev->op == OP_NONE || ev->op >= OP_COUNT)
		return fail(-EINVAL, "there is no operation %u", ev->op);
	if (ev->name.n > EVENT_NAME_MAX || ev->name2.n > EVENT_NAME_MAX ||
		ev->target.n > EVENT_NAME_MAX)
		return fail(
			-EINVAL, "a string of an event is longer than %u bytes", EVENT_NAME_MAX);
	if (!e->rows) {
		e->first_seq = ev->seq;
		e->t0 = ev->start_ns;
		e->col[FIELD_START_NS].prev = ev->start_ns;
	}
	s = e->step[ev->op];
	for (unsigned n = e->n_steps[ev->op]; n; n--, s++) {
		struct column *c = &e->col[s->field];
		uint64_t v = code(e, ev, s);

		c->v[c->n++] = v;
		c->any |= v;
	}
	e->rows++;
	return 0;
}

static void reset(struct trace_encoder *e)
{
	for (int f = 0; f < FIELD_COUNT; f++)
		e->col[f].any = e->col[f].prev = e->col[f].n = 0;
	for (uint32_t i = 0; i < e->n_strings; i++)
		e->slot[e->used[i]].number = 0;
	memset(e->follow, 0, sizeof(e->follow));
	e->rows = e->n_strings = 0;
	e->text.n = 0;
	e->text.oom = false;
}

static unsigned width(uint64_t any)
{
	return any ? (71 - __builtin_clzll(any)) / 8 : 0;
}

/* The vectorizer makes this three times as fast. */
TRACE_VECTORIZE static void plane(
	uint8_t *restrict to, const uint64_t *restrict v, uint32_t n, unsigned shift)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = v[i] >> shift;
}

static void put_column(struct trace_encoder *e, msgpack_packer *pk, int f)
{
	const struct column *c = &e->col[f];
	unsigned w = width(c->any);
	uint8_t *to;

	trace_pack_key(pk, field_info[f].key);
	msgpack_pack_bin(pk, (size_t)w * c->n);
	to = trace_buf_room(&e->payload, (size_t)w * c->n);
	for (unsigned k = 0; k < w && to; k++, to += c->n) {
		plane(to, c->v, c->n, 8 * k);
		e->payload.n += c->n;
		e->ends[e->n_ends++] = e->payload.n;
	}
}

int trace_encoder_take(struct trace_encoder *e, const struct trace_buf **payload,
	const uint32_t **ends, size_t *n_ends)
{
	msgpack_packer pk;
	unsigned cols = 0;
	bool oom;

	e->payload.n = e->n_ends = 0;
	e->payload.oom = false;
	trace_pack_init(&pk, &e->payload);
	for (int f = 0; f < FIELD_COUNT; f++)
		cols += e->col[f].any != 0;
	msgpack_pack_map(&pk, 5);
	trace_pack_key(&pk, "n");
	msgpack_pack_uint32(&pk, e->rows);
	trace_pack_key(&pk, "t0");
	msgpack_pack_int64(&pk, e->t0);
	trace_pack_key(&pk, "seq");
	msgpack_pack_uint64(&pk, e->first_seq);
	trace_pack_key(&pk, "strings");
	msgpack_pack_array(&pk, e->n_strings);
	for (uint32_t i = 0; i < e->n_strings; i++) {
		const struct slot *s = &e->slot[e->used[i]];

		trace_pack_bin(&pk, e->text.p + s->at, s->n);
	}
	trace_pack_key(&pk, "cols");
	msgpack_pack_map(&pk, cols);
	for (int f = 0; f < FIELD_COUNT; f++)
		if (e->col[f].any)
			put_column(e, &pk, f);
	oom = e->text.oom || e->payload.oom;
	reset(e);
	if (oom)
		return fail(-ENOMEM, "no memory for a chunk");
	*payload = &e->payload;
	*ends = e->ends;
	*n_ends = e->n_ends;
	return 0;
}
