/* SPDX-License-Identifier: MIT */
/*
 * JSON as a stream: the caller says what comes, commas, line breaks and escapes are put here.
 * Nothing is buffered but what stdio does; errors stay in the stream until the caller asks.
 * Byte strings pass as UTF-8 where they are UTF-8; any other byte becomes a lone low surrogate
 * (PEP 383), which Python's and most other parsers take back to the byte.
 */
#include "iotape/json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 31

void json_init(struct json *j, FILE *out, int indent)
{
	*j = (struct json){.out = out, .indent = indent};
}

/* Length of the UTF-8 sequence at p (RFC 3629: no overlong forms, no surrogates), 0 if none. */
static uint32_t utf8_length(const unsigned char *p, uint32_t n)
{
	uint32_t len = p[0] < 0x80   ? 1
		       : p[0] < 0xc2 ? 0
		       : p[0] < 0xe0 ? 2
		       : p[0] < 0xf0 ? 3
		       : p[0] < 0xf5 ? 4
				     : 0;

	if (len > n)
		return 0;
	for (uint32_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if (len == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)))
		return 0;
	if (len == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
		return 0;
	return len;
}

/* How a byte that may not stand for itself is written. */
static void put_escape(FILE *out, unsigned char c, bool is_utf8)
{
	if (!is_utf8)
		fprintf(out, "\\udc%02x", c);
	else if (c == '"' || c == '\\')
		fprintf(out, "\\%c", c);
	else if (c == '\n' || c == '\t')
		fputs(c == '\n' ? "\\n" : "\\t", out);
	else
		fprintf(out, "\\u%04x", c);
}

static void put_string(FILE *out, struct bytes b)
{
	const unsigned char *p = (const unsigned char *)b.p;
	uint32_t plain = 0; /* begin of what is not written yet */

	putc_unlocked('"', out);
	for (uint32_t i = 0; i < b.n;) {
		uint32_t len = utf8_length(p + i, b.n - i);

		if (len && p[i] >= 0x20 && p[i] != 0x7f && p[i] != '"' && p[i] != '\\') {
			i += len;
			continue;
		}
		fwrite_unlocked(p + plain, 1, i - plain, out);
		put_escape(out, p[i], len);
		plain = ++i;
	}
	if (plain < b.n)
		fwrite_unlocked(p + plain, 1, b.n - plain, out);
	putc_unlocked('"', out);
}

static void put_number(FILE *out, uint64_t v)
{
	char s[20];
	size_t n = sizeof(s);

	do
		s[--n] = (char)('0' + v % 10);
	while (v /= 10);
	fwrite_unlocked(s + n, 1, sizeof(s) - n, out);
}

static void line_break(struct json *j)
{
	if (j->indent)
		fprintf(j->out, "\n%*s", j->indent * j->depth, "");
}

/* Everything that stands before a value. */
static void begin_value(struct json *j, const char *key)
{
	if (j->depth) {
		if (j->has_item & UINT32_C(1) << j->depth)
			fputs_unlocked(j->indent ? "," : ", ", j->out);
		j->has_item |= UINT32_C(1) << j->depth;
		line_break(j);
	}
	if (key) {
		put_string(j->out, BYTES_STR(key));
		fputs_unlocked(": ", j->out);
	}
}

static void begin_level(struct json *j, const char *key, char bracket)
{
	begin_value(j, key);
	putc_unlocked(bracket, j->out);
	assert(j->depth < DEPTH_MAX);
	j->depth++;
	j->has_item &= ~(UINT32_C(1) << j->depth);
}

void json_object(struct json *j, const char *key)
{
	begin_level(j, key, '{');
}

void json_array(struct json *j, const char *key)
{
	begin_level(j, key, '[');
}

void json_end(struct json *j, char bracket)
{
	bool had = j->has_item & UINT32_C(1) << j->depth;

	assert(j->depth > 0);
	j->depth--;
	if (had)
		line_break(j);
	putc_unlocked(bracket, j->out);
	if (!j->depth)
		putc_unlocked('\n', j->out);
}

void json_str(struct json *j, const char *key, const char *s)
{
	begin_value(j, key);
	if (s)
		put_string(j->out, BYTES_STR(s));
	else
		fputs("null", j->out);
}

void json_bytes(struct json *j, const char *key, struct bytes b)
{
	begin_value(j, key);
	put_string(j->out, b);
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	put_number(j->out, v);
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	begin_value(j, key);
	if (v < 0)
		putc_unlocked('-', j->out);
	put_number(j->out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void json_f64(struct json *j, const char *key, double v)
{
	char s[40];

	begin_value(j, key);
	if (!isfinite(v)) {
		fputs("null", j->out);
		return;
	}
	snprintf(s, sizeof(s), "%.15g", v);
	if (strtod(s, NULL) != v)
		snprintf(s, sizeof(s), "%.17g", v);
	fputs(s, j->out);
}

void json_bool(struct json *j, const char *key, bool v)
{
	begin_value(j, key);
	fputs(v ? "true" : "false", j->out);
}
