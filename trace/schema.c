/* SPDX-License-Identifier: MIT */
/*
 * The schema in a trace's header: its fields with type and coding, its operations with number and
 * fields. It is written from field_info[] and op_info[], and read by name, so that a later program
 * with other numbers, more fields or fewer reads the trace as it was meant. A field that is not
 * known here is skipped with its column, an operation that is not known with its rows; a coding
 * that is not known is a later format's, which cannot be read.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

static const char *const type_names[] = {[FIELD_U8] = "u8",
	[FIELD_U16] = "u16",
	[FIELD_U32] = "u32",
	[FIELD_U64] = "u64",
	[FIELD_I64] = "i64",
	[FIELD_BYTES] = "bytes",
	[FIELD_U8X2] = "u8x2"};
static const char *const coding_names[CODING_COUNT] = {
	"implied", "plain", "delta", "follow", "string"};

const uint8_t trace_field_coding[FIELD_COUNT] = {
	[FIELD_SEQ] = CODING_IMPLIED,
	[FIELD_LANE] = CODING_PLAIN,
	[FIELD_OP] = CODING_PLAIN,
	[FIELD_START_NS] = CODING_DELTA,
	[FIELD_DUR_NS] = CODING_PLAIN,
	[FIELD_QUEUE_NS] = CODING_PLAIN,
	[FIELD_IID] = CODING_DELTA,
	[FIELD_OID] = CODING_DELTA,
	[FIELD_PARENT] = CODING_DELTA,
	[FIELD_NAME] = CODING_STRING,
	[FIELD_PARENT2] = CODING_DELTA,
	[FIELD_NAME2] = CODING_STRING,
	[FIELD_TARGET] = CODING_STRING,
	[FIELD_IID2] = CODING_DELTA,
	[FIELD_OID2] = CODING_DELTA,
	[FIELD_OFFSET] = CODING_FOLLOW,
	[FIELD_OFFSET2] = CODING_DELTA,
	[FIELD_SIZE] = CODING_PLAIN,
	[FIELD_RESULT] = CODING_PLAIN,
	[FIELD_FLAGS] = CODING_PLAIN,
	[FIELD_MODE] = CODING_PLAIN,
	[FIELD_UID] = CODING_PLAIN,
	[FIELD_GID] = CODING_PLAIN,
	[FIELD_RDEV] = CODING_PLAIN,
	[FIELD_ARG] = CODING_PLAIN,
	[FIELD_ATIME_NS] = CODING_DELTA,
	[FIELD_MTIME_NS] = CODING_DELTA,
	[FIELD_FIRST_TOUCH] = CODING_PLAIN,
	[FIELD_CONTENT] = CODING_PLAIN,
	[FIELD_RATIO] = CODING_PLAIN,
};

static void pack_keys(msgpack_packer *pk, uint32_t fields)
{
	for (int f = 0; f < FIELD_COUNT; f++)
		if (fields & FIELD_BIT(f))
			trace_pack_key(pk, field_info[f].key);
}

void trace_schema_pack(msgpack_packer *pk)
{
	msgpack_pack_map(pk, 3);
	trace_pack_key(pk, "fields");
	msgpack_pack_map(pk, FIELD_COUNT);
	for (int f = 0; f < FIELD_COUNT; f++) {
		trace_pack_key(pk, field_info[f].key);
		msgpack_pack_array(pk, 2);
		trace_pack_key(pk, type_names[field_info[f].type]);
		trace_pack_key(pk, coding_names[trace_field_coding[f]]);
	}
	trace_pack_key(pk, "common");
	msgpack_pack_array(pk, __builtin_popcount(FIELDS_COMMON));
	pack_keys(pk, FIELDS_COMMON);
	trace_pack_key(pk, "ops");
	msgpack_pack_map(pk, OP_COUNT - 1);
	for (int op = 1; op < OP_COUNT; op++) {
		uint32_t own = op_info[op].fields & ~FIELDS_COMMON;

		trace_pack_key(pk, op_info[op].name);
		msgpack_pack_array(pk, 1 + __builtin_popcount(own));
		msgpack_pack_int(pk, op);
		pack_keys(pk, own);
	}
}

static int choice(struct trace_mp *mp, const char *const *names, size_t n, const char *what)
{
	struct bytes b;
	int r = trace_mp_bytes(mp, &b);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		if (trace_mp_is(b, names[i]))
			return i;
	return fail(-EPROTONOSUPPORT, "unknown %s \"%.*s\": a later iotape is needed", what,
		(int)MIN(b.n, 40), b.p);
}

/* Which coding a type can have. */
static bool fits(unsigned type, unsigned coding)
{
	switch (coding) {
	case CODING_PLAIN:
		return type != FIELD_BYTES;
	case CODING_STRING:
		return type == FIELD_BYTES;
	default:
		return type == FIELD_U64 || type == FIELD_I64;
	}
}

static int unpack_field(struct trace_mp *mp, struct trace_schema *s)
{
	struct trace_schema_field *f = &s->f[s->n_fields];
	struct bytes key;
	uint32_t two;
	int r = trace_mp_bytes(mp, &key), v;

	if (!r)
		r = trace_mp_array(mp, &two);
	if (r)
		return r;
	if (key.n >= sizeof(f->key) || !key.n || two != 2)
		return fail(-EBADMSG, "schema: a field is malformed");
	*f = (struct trace_schema_field){.field = -1};
	memcpy(f->key, key.p, key.n);
	v = choice(mp, type_names, ARRAY_SIZE(type_names), "type");
	if (v < 0)
		return v;
	f->type = v;
	v = choice(mp, coding_names, CODING_COUNT, "coding");
	if (v < 0)
		return v;
	f->coding = v;
	for (size_t i = 0; i < s->n_fields; i++)
		if (!strcmp(s->f[i].key, f->key))
			return fail(-EBADMSG, "schema: field \"%s\" twice", f->key);
	for (int i = 0; i < FIELD_COUNT; i++)
		if (!strcmp(field_info[i].key, f->key))
			f->field = i;
	if (!fits(f->type, f->coding) || (f->field >= 0 && field_info[f->field].type != f->type) ||
		(f->field == FIELD_SEQ) != (f->coding == CODING_IMPLIED) ||
		(f->field == FIELD_OP && f->coding != CODING_PLAIN))
		return fail(-EBADMSG, "schema: field \"%s\" has a type or coding that cannot be",
			f->key);
	if (f->field == FIELD_OP)
		s->op_field = s->n_fields;
	s->n_fields++;
	return 0;
}

static int unpack_keys(
	struct trace_mp *mp, uint32_t n, const struct trace_schema *s, uint64_t *mask)
{
	while (n--) {
		struct bytes key;
		size_t i = 0;
		int r = trace_mp_bytes(mp, &key);

		if (r)
			return r;
		while (i < s->n_fields && !trace_mp_is(key, s->f[i].key))
			i++;
		if (i == s->n_fields)
			return fail(
				-EBADMSG, "schema: an operation has a field that is not listed");
		*mask |= UINT64_C(1) << i;
	}
	return 0;
}

static int unpack_op(struct trace_mp *mp, struct trace_schema *s, uint64_t common)
{
	struct bytes name;
	uint64_t number, mask = common;
	uint32_t n;
	int r = trace_mp_bytes(mp, &name);

	if (!r)
		r = trace_mp_array(mp, &n);
	if (!r && !n)
		r = fail(-EBADMSG, "schema: an operation has no number");
	if (!r)
		r = trace_mp_u64(mp, &number);
	if (r)
		return r;
	if (number >= TRACE_MAX_OPS || s->mask[number])
		return fail(-EBADMSG,
			"schema: operation number %llu is out of range or taken twice",
			(unsigned long long)number);
	r = unpack_keys(mp, n - 1, s, &mask);
	if (r)
		return r;
	s->mask[number] = mask;
	s->local[number] = op_by_name(name.p, name.n);
	for (size_t i = 0; i < s->n_fields && s->local[number]; i++)
		if (mask >> i & 1 && s->f[i].field >= 0 &&
			!(op_info[s->local[number]].fields & FIELD_BIT(s->f[i].field)))
			s->foreign = true;
	return 0;
}

/* The three parts stand in any order, but ops need the other two. */
int trace_schema_unpack(struct trace_mp *mp, struct trace_schema *s)
{
	struct trace_mp fields = {0}, common = {0}, ops = {0}, *to;
	uint64_t mask = 0;
	uint32_t n;
	int r = trace_mp_map(mp, &n);

	*s = (struct trace_schema){.op_field = UINT16_MAX};
	for (; n && !r; n--) {
		struct bytes key;

		r = trace_mp_bytes(mp, &key);
		if (r)
			break;
		to = trace_mp_is(key, "fields")   ? &fields
		     : trace_mp_is(key, "common") ? &common
		     : trace_mp_is(key, "ops")    ? &ops
						  : NULL;
		if (to)
			*to = *mp;
		r = trace_mp_skip(mp);
	}
	if (!r && (!fields.p || !common.p || !ops.p))
		r = fail(-EBADMSG, "schema: fields, common or ops is missing");
	if (!r)
		r = trace_mp_map(&fields, &n);
	if (!r && n > TRACE_MAX_FIELDS)
		r = fail(-EBADMSG, "schema: more than %u fields", TRACE_MAX_FIELDS);
	for (; n && !r; n--)
		r = unpack_field(&fields, s);
	if (!r)
		r = trace_mp_array(&common, &n);
	if (!r)
		r = unpack_keys(&common, n, s, &mask);
	if (!r && (s->op_field == UINT16_MAX || !(mask >> s->op_field & 1)))
		r = fail(-EBADMSG, "schema: not every operation has \"op\"");
	if (!r)
		r = trace_mp_map(&ops, &n);
	for (; n && !r; n--)
		r = unpack_op(&ops, s, mask);
	return r;
}
