/* SPDX-License-Identifier: MIT */
/*
 * The text twin, inward: '#' lines become header, chunk bounds and trailer, all others events. A
 * text without a #trailer becomes a trace without a trailer, as the cut trace that it came from.
 * Lines are limited, so a text from anywhere costs bounded memory.
 */
#include "text_priv.h"

#include <errno.h>

#define LINE_MAX_BYTES (1u << 20) /* three strings of 64 KiB, all escaped, and then some */

struct import {
	FILE *in;
	const char *name;
	uint64_t line_no;
	char *line; /* LINE_MAX_BYTES */
	size_t n;
	int out_fd;
	struct trace_header header;
	struct trace_writer *w; /* NULL until the first line behind the header */
	struct trace_trailer trailer;
	bool has_trailer;
};

/* 1: a line without its end, 0: end of the text */
static int read_line(struct import *im)
{
	int c;

	im->n = 0;
	im->line_no++;
	while ((c = getc_unlocked(im->in)) != EOF && c != '\n') {
		if (im->n == LINE_MAX_BYTES)
			return fail(-EINVAL, "a line of more than %u bytes", LINE_MAX_BYTES);
		im->line[im->n++] = (char)c;
	}
	if (c == EOF && ferror(im->in))
		return fail(-EIO, "%s", strerror(errno));
	if (im->n && im->line[im->n - 1] == '\r')
		im->n--;
	return c != EOF || im->n ? 1 : 0;
}

static int set_string(char **out, struct bytes b)
{
	char *s;

	if (b.n && memchr(b.p, 0, b.n))
		return fail(-EINVAL, "NUL in a string of the header");
	s = malloc((size_t)b.n + 1);
	if (!s)
		return fail(-ENOMEM, "out of memory");
	if (b.n)
		memcpy(s, b.p, b.n);
	s[b.n] = '\0';
	free(*out);
	*out = s;
	return 0;
}

static bool set_number(const struct trace_text_key *k, void *member, struct bytes b)
{
	bool minus = b.n && b.p[0] == '-';
	uint64_t v;

	if (minus)
		b = (struct bytes){b.p + 1, b.n - 1};
	if (!trace_text_number(b, 10, &v))
		return false;
	if (minus && k->type != TEXT_I64 && k->type != TEXT_INT)
		return false;
	switch (k->type) {
	case TEXT_U64:
		*(uint64_t *)member = v;
		return true;
	case TEXT_U32:
		*(uint32_t *)member = (uint32_t)v;
		return v <= UINT32_MAX;
	case TEXT_I64:
		*(int64_t *)member = (int64_t)(minus ? -v : v);
		return v <= (uint64_t)INT64_MAX + minus;
	case TEXT_INT:
		*(int *)member = minus ? -(int)(v & 0xffff) : (int)(v & 0xffff);
		return v <= 0xffff;
	case TEXT_STRING:
		break;
	}
	return false;
}

/* KEY at the cursor up to join, and its value, into the struct at base */
static int set_member(
	struct trace_cursor *c, const struct trace_text_key *keys, void *base, char join)
{
	const char *key = c->p;
	size_t n;
	struct bytes b;
	int r;

	while (c->p < c->end && *c->p != join && *c->p != ' ')
		c->p++;
	n = (size_t)(c->p - key);
	for (; keys->key; keys++)
		if (strlen(keys->key) == n && !memcmp(keys->key, key, n))
			break;
	if (!keys->key)
		return fail(-EINVAL, "unknown key '%.*s'; remarks begin with '# '",
			(int)MIN(n, 40u), key);
	if (c->p >= c->end || *c->p != join)
		return fail(-EINVAL, "%s has no value", keys->key);
	c->p++;
	if (keys->type == TEXT_STRING) {
		r = trace_text_quoted(c, &b);
		if (!r)
			r = set_string((char **)((char *)base + keys->offset), b);
		return r < 0 ? fail_in(r, "%s", keys->key) : 0;
	}
	b = trace_text_word(c);
	if (!set_number(keys, (char *)base + keys->offset, b))
		return fail(-EINVAL, "%s: '%.*s' is no number for it", keys->key,
			(int)MIN(b.n, 40u), b.p);
	return 0;
}

static int begin_events(struct import *im)
{
	return im->w ? 0 : trace_writer_open(&im->w, im->out_fd, &im->header);
}

static bool line_is(const struct import *im, const char *word)
{
	size_t n = strlen(word);

	return im->n >= n && !memcmp(im->line, word, n) && (im->n == n || im->line[n] == ' ');
}

static int trailer_line(struct import *im)
{
	struct trace_cursor c = {im->line + strlen("#trailer"), im->line + im->n};
	int r = begin_events(im);

	im->has_trailer = true;
	while (!r) {
		while (c.p < c.end && *c.p == ' ')
			c.p++;
		if (c.p >= c.end)
			break;
		r = set_member(&c, trace_text_trailer_key, &im->trailer, '=');
	}
	return r;
}

static int first_line(struct import *im)
{
	if (line_is(im, "#iotape") && im->n > strlen("#iotape ")) {
		if (im->n == strlen("#iotape 1") && im->line[im->n - 1] == '1')
			return 0;
		return fail(-EPROTONOSUPPORT, "text of version '%.*s'; this iotape reads 1",
			(int)MIN(im->n - 8, 20u), im->line + 8);
	}
	return fail(-EINVAL, "no text of a trace: it begins with '#iotape 1'");
}

static int hash_line(struct import *im)
{
	struct trace_cursor c = {im->line + 1, im->line + im->n};
	int r;

	if (im->n == 1 || im->line[1] == ' ')
		return 0; /* a remark */
	if (memchr(im->line, 0, im->n))
		return fail(-EINVAL, "a NUL byte");
	if (line_is(im, "#trailer"))
		return trailer_line(im);
	if (line_is(im, "#chunk")) {
		r = begin_events(im);
		return r < 0 ? r : trace_writer_flush(im->w);
	}
	if (im->w)
		return fail(-EINVAL, "a line of the header behind the first event");
	r = set_member(&c, trace_text_header_key, &im->header, ' ');
	if (!r && c.p < c.end)
		return fail(-EINVAL, "more behind the value");
	return r;
}

static int one_line(struct import *im)
{
	struct event ev;
	int r;

	if (im->line_no == 1)
		return first_line(im);
	if (!im->n)
		return 0;
	if (im->line[0] == '#' && (im->n == 1 || im->line[1] == ' '))
		return 0;
	if (im->has_trailer)
		return fail(-EINVAL, "more behind the #trailer");
	if (im->line[0] == '#')
		return hash_line(im);
	r = begin_events(im);
	if (!r)
		r = trace_text_parse(im->line, im->n, &ev);
	return r < 0 ? r : trace_writer_put(im->w, &ev);
}

static int import_lines(struct import *im)
{
	int r;

	while ((r = read_line(im)) > 0) {
		r = one_line(im);
		if (r < 0)
			break;
	}
	if (r < 0)
		return fail_in(r, "%s:%llu", im->name, (unsigned long long)im->line_no);
	if (im->line_no == 1)
		return fail(
			-ENODATA, "%s: empty; a text of a trace begins with '#iotape 1'", im->name);
	r = begin_events(im);
	if (r < 0)
		return r;
	return im->has_trailer ? trace_writer_finish(im->w, &im->trailer)
			       : trace_writer_flush(im->w);
}

int trace_text_import(FILE *in, const char *name, int out_fd)
{
	struct import im = {.in = in, .name = name, .out_fd = out_fd};
	int r;

	im.line = malloc(LINE_MAX_BYTES + 1);
	if (!im.line)
		return fail(-ENOMEM, "out of memory");
	r = import_lines(&im);
	trace_writer_close(im.w);
	trace_header_fini(&im.header);
	free(im.trailer.reason);
	free(im.line);
	return r;
}
