/* SPDX-License-Identifier: MIT */
/*
 * The maps of a trace's first and last frame, driven by one table of keys each. Keys that are not
 * known are skipped; what is not known is left out. The schema, which is part of the header, is
 * schema.c's.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

enum kind { TEXT, U32, U64, I64, INT };
struct key {
	const char *key;
	enum kind kind;
	size_t offset;
};

static const struct key header_keys[] = {
	{"recorder", TEXT, offsetof(struct trace_header, recorder)},
	{"source", TEXT, offsetof(struct trace_header, source_kind)},
	{"view", TEXT, offsetof(struct trace_header, view)},
	{"kernel", TEXT, offsetof(struct trace_header, host_kernel)},
	{"libfuse", TEXT, offsetof(struct trace_header, libfuse)},
	{"mount_options", TEXT, offsetof(struct trace_header, mount_options)},
	{"fs_type", TEXT, offsetof(struct trace_header, fs_type)},
	{"command", TEXT, offsetof(struct trace_header, command)},
	{"content", TEXT, offsetof(struct trace_header, content)},
	{"fs_free_bytes", U64, offsetof(struct trace_header, fs_free_bytes)},
	{"fs_total_bytes", U64, offsetof(struct trace_header, fs_total_bytes)},
	{"page_size", U32, offsetof(struct trace_header, page_size)},
	{"cpus", U32, offsetof(struct trace_header, cpus)},
	{"start_mono_ns", I64, offsetof(struct trace_header, start_mono_ns)},
	{"start_wall_ns", I64, offsetof(struct trace_header, start_wall_ns)},
	{"level", INT, offsetof(struct trace_header, level)},
};
static const struct key trailer_keys[] = {
	{"events", U64, offsetof(struct trace_trailer, events)},
	{"drops", U64, offsetof(struct trace_trailer, drops)},
	{"end_mono_ns", I64, offsetof(struct trace_trailer, end_mono_ns)},
	{"stalls", U64, offsetof(struct trace_trailer, stalls)},
	{"stall_ns", U64, offsetof(struct trace_trailer, stall_ns)},
	{"reason", TEXT, offsetof(struct trace_trailer, reason)},
};

static void pack_key(msgpack_packer *pk, const struct key *k, const void *base)
{
	const char *p = (const char *)base + k->offset;

	trace_pack_key(pk, k->key);
	switch (k->kind) {
	case TEXT:
		trace_pack_text(pk, *(char *const *)p);
		break;
	case U32:
		msgpack_pack_uint32(pk, *(const uint32_t *)p);
		break;
	case U64:
		msgpack_pack_uint64(pk, *(const uint64_t *)p);
		break;
	case I64:
		msgpack_pack_int64(pk, *(const int64_t *)p);
		break;
	case INT:
		msgpack_pack_int(pk, *(const int *)p);
		break;
	}
}

static int unpack_key(struct trace_mp *mp, const struct key *k, void *base)
{
	char *p = (char *)base + k->offset;
	uint64_t u = 0;
	int64_t i = 0;
	int r;

	if (k->kind == TEXT)
		return trace_mp_text(mp, (char **)p);
	if (k->kind == U32 || k->kind == U64)
		r = trace_mp_u64(mp, &u);
	else
		r = trace_mp_i64(mp, &i);
	if (r)
		return fail_in(r, "%s", k->key);
	if ((k->kind == U32 && u > UINT32_MAX) ||
		(k->kind == INT && (i < INT32_MIN || i > INT32_MAX)))
		return fail(-EBADMSG, "%s is out of range", k->key);
	if (k->kind == U32)
		*(uint32_t *)p = u;
	else if (k->kind == U64)
		*(uint64_t *)p = u;
	else if (k->kind == I64)
		*(int64_t *)p = i;
	else
		*(int *)p = i;
	return 0;
}

static const struct key *find(const struct key *keys, size_t n, struct bytes key)
{
	for (size_t i = 0; i < n; i++)
		if (trace_mp_is(key, keys[i].key))
			return &keys[i];
	return NULL;
}

/* Text number i of the table; NULL also when it is none. */
static const char *header_text(const struct trace_header *h, size_t i)
{
	return header_keys[i].kind == TEXT
		       ? *(char *const *)((const char *)h + header_keys[i].offset)
		       : NULL;
}

int trace_header_copy(struct trace_header *out, const struct trace_header *h)
{
	struct trace_header c = *h;

	for (size_t i = 0; i < ARRAY_SIZE(header_keys); i++)
		if (header_keys[i].kind == TEXT)
			*(char **)((char *)&c + header_keys[i].offset) = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(header_keys); i++) {
		const char *s = header_text(h, i);
		char **to = (char **)((char *)&c + header_keys[i].offset);

		if (!s)
			continue;
		*to = strdup(s);
		if (!*to) {
			trace_header_fini(&c);
			return fail(-ENOMEM, "no memory for a header");
		}
	}
	*out = c;
	return 0;
}

void trace_header_fini(struct trace_header *h)
{
	for (size_t i = 0; i < ARRAY_SIZE(header_keys); i++)
		if (header_keys[i].kind == TEXT)
			free(*(char **)((char *)h + header_keys[i].offset));
	*h = (struct trace_header){0};
}

int trace_header_pack(struct trace_buf *b, const struct trace_header *h)
{
	msgpack_packer pk;

	for (size_t i = 0; i < ARRAY_SIZE(header_keys); i++) {
		const char *s = header_text(h, i);

		if (s && strlen(s) > TRACE_MAX_STRING)
			return fail(-EINVAL, "%s is too long for a header", header_keys[i].key);
	}
	trace_pack_init(&pk, b);
	msgpack_pack_map(&pk, 3 + ARRAY_SIZE(header_keys));
	trace_pack_key(&pk, "format");
	trace_pack_key(&pk, "iotape");
	trace_pack_key(&pk, "version");
	msgpack_pack_int(&pk, TRACE_VERSION);
	trace_pack_key(&pk, "schema");
	trace_schema_pack(&pk);
	for (size_t i = 0; i < ARRAY_SIZE(header_keys); i++)
		pack_key(&pk, &header_keys[i], h);
	return 0;
}

/* Format and version stand first, so that a later version is known before anything else of it has
 * to be understood. */
static int unpack_magic(struct trace_mp *mp)
{
	struct bytes b;
	uint64_t version;

	if (trace_mp_bytes(mp, &b) || !trace_mp_is(b, "format") || trace_mp_bytes(mp, &b) ||
		!trace_mp_is(b, "iotape") || trace_mp_bytes(mp, &b) || !trace_mp_is(b, "version") ||
		trace_mp_u64(mp, &version))
		return fail(-EBADMSG, "not an iotape trace");
	if (version != TRACE_VERSION)
		return fail(-EPROTONOSUPPORT,
			"format version %llu is not known here: a later iotape is needed",
			(unsigned long long)version);
	return 0;
}

int trace_header_unpack(const uint8_t *p, size_t n, struct trace_header *h, struct trace_schema *s)
{
	struct trace_header got = {0};
	struct trace_mp mp = {p, p + n};
	bool has_schema = false;
	uint32_t keys;
	int r;

	if (trace_mp_map(&mp, &keys) || keys < 2)
		return fail(-EBADMSG, "not an iotape trace");
	r = unpack_magic(&mp);
	if (!r)
		r = trace_mp_check(p, n);
	for (keys -= 2; keys && !r; keys--) {
		const struct key *k;
		struct bytes key;

		r = trace_mp_bytes(&mp, &key);
		if (r)
			break;
		k = find(header_keys, ARRAY_SIZE(header_keys), key);
		if (k) {
			r = unpack_key(&mp, k, &got);
		} else if (trace_mp_is(key, "schema")) {
			r = trace_schema_unpack(&mp, s);
			has_schema = true;
		} else {
			r = trace_mp_skip(&mp);
		}
	}
	if (!r && !has_schema)
		r = fail(-EBADMSG, "the header has no schema");
	if (r)
		trace_header_fini(&got);
	else
		*h = got;
	return r;
}

int trace_trailer_pack(struct trace_buf *b, const struct trace_trailer *t)
{
	msgpack_packer pk;
	unsigned ops = 0;

	trace_pack_init(&pk, b);
	msgpack_pack_map(&pk, 1 + ARRAY_SIZE(trailer_keys));
	for (size_t i = 0; i < ARRAY_SIZE(trailer_keys); i++)
		pack_key(&pk, &trailer_keys[i], t);
	for (int op = 1; op < OP_COUNT; op++)
		ops += t->op_count[op] != 0;
	trace_pack_key(&pk, "ops");
	msgpack_pack_map(&pk, ops);
	for (int op = 1; op < OP_COUNT; op++)
		if (t->op_count[op]) {
			trace_pack_key(&pk, op_info[op].name);
			msgpack_pack_uint64(&pk, t->op_count[op]);
		}
	return 0;
}

static int unpack_ops(struct trace_mp *mp, struct trace_trailer *t)
{
	uint32_t n;
	int r = trace_mp_map(mp, &n);

	for (; n && !r; n--) {
		struct bytes name;
		uint64_t count;

		r = trace_mp_bytes(mp, &name);
		if (!r)
			r = trace_mp_u64(mp, &count);
		if (!r) /* those of unknown operations gather under OP_NONE */
			t->op_count[op_by_name(name.p, name.n)] += count;
	}
	return r;
}

int trace_trailer_unpack(const uint8_t *p, size_t n, struct trace_trailer *t)
{
	struct trace_trailer got = {0};
	struct trace_mp mp = {p, p + n};
	uint32_t keys;
	int r = trace_mp_map(&mp, &keys);

	for (; keys && !r; keys--) {
		const struct key *k;
		struct bytes key;

		r = trace_mp_bytes(&mp, &key);
		if (r)
			break;
		k = find(trailer_keys, ARRAY_SIZE(trailer_keys), key);
		if (k)
			r = unpack_key(&mp, k, &got);
		else if (trace_mp_is(key, "ops"))
			r = unpack_ops(&mp, &got);
		else
			r = trace_mp_skip(&mp);
	}
	if (r)
		free(got.reason);
	else
		*t = got;
	return r;
}

int trace_payload_kind(const uint8_t *p, size_t n)
{
	struct trace_mp mp = {p, p + n};
	uint32_t keys;
	int r = trace_mp_check(p, n);

	if (!r)
		r = trace_mp_map(&mp, &keys);
	for (; !r && keys; keys--) {
		struct bytes key;

		r = trace_mp_bytes(&mp, &key);
		if (r)
			break;
		if (trace_mp_is(key, "format"))
			return TRACE_KIND_HEADER;
		if (trace_mp_is(key, "cols"))
			return TRACE_KIND_CHUNK;
		if (trace_mp_is(key, "events"))
			return TRACE_KIND_TRAILER;
		r = trace_mp_skip(&mp);
	}
	return r ? r : TRACE_KIND_OTHER;
}
