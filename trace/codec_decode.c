/* SPDX-License-Identifier: MIT */
/*
 * Columns to events, the reverse of codec_encode.c, driven by the trace's own schema. First every
 * length is checked against what the operations of the rows imply; then the chunk is decoded in
 * blocks of rows that stay in the cache, column by column. What an event may hold beyond its types
 * is event_check()'s affair, not looked at here.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

#define BLOCK 256u

struct column {
	const uint8_t *p; /* planes; NULL: left out */
	uint32_t size;
	uint32_t n, pos; /* rows that have it; decoded so far */
	unsigned width;
	unsigned alike; /* the first column that the same rows have */
	uint64_t ops;   /* that have it, a bit for each that occurs */
	uint64_t prev;
};
struct decoder {
	const struct trace_schema *s;
	struct trace_chunk *c;
	struct column col[TRACE_MAX_FIELDS];
	struct trace_mp strings, cols;
	uint64_t t0;
	uint64_t mask[BLOCK];                  /* of the block's rows */
	uint16_t row[TRACE_MAX_FIELDS][BLOCK]; /* of a block, those that have a column */
	uint32_t n_row[TRACE_MAX_FIELDS];
	uint64_t known; /* which of the two are filled, by columns[].alike */
	uint64_t v[BLOCK];
};

void trace_chunk_fini(struct trace_chunk *c)
{
	free(c->ev);
	free(c->strings);
	free(c->follow);
	*c = (struct trace_chunk){0};
}

static int parse_head(struct decoder *d, const uint8_t *p, size_t size)
{
	struct trace_mp mp = {p, p + size};
	uint64_t n = 0, seq = 0;
	bool has_n = false, has_seq = false, has_t0 = false;
	int64_t t0 = 0;
	uint32_t keys;
	int r = trace_mp_map(&mp, &keys);

	for (; keys && !r; keys--) {
		struct bytes key;

		r = trace_mp_bytes(&mp, &key);
		if (r)
			break;
		if (trace_mp_is(key, "n")) {
			r = trace_mp_u64(&mp, &n);
			has_n = true;
		} else if (trace_mp_is(key, "seq")) {
			r = trace_mp_u64(&mp, &seq);
			has_seq = true;
		} else if (trace_mp_is(key, "t0")) {
			r = trace_mp_i64(&mp, &t0);
			has_t0 = true;
		} else {
			if (trace_mp_is(key, "strings"))
				d->strings = mp;
			else if (trace_mp_is(key, "cols"))
				d->cols = mp;
			r = trace_mp_skip(&mp);
		}
	}
	if (r)
		return r;
	if (!has_n || !has_seq || !has_t0 || !d->strings.p || !d->cols.p)
		return fail(-EBADMSG, "a chunk lacks n, seq, t0, strings or cols");
	if (!n || n > TRACE_MAX_ROWS || !seq || seq > UINT64_MAX - n)
		return fail(-EBADMSG, "a chunk of %llu events from number %llu cannot be",
			(unsigned long long)n, (unsigned long long)seq);
	d->c->n = n;
	d->c->first_seq = seq;
	d->t0 = t0;
	return 0;
}

static int parse_strings(struct decoder *d)
{
	struct trace_chunk *c = d->c;
	uint32_t n;
	int r = trace_mp_array(&d->strings, &n);

	if (r)
		return r;
	if (n > 3 * c->n)
		return fail(-EBADMSG, "%u strings for %u events", n, c->n);
	if (n >= c->cap_strings) {
		struct bytes *p = realloc(c->strings, (n + 1) * sizeof(*p));

		if (!p)
			return fail(-ENOMEM, "no memory for %u strings", n);
		c->strings = p;
		c->cap_strings = n + 1;
	}
	c->strings[0] = (struct bytes){"", 0};
	c->n_strings = n;
	for (uint32_t i = 1; i <= n && !r; i++) {
		r = trace_mp_bytes(&d->strings, &c->strings[i]);
		if (!r && c->strings[i].n > EVENT_NAME_MAX)
			r = fail(-EBADMSG, "string %u has %u bytes", i, c->strings[i].n);
	}
	return r;
}

static int parse_cols(struct decoder *d)
{
	const struct trace_schema *s = d->s;
	uint32_t n;
	int r = trace_mp_map(&d->cols, &n);

	for (; n && !r; n--) {
		struct bytes key, bin;
		size_t i = 0;

		r = trace_mp_bytes(&d->cols, &key);
		if (r)
			break;
		while (i < s->n_fields && !trace_mp_is(key, s->f[i].key))
			i++;
		if (i == s->n_fields) {
			r = trace_mp_skip(&d->cols);
			continue;
		}
		r = trace_mp_bytes(&d->cols, &bin);
		if (r || !bin.n)
			continue;
		if (d->col[i].p)
			return fail(-EBADMSG, "column \"%s\" twice", s->f[i].key);
		d->col[i].p = (const uint8_t *)bin.p;
		d->col[i].size = bin.n;
	}
	return r;
}

/* The operation of every row, as numbered in the file, into ev[].op; how often each occurs. */
static int decode_ops(struct decoder *d, uint32_t *count)
{
	struct trace_chunk *c = d->c;
	const struct column *col = &d->col[d->s->op_field];

	if (!col->p || (col->size != c->n && col->size != 2 * c->n))
		return fail(-EBADMSG, "column \"op\" has %u bytes for %u events", col->size, c->n);
	if (c->n > c->cap) {
		free(c->ev);
		c->cap = 0;
		c->ev = malloc((size_t)c->n * sizeof(*c->ev));
		if (!c->ev)
			return fail(-ENOMEM, "no memory for %u events", c->n);
		c->cap = c->n;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		unsigned op = col->p[i] | (col->size == c->n ? 0 : col->p[c->n + i] << 8);

		if (op >= TRACE_MAX_OPS || !d->s->mask[op])
			return fail(-EBADMSG, "operation %u is not in the schema", op);
		c->ev[i].op = op;
		count[op]++;
	}
	return 0;
}

/* How many rows have each column, and so how wide it is. */
static int measure(struct decoder *d, const uint32_t *count)
{
	const struct trace_schema *s = d->s;

	unsigned kinds = 0;

	for (unsigned op = 0; op < TRACE_MAX_OPS; op++) {
		for (size_t i = 0; count[op] && i < s->n_fields; i++)
			if (s->mask[op] >> i & 1) {
				d->col[i].n += count[op];
				d->col[i].ops |= UINT64_C(1) << kinds % 64;
			}
		kinds += count[op] != 0;
	}
	for (size_t i = 0; i < s->n_fields; i++) {
		unsigned k = kinds > 64 ? i : 0;

		while (d->col[k].ops != d->col[i].ops)
			k++;
		d->col[i].alike = k;
	}
	for (size_t i = 0; i < s->n_fields; i++) {
		struct column *c = &d->col[i];

		if (!c->p)
			continue;
		if (s->f[i].coding == CODING_IMPLIED)
			return fail(-EBADMSG, "column \"%s\" must not be stored", s->f[i].key);
		if (!c->n || c->size % c->n || c->size / c->n > 8)
			return fail(-EBADMSG, "column \"%s\" has %u bytes for %u values",
				s->f[i].key, c->size, c->n);
		c->width = c->size / c->n;
	}
	return 0;
}

static uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

/* m values of the planes from the column's position on, into v[]. */
TRACE_VECTORIZE static void gather(uint64_t *restrict v, const struct column *c, uint32_t m)
{
	memset(v, 0, m * sizeof(*v));
	for (unsigned k = 0; k < c->width; k++) {
		const uint8_t *restrict p = c->p + (size_t)k * c->n + c->pos;

		for (uint32_t i = 0; i < m; i++)
			v[i] |= (uint64_t)p[i] << 8 * k;
	}
}

static void undo(struct decoder *d, const struct trace_schema_field *f, struct column *c,
	const struct event *ev, const uint16_t *row, uint32_t m)
{
	uint64_t *v = d->v;

	if (f->coding == CODING_DELTA) {
		for (uint32_t i = 0; i < m; i++)
			c->prev = v[i] = c->prev + unzigzag(v[i]);
	} else if (f->coding == CODING_FOLLOW) {
		for (uint32_t i = 0; i < m; i++) {
			const struct event *e = &ev[row[i]];
			uint64_t *end = &d->c->follow[e->oid % TRACE_FOLLOW_SLOTS];

			v[i] = *end + unzigzag(v[i]);
			*end = v[i] + e->size;
		}
	} else if (f->coding == CODING_PLAIN && f->type == FIELD_I64) {
		for (uint32_t i = 0; i < m; i++)
			v[i] = unzigzag(v[i]);
	}
}

#define STORE(T, expr)                                                                             \
	for (uint32_t i = 0; i < m; i++) {                                                         \
		uint64_t x = d->v[i];                                                              \
		any |= x;                                                                          \
		*(T *)(base + sizeof(struct event) * row[i]) = (expr);                             \
	}

/* v[] into its place in the events; all values must fit the type. */
static int scatter(struct decoder *d, const struct trace_schema_field *f, struct event *ev,
	const uint16_t *row, uint32_t m)
{
	char *base = (char *)ev + field_info[f->field].offset;
	const struct trace_chunk *c = d->c;
	uint64_t any = 0, most = UINT64_MAX;

	switch ((enum field_type)f->type) {
	case FIELD_U8:
		STORE(uint8_t, x);
		most = UINT8_MAX;
		break;
	case FIELD_U16:
		STORE(uint16_t, x);
		most = UINT16_MAX;
		break;
	case FIELD_U32:
		STORE(uint32_t, x);
		most = UINT32_MAX;
		break;
	case FIELD_U64:
	case FIELD_I64:
		STORE(uint64_t, x);
		break;
	case FIELD_U8X2:
		for (uint32_t i = 0; i < m; i++) {
			uint8_t *to = (uint8_t *)base + sizeof(struct event) * row[i];

			any |= d->v[i];
			to[0] = d->v[i];
			to[1] = d->v[i] >> 8;
		}
		most = UINT16_MAX;
		break;
	case FIELD_BYTES:
		for (uint32_t i = 0; i < m; i++)
			if (d->v[i] > c->n_strings)
				return fail(-EBADMSG, "column \"%s\" has string %llu of %u", f->key,
					(unsigned long long)d->v[i], c->n_strings);
		STORE(struct bytes, c->strings[x]);
		break;
	}
	if (any > most)
		return fail(-EBADMSG, "column \"%s\" has a value that is too large", f->key);
	return 0;
}

/* Many columns belong to the same rows: they are looked up once a block. */
static uint32_t select_rows(struct decoder *d, unsigned i, uint32_t rows)
{
	uint32_t m = 0;

	if (d->known >> i & 1)
		return d->n_row[i];
	for (uint32_t k = 0; k < rows; k++) {
		d->row[i][m] = k;
		m += d->mask[k] >> i & 1;
	}
	d->known |= UINT64_C(1) << i;
	d->n_row[i] = m;
	return m;
}

static int decode_column(struct decoder *d, size_t i, struct event *ev, uint32_t rows)
{
	const struct trace_schema_field *f = &d->s->f[i];
	struct column *c = &d->col[i];
	uint32_t m;

	/* a column that is left out is zeros, which the events are already, unless coded against
	 * something else */
	if (f->field < 0 || !c->n || f->coding == CODING_IMPLIED || f->field == FIELD_OP ||
		(!c->p && f->coding != CODING_FOLLOW && f->field != FIELD_START_NS))
		return 0;
	m = select_rows(d, c->alike, rows);
	gather(d->v, c, m);
	c->pos += m;
	undo(d, f, c, ev, d->row[c->alike], m);
	return scatter(d, f, ev, d->row[c->alike], m);
}

/* Fields that an operation has in the file but not here. */
static void drop_foreign(struct event *ev, const struct trace_schema *s, uint64_t mask)
{
	static const uint8_t bytes[] = {[FIELD_U8] = 1,
		[FIELD_U16] = 2,
		[FIELD_U32] = 4,
		[FIELD_U64] = 8,
		[FIELD_I64] = 8,
		[FIELD_BYTES] = sizeof(struct bytes),
		[FIELD_U8X2] = 2};

	for (size_t i = 0; i < s->n_fields; i++) {
		int f = s->f[i].field;

		if (mask >> i & 1 && f >= 0 && !(op_info[ev->op].fields & FIELD_BIT(f)))
			memset((char *)ev + field_info[f].offset, 0, bytes[field_info[f].type]);
	}
}

static int decode_block(struct decoder *d, uint32_t first, uint32_t rows)
{
	struct event *ev = d->c->ev + first;
	uint16_t local[BLOCK];
	int r = 0;

	for (uint32_t k = 0; k < rows; k++) {
		local[k] = d->s->local[ev[k].op];
		d->mask[k] = d->s->mask[ev[k].op];
	}
	memset(ev, 0, rows * sizeof(*ev));
	d->known = 0;
	for (uint32_t k = 0; k < rows; k++) {
		ev[k].seq = d->c->first_seq + first + k;
		ev[k].op = local[k];
	}
	for (int follow = 0; follow < 2; follow++) /* last, for it needs oid and size */
		for (size_t i = 0; i < d->s->n_fields && !r; i++)
			if ((d->s->f[i].coding == CODING_FOLLOW) == follow)
				r = decode_column(d, i, ev, rows);
	for (uint32_t k = 0; d->s->foreign && k < rows; k++)
		drop_foreign(&ev[k], d->s, d->mask[k]);
	return r;
}

int trace_chunk_decode(
	struct trace_chunk *c, const struct trace_schema *s, const uint8_t *p, size_t n)
{
	struct decoder d;
	uint32_t count[TRACE_MAX_OPS] = {0};
	int r;

	memset(&d, 0, offsetof(struct decoder, mask));
	d.s = s;
	d.c = c;
	if (!c->follow)
		c->follow = malloc(TRACE_FOLLOW_SLOTS * sizeof(*c->follow));
	if (!c->follow)
		return fail(-ENOMEM, "no memory for a chunk");
	memset(c->follow, 0, TRACE_FOLLOW_SLOTS * sizeof(*c->follow));
	c->n = 0;
	r = parse_head(&d, p, n);
	if (!r)
		r = parse_strings(&d);
	if (!r)
		r = parse_cols(&d);
	if (!r)
		r = decode_ops(&d, count);
	if (!r)
		r = measure(&d, count);
	for (size_t i = 0; i < s->n_fields; i++)
		if (s->f[i].field == FIELD_START_NS)
			d.col[i].prev = d.t0;
	for (uint32_t at = 0; at < c->n && !r; at += BLOCK)
		r = decode_block(&d, at, MIN(BLOCK, c->n - at));
	if (r)
		c->n = 0;
	return r;
}
