/* SPDX-License-Identifier: MIT */
/*
 * msgpack out and in. Out: the library's packer over a growing buffer whose failure is noted once
 * and looked at at the end. In: a cursor of our own, because input is hostile: the library
 * allocates what a length claims before it has seen the bytes, the cursor never allocates and never
 * looks past the payload.
 */
#include "trace_priv.h"

#include <errno.h>
#include <string.h>

void trace_buf_fini(struct trace_buf *b)
{
	free(b->p);
	*b = (struct trace_buf){0};
}

uint8_t *trace_buf_room(struct trace_buf *b, size_t n)
{
	if (b->cap - b->n < n) {
		size_t cap = MAX(b->cap * 2, b->n + n + 4096);
		uint8_t *p = realloc(b->p, cap);

		if (!p) {
			b->oom = true;
			return NULL;
		}
		b->p = p;
		b->cap = cap;
	}
	return b->p + b->n;
}

void trace_buf_put(struct trace_buf *b, const void *p, size_t n)
{
	uint8_t *to = n ? trace_buf_room(b, n) : NULL;

	if (to) {
		memcpy(to, p, n);
		b->n += n;
	}
}

static int pack_write(void *data, const char *p, size_t n)
{
	trace_buf_put(data, p, n);
	return 0;
}

void trace_pack_init(msgpack_packer *pk, struct trace_buf *b)
{
	msgpack_packer_init(pk, b, pack_write);
}

void trace_pack_key(msgpack_packer *pk, const char *key)
{
	size_t n = strlen(key);

	msgpack_pack_str(pk, n);
	msgpack_pack_str_body(pk, key, n);
}

void trace_pack_bin(msgpack_packer *pk, const void *p, size_t n)
{
	msgpack_pack_bin(pk, n);
	msgpack_pack_bin_body(pk, p, n);
}

static bool is_utf8(const uint8_t *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t c = s[i];
		size_t more = c < 0x80       ? 0
			      : c >> 5 == 6  ? 1
			      : c >> 4 == 14 ? 2
			      : c >> 3 == 30 ? 3
					     : 4;
		static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};

		if (more == 4 || n - i <= more)
			return false;
		c &= more ? 0x3fu >> more : 0x7fu;
		for (size_t k = 1; k <= more; k++) {
			if (s[i + k] >> 6 != 2)
				return false;
			c = c << 6 | (s[i + k] & 0x3fu);
		}
		if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return false;
		i += more + 1;
	}
	return true;
}

void trace_pack_text(msgpack_packer *pk, const char *s)
{
	if (!s)
		msgpack_pack_nil(pk);
	else if (is_utf8((const uint8_t *)s, strlen(s)))
		trace_pack_key(pk, s);
	else
		trace_pack_bin(pk, s, strlen(s));
}

/* One token: its type, its number (value, length or count); the cursor stands behind its head. */
enum token { T_NIL, T_BOOL, T_UINT, T_INT, T_FLOAT, T_STR, T_BIN, T_ARRAY, T_MAP, T_EXT };

static int big_endian(struct trace_mp *mp, unsigned n, uint64_t *v)
{
	if ((size_t)(mp->end - mp->p) < n)
		return fail(-EBADMSG, "msgpack ends inside an object");
	*v = 0;
	while (n--)
		*v = *v << 8 | *mp->p++;
	return 0;
}

static int token(struct trace_mp *mp, enum token *type, uint64_t *v)
{
	/* of 0xc4..0xdf: type and bytes of the number behind it */
	static const struct {
		uint8_t type, bytes;
	} wide[] = {{T_BIN, 1}, {T_BIN, 2}, {T_BIN, 4}, {T_EXT, 1}, {T_EXT, 2}, {T_EXT, 4},
		{T_FLOAT, 4}, {T_FLOAT, 8}, {T_UINT, 1}, {T_UINT, 2}, {T_UINT, 4}, {T_UINT, 8},
		{T_INT, 1}, {T_INT, 2}, {T_INT, 4}, {T_INT, 8}, {T_EXT, 0}, {T_EXT, 0}, {T_EXT, 0},
		{T_EXT, 0}, {T_EXT, 0}, {T_STR, 1}, {T_STR, 2}, {T_STR, 4}, {T_ARRAY, 2},
		{T_ARRAY, 4}, {T_MAP, 2}, {T_MAP, 4}};
	uint8_t c;

	*type = T_NIL; /* defined on failure, too */
	*v = 0;
	if (mp->p == mp->end)
		return fail(-EBADMSG, "msgpack ends early");
	c = *mp->p++;
	*v = c;
	if (c < 0x80) {
		*type = T_UINT;
	} else if (c >= 0xe0) {
		*type = T_INT;
		*v = (uint64_t)(int64_t)(int8_t)c;
	} else if (c < 0xc0) {
		*type = c < 0x90 ? T_MAP : c < 0xa0 ? T_ARRAY : T_STR;
		*v = c < 0xa0 ? c & 0xf : c & 0x1f;
	} else if (c == 0xc1) {
		return fail(-EBADMSG, "msgpack holds the byte 0xc1");
	} else if (c < 0xc4) {
		*type = c == 0xc0 ? T_NIL : T_BOOL;
		*v = c & 1;
	} else {
		unsigned bytes = wide[c - 0xc4].bytes;
		int r = big_endian(mp, bytes, v);

		if (r)
			return r;
		*type = wide[c - 0xc4].type;
		if (*type == T_INT && bytes < 8) /* sign */
			*v = (uint64_t)((int64_t)(*v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
		else if (*type == T_EXT) /* the type byte counts as body */
			*v = (bytes ? *v : UINT64_C(1) << (c - 0xd4)) + 1;
	}
	if ((*type == T_STR || *type == T_BIN || *type == T_EXT || *type == T_ARRAY) &&
		*v > (size_t)(mp->end - mp->p))
		return fail(-EBADMSG, "msgpack length %llu is beyond its frame",
			(unsigned long long)*v);
	if (*type == T_MAP && *v > (size_t)(mp->end - mp->p) / 2)
		return fail(-EBADMSG, "msgpack map of %llu is beyond its frame",
			(unsigned long long)*v);
	return 0;
}

static int skip(struct trace_mp *mp, int depth)
{
	enum token type;
	uint64_t v;
	int r = token(mp, &type, &v);

	if (r)
		return r;
	if (type == T_STR || type == T_BIN || type == T_EXT) {
		mp->p += v;
	} else if (type == T_ARRAY || type == T_MAP) {
		if (depth == TRACE_MAX_NESTING)
			return fail(
				-EBADMSG, "msgpack is nested more than %d deep", TRACE_MAX_NESTING);
		for (v *= type == T_MAP ? 2 : 1; v && !r; v--)
			r = skip(mp, depth + 1);
	}
	return r;
}

int trace_mp_skip(struct trace_mp *mp)
{
	return skip(mp, 0);
}

int trace_mp_check(const uint8_t *p, size_t n)
{
	struct trace_mp mp = {p, p + n};
	int r = skip(&mp, 0);

	if (!r && mp.p != mp.end)
		return fail(
			-EBADMSG, "%zu bytes behind the msgpack object", (size_t)(mp.end - mp.p));
	return r;
}

static int expect(
	struct trace_mp *mp, enum token want, enum token or, const char *what, uint64_t *v)
{
	enum token type;
	int r = token(mp, &type, v);

	if (!r && type != want && type != or)
		return fail(-EBADMSG, "msgpack: %s expected", what);
	return r;
}

int trace_mp_map(struct trace_mp *mp, uint32_t *n)
{
	uint64_t v;
	int r = expect(mp, T_MAP, T_MAP, "map", &v);

	*n = r ? 0 : v;
	return r;
}

int trace_mp_array(struct trace_mp *mp, uint32_t *n)
{
	uint64_t v;
	int r = expect(mp, T_ARRAY, T_ARRAY, "array", &v);

	*n = r ? 0 : v;
	return r;
}

int trace_mp_bytes(struct trace_mp *mp, struct bytes *b)
{
	uint64_t v;
	int r = expect(mp, T_STR, T_BIN, "string", &v);

	if (r)
		return r;
	*b = (struct bytes){(const char *)mp->p, v};
	mp->p += v;
	return 0;
}

int trace_mp_u64(struct trace_mp *mp, uint64_t *v)
{
	enum token type;
	int r = token(mp, &type, v);

	if (!r && (type != T_UINT && (type != T_INT || (int64_t)*v < 0)))
		return fail(-EBADMSG, "msgpack: number from 0 expected");
	return r;
}

int trace_mp_i64(struct trace_mp *mp, int64_t *v)
{
	enum token type;
	uint64_t u;
	int r = token(mp, &type, &u);

	if (!r && type != T_INT && (type != T_UINT || u > INT64_MAX))
		return fail(-EBADMSG, "msgpack: signed number expected");
	*v = r ? 0 : (int64_t)u;
	return r;
}

int trace_mp_text(struct trace_mp *mp, char **s)
{
	struct bytes b;
	int r;

	if (mp->p < mp->end && *mp->p == 0xc0) {
		mp->p++;
		free(*s);
		*s = NULL;
		return 0;
	}
	r = trace_mp_bytes(mp, &b);
	if (r)
		return r;
	if (b.n > TRACE_MAX_STRING)
		return fail(-EBADMSG, "a text of %u bytes is too long", b.n);
	free(*s);
	*s = strndup(b.n ? b.p : "", b.n);
	return *s ? 0 : fail(-ENOMEM, "no memory for a text of %u bytes", b.n);
}

bool trace_mp_is(struct bytes b, const char *s)
{
	return b.n == strlen(s) && !memcmp(b.p, s, b.n);
}
