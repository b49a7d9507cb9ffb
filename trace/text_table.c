/* SPDX-License-Identifier: MIT */
/*
 * Events for other programs: JSON, one object a line with the keys that the operation has, and CSV
 * with a column a field. Both are one way; what reads them back into a trace is the text twin.
 */
#include "text_priv.h"
#include "iotape/json.h"

#include <errno.h>

static int written(FILE *out)
{
	return ferror(out) ? fail(-EIO, "cannot write: %s", strerror(errno)) : 0;
}

static void json_field(struct json *j, const struct event *ev, enum field f)
{
	const struct field_info *info = &field_info[f];
	const struct bytes *b = (const void *)((const char *)ev + info->offset);
	const char *name;

	switch (f) {
	case FIELD_OP:
		json_str(j, info->key, op_info[ev->op].name);
		return;
	case FIELD_RESULT:
		json_i64(j, info->key, ev->result);
		name = ev->result < 0 ? util_errno_name((int)MAX(ev->result, -4096)) : NULL;
		if (name)
			json_str(j, "errno", name);
		return;
	case FIELD_CONTENT:
		if (ev->content < EVENT_CONTENT_COUNT)
			json_str(j, info->key, trace_content_name[ev->content]);
		return;
	case FIELD_RATIO:
		if (ev->content != EVENT_CONTENT_SAMPLE)
			return;
		json_array(j, info->key);
		json_u64(j, NULL, ev->ratio[0]);
		json_u64(j, NULL, ev->ratio[1]);
		json_end(j, ']');
		return;
	default:
		break;
	}
	if (info->type == FIELD_BYTES)
		json_bytes(j, info->key, *b);
	else if (info->type == FIELD_I64)
		json_i64(j, info->key, (int64_t)trace_field_get(ev, f));
	else
		json_u64(j, info->key, trace_field_get(ev, f));
}

int trace_json_event(FILE *out, const struct event *ev)
{
	struct json j;

	if (ev->op == OP_NONE || ev->op >= OP_COUNT)
		return fail(-EINVAL, "event has no operation");
	json_init(&j, out, 0);
	json_object(&j, NULL);
	for (unsigned f = 0; f < FIELD_COUNT; f++)
		if (op_info[ev->op].fields & FIELD_BIT(f))
			json_field(&j, ev, f);
	json_end(&j, '}');
	return written(out);
}

int trace_csv_header(FILE *out)
{
	for (unsigned f = 0; f < FIELD_COUNT; f++)
		fprintf(out, "%s%s", f ? "," : "", field_info[f].key);
	putc_unlocked('\n', out);
	return written(out);
}

/* A cell holds the escapes of the text twin, so a row is always one line (RFC 4180 quoting). */
static void csv_bytes(FILE *out, struct bytes b)
{
	char s[5];

	putc_unlocked('"', out);
	for (uint32_t i = 0; i < b.n; i++) {
		size_t n = bytes_escape(s, sizeof(s), (struct bytes){b.p + i, 1});

		for (size_t k = 0; k < n; k++) {
			if (s[k] == '"')
				putc_unlocked('"', out);
			putc_unlocked(s[k], out);
		}
	}
	putc_unlocked('"', out);
}

static void csv_field(FILE *out, const struct event *ev, enum field f)
{
	const struct field_info *info = &field_info[f];
	const struct bytes *b = (const void *)((const char *)ev + info->offset);

	if (f == FIELD_OP)
		fputs_unlocked(op_info[ev->op].name, out);
	else if (f == FIELD_CONTENT && ev->content < EVENT_CONTENT_COUNT)
		fputs_unlocked(trace_content_name[ev->content], out);
	else if (info->type == FIELD_BYTES)
		csv_bytes(out, *b);
	else if (info->type == FIELD_U8X2)
		fprintf(out, "%u/%u", ev->ratio[0], ev->ratio[1]);
	else if (info->type == FIELD_I64)
		trace_text_i64(out, (int64_t)trace_field_get(ev, f));
	else
		trace_text_u64(out, trace_field_get(ev, f));
}

int trace_csv_event(FILE *out, const struct event *ev)
{
	if (ev->op == OP_NONE || ev->op >= OP_COUNT)
		return fail(-EINVAL, "event has no operation");
	for (unsigned f = 0; f < FIELD_COUNT; f++) {
		if (f)
			putc_unlocked(',', out);
		if (op_info[ev->op].fields & FIELD_BIT(f))
			csv_field(out, ev, f);
	}
	putc_unlocked('\n', out);
	return written(out);
}
