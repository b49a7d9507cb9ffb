/* SPDX-License-Identifier: MIT */
/*
 * The text twin, outward (docs/text-twin.md): a trace as lines that a person reads and that
 * text_import.c turns back into the same trace, bit for bit. Driven by field_info[]: every field of
 * an event that is not 0 or empty is printed, so nothing can be lost here. No line is ever wrapped
 * or shortened.
 */
#include "text_priv.h"

#include <errno.h>
#include <stddef.h>

#define H(k, t)                                                                                    \
	{                                                                                          \
#k, TEXT_##t, offsetof(struct trace_header, k)                                     \
	}

const struct trace_text_key trace_text_header_key[] = {
	H(recorder, STRING),
	H(source_kind, STRING),
	H(view, STRING),
	H(host_kernel, STRING),
	H(libfuse, STRING),
	H(mount_options, STRING),
	H(fs_type, STRING),
	H(command, STRING),
	H(content, STRING),
	H(fs_free_bytes, U64),
	H(fs_total_bytes, U64),
	H(page_size, U32),
	H(cpus, U32),
	H(start_mono_ns, I64),
	H(start_wall_ns, I64),
	H(level, INT),
	{NULL, TEXT_STRING, 0},
};

#define T(k, t)                                                                                    \
	{                                                                                          \
#k, TEXT_##t, offsetof(struct trace_trailer, k)                                    \
	}

const struct trace_text_key trace_text_trailer_key[] = {
	T(events, U64),
	T(drops, U64),
	T(end_mono_ns, I64),
	T(stalls, U64),
	T(stall_ns, U64),
	T(reason, STRING),
	{NULL, TEXT_STRING, 0},
};

static int written(FILE *out)
{
	return ferror(out) ? fail(-EIO, "cannot write text: %s", strerror(errno)) : 0;
}

static void put_base(FILE *out, uint64_t v, unsigned base)
{
	static const char digits[] = "0123456789abcdef";
	char s[24];
	size_t n = sizeof(s);

	do
		s[--n] = digits[v % base];
	while (v /= base);
	fwrite_unlocked(s + n, 1, sizeof(s) - n, out);
}

void trace_text_u64(FILE *out, uint64_t v)
{
	put_base(out, v, 10);
}

void trace_text_i64(FILE *out, int64_t v)
{
	if (v < 0)
		putc_unlocked('-', out);
	put_base(out, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
}

void trace_text_bytes(FILE *out, struct bytes b)
{
	char s[1024];
	size_t step = (sizeof(s) - 1) / 4;

	for (size_t i = 0; i < b.n; i += step) {
		struct bytes part = {b.p + i, (uint32_t)MIN(step, b.n - i)};

		fwrite_unlocked(s, 1, bytes_escape(s, sizeof(s), part), out);
	}
}

static void put_quoted(FILE *out, struct bytes b)
{
	putc_unlocked('"', out);
	trace_text_bytes(out, b);
	putc_unlocked('"', out);
}

/* False when there is nothing to print. */
static bool put_member(FILE *out, const struct trace_text_key *k, const void *base, char join)
{
	const void *p = (const char *)base + k->offset;
	const char *s = NULL;
	uint64_t v = 0;
	bool minus = false;

	switch (k->type) {
	case TEXT_STRING:
		s = *(const char *const *)p;
		break;
	case TEXT_U64:
		v = *(const uint64_t *)p;
		break;
	case TEXT_U32:
		v = *(const uint32_t *)p;
		break;
	case TEXT_I64:
	case TEXT_INT: {
		int64_t i = k->type == TEXT_INT ? *(const int *)p : *(const int64_t *)p;

		minus = i < 0;
		v = minus ? -(uint64_t)i : (uint64_t)i;
		break;
	}
	}
	if (!s && !v)
		return false;
	fprintf(out, "%s%s%c", join == '=' ? " " : "#", k->key, join);
	if (s) {
		put_quoted(out, BYTES_STR(s));
		return true;
	}
	if (minus)
		putc_unlocked('-', out);
	trace_text_u64(out, v);
	return true;
}

int trace_text_header(FILE *out, const struct trace_header *h)
{
	fputs("#iotape 1\n", out);
	for (const struct trace_text_key *k = trace_text_header_key; k->key; k++)
		if (put_member(out, k, h, ' '))
			putc_unlocked('\n', out);
	return written(out);
}

int trace_text_trailer(FILE *out, const struct trace_trailer *t)
{
	fputs("#trailer", out);
	for (const struct trace_text_key *k = trace_text_trailer_key; k->key; k++)
		put_member(out, k, t, '=');
	putc_unlocked('\n', out);
	return written(out);
}

int trace_text_chunk(FILE *out)
{
	fputs("#chunk\n", out);
	return written(out);
}

/* +1.000000017s */
static void put_start(FILE *out, int64_t ns)
{
	uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	char frac[9];

	putc_unlocked(ns < 0 ? '-' : '+', out);
	trace_text_u64(out, v / 1000000000);
	putc_unlocked('.', out);
	v %= 1000000000;
	for (int i = 8; i >= 0; i--, v /= 10)
		frac[i] = (char)('0' + v % 10);
	fwrite_unlocked(frac, 1, sizeof(frac), out);
	fputs_unlocked("s ", out);
}

static void put_result(FILE *out, int64_t result)
{
	const char *name = result < 0 ? util_errno_name((int)MAX(result, -4096)) : NULL;

	fputs_unlocked(" = ", out);
	trace_text_i64(out, result);
	if (name) {
		putc_unlocked(' ', out);
		fputs_unlocked(name, out);
	}
}

static void put_ratio(FILE *out, const uint8_t ratio[2])
{
	trace_text_u64(out, ratio[0]);
	putc_unlocked('/', out);
	trace_text_u64(out, ratio[1]);
}

static void put_field(FILE *out, const struct event *ev, enum field f)
{
	const struct field_info *info = &field_info[f];
	const struct bytes *b = (const void *)((const char *)ev + info->offset);
	uint64_t v = trace_field_get(ev, f);
	bool sample = ev->content == EVENT_CONTENT_SAMPLE;

	if (info->type == FIELD_BYTES      ? !b->n
		: info->type == FIELD_U8X2 ? sample || (!ev->ratio[0] && !ev->ratio[1])
					   : !v)
		return;
	putc_unlocked(' ', out);
	fputs_unlocked(info->key, out);
	putc_unlocked('=', out);
	if (info->type == FIELD_BYTES) {
		put_quoted(out, *b);
	} else if (info->type == FIELD_U8X2) {
		put_ratio(out, ev->ratio);
	} else if (f == FIELD_CONTENT && v < EVENT_CONTENT_COUNT) {
		fputs_unlocked(trace_content_name[v], out);
		if (sample) {
			putc_unlocked(':', out);
			put_ratio(out, ev->ratio);
		}
	} else if (info->octal) {
		putc_unlocked('0', out);
		put_base(out, v, 8);
	} else if (f == FIELD_FLAGS) {
		fputs_unlocked("0x", out);
		put_base(out, v, 16);
	} else if (info->type == FIELD_I64) {
		trace_text_i64(out, (int64_t)v);
	} else {
		trace_text_u64(out, v);
	}
}

int trace_text_event(FILE *out, const struct event *ev)
{
	if (ev->op == OP_NONE || ev->op >= OP_COUNT)
		return fail(-EINVAL, "event has no operation");
	trace_text_u64(out, ev->seq);
	putc_unlocked(' ', out);
	put_start(out, ev->start_ns);
	trace_text_u64(out, ev->dur_ns);
	fputs_unlocked("ns q", out);
	trace_text_u64(out, ev->queue_ns);
	fputs_unlocked(" L", out);
	trace_text_u64(out, ev->lane);
	putc_unlocked(' ', out);
	fputs_unlocked(op_info[ev->op].name, out);
	for (unsigned f = 0; f < FIELD_COUNT; f++) {
		if (f == FIELD_RESULT)
			put_result(out, ev->result);
		else if (!(FIELDS_COMMON & FIELD_BIT(f)))
			put_field(out, ev, f);
	}
	putc_unlocked('\n', out);
	return written(out);
}
