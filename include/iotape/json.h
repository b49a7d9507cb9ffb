/* SPDX-License-Identifier: MIT */
/*
 * Streaming JSON writer. Commas and nesting are kept here; strings are escaped, bytes that are not
 * UTF-8 become the code point U+DC80+n (Python's surrogateescape), numbers are plain. Errors of the
 * stream show in ferror(out).
 */
#ifndef IOTAPE_JSON_H
#define IOTAPE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "iotape/util.h"

struct json {
	FILE *out;
	int depth;         /* at most 31 */
	uint32_t has_item; /* bit d: level d has an item already */
	int indent;        /* 0: all on one line */
};

void json_init(struct json *j, FILE *out, int indent);
/* key is NULL inside an array and at the top. */
void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j, char bracket);                   /* '}' or ']' */
void json_str(struct json *j, const char *key, const char *s); /* NULL becomes null */
void json_bytes(struct json *j, const char *key, struct bytes b);
void json_u64(struct json *j, const char *key, uint64_t v);
void json_i64(struct json *j, const char *key, int64_t v);
void json_f64(struct json *j, const char *key, double v); /* not finite becomes null */
void json_bool(struct json *j, const char *key, bool v);

#endif
