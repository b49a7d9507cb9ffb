/* SPDX-License-Identifier: MIT */
/*
 * JSON as a stream: the caller says what comes, commas, line breaks and escapes are put here.
 * Nothing is buffered but what stdio does; errors stay in the stream until the caller asks.
 * Byte strings pass as UTF-8 where they are UTF-8; any other byte becomes a lone low surrogate
 * (PEP 383), which Python's and most other parsers take back to the byte.
 */
#include "iotape/json.h"

#include <assert.h>
#include <inttypes.h>
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

static void put_string(FILE *out, struct bytes b)
{
	const unsigned char *p = (const unsigned char *)b.p;

	fputc('"', out);
	for (uint32_t i = 0; i < b.n;) {
		uint32_t len = utf8_length(p + i, b.n - i);

		if (!len) {
			fprintf(out, "\\udc%02x", p[i]);
			len = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			fprintf(out, "\\%c", p[i]);
		} else if (p[i] == '\n' || p[i] == '\t') {
			fputs(p[i] == '\n' ? "\\n" : "\\t", out);
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			fprintf(out, "\\u%04x", p[i]);
		} else {
			fwrite(p + i, 1, len, out);
		}
		i += len;
	}
	fputc('"', out);
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
			fputs(j->indent ? "," : ", ", j->out);
		j->has_item |= UINT32_C(1) << j->depth;
		line_break(j);
	}
	if (key) {
		put_string(j->out, BYTES_STR(key));
		fputs(": ", j->out);
	}
}

static void begin_level(struct json *j, const char *key, char bracket)
{
	begin_value(j, key);
	fputc(bracket, j->out);
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
	fputc(bracket, j->out);
	if (!j->depth)
		fputc('\n', j->out);
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
	fprintf(j->out, "%" PRIu64, v);
}

void json_i64(struct json *j, const char *key, int64_t v)
{
	begin_value(j, key);
	fprintf(j->out, "%" PRId64, v);
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
