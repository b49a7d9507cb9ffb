/* SPDX-License-Identifier: MIT */
/* What text twin, tables and filter share: fields by name and number, words of a line. */
#ifndef TEXT_PRIV_H
#define TEXT_PRIV_H

#include "iotape/trace.h"

/* field.c: the numbers of an event by field (not for FIELD_BYTES and FIELD_U8X2) */
uint64_t trace_field_get(const struct event *ev, enum field f);   /* FIELD_I64: the same bits */
bool trace_field_set(struct event *ev, enum field f, uint64_t v); /* false: does not fit */
struct bytes *trace_field_bytes(struct event *ev, enum field f);
enum field trace_field_by_name(const char *key, size_t n); /* FIELD_COUNT: no such field */
extern const char *const trace_content_name[EVENT_CONTENT_COUNT];

/* text_write.c: the keys of the header lines, in order */
enum trace_text_type { TEXT_STRING, TEXT_U64, TEXT_U32, TEXT_I64, TEXT_INT };
struct trace_text_key {
	const char *key;
	enum trace_text_type type;
	uint16_t offset; /* in struct trace_header, or struct trace_trailer */
};
extern const struct trace_text_key trace_text_header_key[], trace_text_trailer_key[];
void trace_text_u64(FILE *out, uint64_t v);
void trace_text_i64(FILE *out, int64_t v);
void trace_text_bytes(FILE *out, struct bytes b); /* escaped, without quotes */

/* text_parse.c: one line of text to an event, in place: strings point into the line */
struct trace_cursor {
	char *p, *end; /* *end is a byte that may be written */
};
int trace_text_parse(char *line, size_t n, struct event *ev);
/* "quoted" at the cursor, unescaped in place */
int trace_text_quoted(struct trace_cursor *c, struct bytes *b);
/* What stands up to the next space */
struct bytes trace_text_word(struct trace_cursor *c);
bool trace_text_number(struct bytes b, unsigned base, uint64_t *v);

#endif
