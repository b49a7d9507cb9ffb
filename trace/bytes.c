/* SPDX-License-Identifier: MIT */
/*
 * Escapes of the text twin. Printable ASCII stands for itself, so that a name reads as it is; all
 * else is spelled out byte by byte, so that no locale, terminal or editor can change a trace. Names
 * are bytes here, never characters.
 */
#include "iotape/util.h"

#include <errno.h>
#include <string.h>

static const char hex_digits[] = "0123456789abcdef";

size_t bytes_escape(char *out, size_t cap, struct bytes b)
{
	size_t n = 0;

	for (uint32_t i = 0; i < b.n; i++) {
		unsigned char c = (unsigned char)b.p[i];
		char one[4];
		size_t len = 0;

		if (c == '"' || c == '\\' || c == '\n' || c == '\t') {
			one[len++] = '\\';
			one[len++] = c == '\n' ? 'n' : c == '\t' ? 't' : (char)c;
		} else if (c >= 0x20 && c < 0x7f) {
			one[len++] = (char)c;
		} else {
			one[len++] = '\\';
			one[len++] = 'x';
			one[len++] = hex_digits[c >> 4];
			one[len++] = hex_digits[c & 15];
		}
		if (n + len >= cap)
			break; /* an escape is written whole or not at all */
		memcpy(out + n, one, len);
		n += len;
	}
	if (cap)
		out[n] = '\0';
	return n;
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Reads what stands behind a backslash; returns how many characters it took, 0 when it is none. */
static size_t unescape_one(const char *s, size_t n, char *out)
{
	int hi, lo;

	if (!n)
		return 0;
	switch (s[0]) {
	case 'n':
		*out = '\n';
		return 1;
	case 't':
		*out = '\t';
		return 1;
	case '"':
	case '\\':
		*out = s[0];
		return 1;
	case 'x':
		if (n < 3)
			return 0;
		hi = hex_value(s[1]);
		lo = hex_value(s[2]);
		if (hi < 0 || lo < 0)
			return 0;
		*out = (char)(hi << 4 | lo);
		return 3;
	}
	return 0;
}

int bytes_unescape(char *s, size_t n)
{
	size_t to = 0;

	for (size_t from = 0; from < n;) {
		size_t took;

		if (s[from] != '\\') {
			s[to++] = s[from++];
			continue;
		}
		took = unescape_one(s + from + 1, n - from - 1, &s[to]);
		if (!took)
			return fail(-EINVAL,
				"\\ at byte %zu of a string begins no escape; they are \\xHH, \\n, "
				"\\t, \\\" and \\\\",
				from + 1);
		from += took + 1;
		to++;
	}
	return (int)to;
}
