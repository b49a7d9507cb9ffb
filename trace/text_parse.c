/* SPDX-License-Identifier: MIT */
/*
 * One line of the text twin to an event (docs/text-twin.md). The line is cut up in place and the
 * event's strings point into it, so nothing is allocated. Every word must mean something: an
 * unknown key, a key twice, a number that does not fit or a name of an error that does not go with
 * its number is refused.
 */
#include "text_priv.h"

#include <errno.h>

#define WORD(b) (int)MIN((b).n, 40u), (b).p ? (b).p : ""

static void skip_spaces(struct trace_cursor *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
}

struct bytes trace_text_word(struct trace_cursor *c)
{
	struct bytes b;

	skip_spaces(c);
	b.p = c->p;
	while (c->p < c->end && *c->p != ' ' && *c->p != '\t')
		c->p++;
	b.n = (uint32_t)(c->p - b.p);
	return b;
}

int trace_text_quoted(struct trace_cursor *c, struct bytes *b)
{
	char *from = c->p + 1, *p = from;
	int n;

	if (c->p >= c->end || *c->p != '"')
		return fail(-EINVAL, "a string stands in \"quotes\"");
	while (p < c->end && *p != '"')
		p += *p == '\\' && p + 1 < c->end ? 2 : 1;
	if (p >= c->end)
		return fail(-EINVAL, "a \"string\" has no end");
	n = bytes_unescape(from, (size_t)(p - from));
	if (n < 0)
		return n;
	c->p = p + 1;
	if (c->p < c->end && *c->p != ' ' && *c->p != '\t')
		return fail(-EINVAL, "no space behind a \"string\"");
	*b = (struct bytes){from, (uint32_t)n};
	return 0;
}

bool trace_text_number(struct bytes b, unsigned base, uint64_t *v)
{
	uint64_t n = 0;

	if (!b.n)
		return false;
	for (uint32_t i = 0; i < b.n; i++) {
		char c = b.p[i];
		unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							: 99;

		if (digit >= base || __builtin_mul_overflow(n, (uint64_t)base, &n) ||
			__builtin_add_overflow(n, (uint64_t)digit, &n))
			return false;
	}
	*v = n;
	return true;
}

static bool signed_number(struct bytes b, int64_t *v)
{
	bool minus = b.n && b.p[0] == '-';
	uint64_t n;

	if (minus)
		b = (struct bytes){b.p + 1, b.n - 1};
	if (!trace_text_number(b, 10, &n) || n > (uint64_t)INT64_MAX + minus)
		return false;
	*v = (int64_t)(minus ? -n : n);
	return true;
}

/* The number between a prefix and a suffix */
static bool framed_number(struct bytes b, const char *prefix, const char *suffix, uint64_t *v)
{
	size_t pre = strlen(prefix), suf = strlen(suffix);

	if (b.n < pre + suf || memcmp(b.p, prefix, pre) || memcmp(b.p + b.n - suf, suffix, suf))
		return false;
	return trace_text_number((struct bytes){b.p + pre, (uint32_t)(b.n - pre - suf)}, 10, v);
}

/* +1.000000017s */
static bool start_time(struct bytes b, int64_t *ns)
{
	const char *point = b.n ? memchr(b.p, '.', b.n) : NULL;
	uint64_t s, frac;
	struct bytes whole;

	if (!point || (b.p[0] != '+' && b.p[0] != '-') || b.p + b.n - point != 11)
		return false;
	whole = (struct bytes){b.p + 1, (uint32_t)(point - b.p - 1)};
	if (!trace_text_number(whole, 10, &s) || s > INT64_MAX / 1000000000 - 1 ||
		!framed_number((struct bytes){point, 11}, ".", "s", &frac))
		return false;
	*ns = (int64_t)(s * 1000000000 + frac);
	if (b.p[0] == '-')
		*ns = -*ns;
	return true;
}

static bool parse_ratio(struct bytes b, uint8_t ratio[2])
{
	const char *slash = b.n ? memchr(b.p, '/', b.n) : NULL;
	uint64_t v0, v1;
	uint32_t n0;

	if (!slash)
		return false;
	n0 = (uint32_t)(slash - b.p);
	if (!trace_text_number((struct bytes){b.p, n0}, 10, &v0) ||
		!trace_text_number((struct bytes){slash + 1, b.n - n0 - 1}, 10, &v1) || v0 > 255 ||
		v1 > 255)
		return false;
	ratio[0] = (uint8_t)v0;
	ratio[1] = (uint8_t)v1;
	return true;
}

static bool parse_content(struct bytes b, struct event *ev)
{
	for (unsigned i = 1; i < EVENT_CONTENT_COUNT; i++) {
		size_t n = strlen(trace_content_name[i]);

		if (b.n < n || memcmp(b.p, trace_content_name[i], n))
			continue;
		ev->content = (uint8_t)i;
		b = (struct bytes){b.p + n, b.n - (uint32_t)n};
		if (i != EVENT_CONTENT_SAMPLE)
			return !b.n;
		return b.n > 1 && b.p[0] == ':' &&
		       parse_ratio((struct bytes){b.p + 1, b.n - 1}, ev->ratio);
	}
	return false;
}

static bool parse_plain(struct bytes b, enum field f, uint64_t *v)
{
	int64_t i;

	if (field_info[f].type == FIELD_I64) {
		if (!signed_number(b, &i))
			return false;
		*v = (uint64_t)i;
		return true;
	}
	if (b.n > 2 && b.p[0] == '0' && b.p[1] == 'x')
		return trace_text_number((struct bytes){b.p + 2, b.n - 2}, 16, v);
	return trace_text_number(b, field_info[f].octal && b.n && b.p[0] == '0' ? 8 : 10, v);
}

/* key=value at the cursor */
static int parse_field(struct trace_cursor *c, struct event *ev, uint32_t *seen)
{
	const char *key = c->p;
	struct bytes b;
	enum field f;
	uint64_t v;
	bool good;

	while (c->p < c->end && *c->p != '=' && *c->p != ' ' && *c->p != '\t')
		c->p++;
	b = (struct bytes){key, (uint32_t)(c->p - key)};
	f = trace_field_by_name(key, b.n);
	if (c->p >= c->end || *c->p != '=')
		return fail(-EINVAL, "'%.*s' is no KEY=VALUE", WORD(b));
	if (f == FIELD_COUNT || FIELDS_COMMON & FIELD_BIT(f))
		return fail(-EINVAL, "'%.*s' is no field of an event", WORD(b));
	if (*seen & FIELD_BIT(f))
		return fail(-EINVAL, "field %s stands twice", field_info[f].key);
	*seen |= FIELD_BIT(f);
	c->p++;
	if (field_info[f].type == FIELD_BYTES) {
		int r = trace_text_quoted(c, trace_field_bytes(ev, f));

		return r < 0 ? fail_in(r, "%s", field_info[f].key) : 0;
	}
	b = (struct bytes){c->p, 0};
	if (c->p < c->end && *c->p != ' ' && *c->p != '\t')
		b = trace_text_word(c);
	if (f == FIELD_CONTENT)
		good = parse_content(b, ev);
	else if (f == FIELD_RATIO)
		good = parse_ratio(b, ev->ratio);
	else
		good = parse_plain(b, f, &v) && trace_field_set(ev, f, v);
	if (!good)
		return fail(-EINVAL, "%s='%.*s' is no value for it, or does not fit",
			field_info[f].key, WORD(b));
	return 0;
}

/* "= RESULT [ERRNO]" at the cursor */
static int parse_result(struct trace_cursor *c, struct event *ev)
{
	struct trace_cursor peek;
	const char *name;
	struct bytes b;

	trace_text_word(c); /* the = */
	b = trace_text_word(c);
	if (!signed_number(b, &ev->result))
		return fail(-EINVAL, "result '%.*s' is no number", WORD(b));
	peek = *c;
	b = trace_text_word(&peek);
	if (ev->result >= 0 || !b.n || memchr(b.p, '=', b.n))
		return 0;
	name = util_errno_name((int)MAX(ev->result, -4096));
	if (!name || strlen(name) != b.n || memcmp(name, b.p, b.n))
		return fail(-EINVAL, "result %d is %s, not '%.*s'", (int)MAX(ev->result, -4096),
			name ? name : "nameless", WORD(b));
	*c = peek;
	return 0;
}

static int parse_front(struct trace_cursor *c, struct event *ev)
{
	struct bytes b;
	uint64_t v;

	b = trace_text_word(c);
	if (!trace_text_number(b, 10, &ev->seq))
		return fail(
			-EINVAL, "a line of an event begins with its number, not '%.*s'", WORD(b));
	b = trace_text_word(c);
	if (!start_time(b, &ev->start_ns))
		return fail(-EINVAL, "start '%.*s' is not like +1.000000017s", WORD(b));
	b = trace_text_word(c);
	if (!framed_number(b, "", "ns", &ev->dur_ns))
		return fail(-EINVAL, "duration '%.*s' is not like 4512ns", WORD(b));
	b = trace_text_word(c);
	if (!framed_number(b, "q", "", &ev->queue_ns))
		return fail(-EINVAL, "time in the daemon '%.*s' is not like q1200", WORD(b));
	b = trace_text_word(c);
	if (!framed_number(b, "L", "", &v) || v > UINT32_MAX)
		return fail(-EINVAL, "lane '%.*s' is not like L3", WORD(b));
	ev->lane = (uint32_t)v;
	b = trace_text_word(c);
	ev->op = (uint16_t)op_by_name(b.p, b.n);
	if (ev->op == OP_NONE)
		return fail(-EINVAL, "unknown operation '%.*s'", WORD(b));
	return 0;
}

int trace_text_parse(char *line, size_t n, struct event *ev)
{
	struct trace_cursor c = {line, line + n};
	bool has_result = false;
	uint32_t seen = 0;
	int r;

	*ev = (struct event){0};
	if (memchr(line, 0, n))
		return fail(-EINVAL, "a NUL byte; write \\x00 in a string");
	r = parse_front(&c, ev);
	while (!r) {
		skip_spaces(&c);
		if (c.p >= c.end)
			break;
		if (*c.p != '=') {
			r = parse_field(&c, ev, &seen);
		} else if (has_result) {
			r = fail(-EINVAL, "a second result");
		} else {
			has_result = true;
			r = parse_result(&c, ev);
		}
	}
	if (r < 0)
		return r;
	if (!has_result)
		return fail(-EINVAL, "no result: write = 0 behind the operation");
	return event_check(ev);
}
