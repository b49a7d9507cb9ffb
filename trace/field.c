/* SPDX-License-Identifier: MIT */
/*
 * Access to the numbers of an event by field, whatever their width, for code that goes by
 * field_info[] (text, tables, filter) instead of by member. A value that does not fit the member is
 * refused, never cut.
 */
#include "text_priv.h"

const char *const trace_content_name[EVENT_CONTENT_COUNT] = {
	[EVENT_CONTENT_NONE] = "none",
	[EVENT_CONTENT_ZERO] = "zero",
	[EVENT_CONTENT_LIKE] = "like",
	[EVENT_CONTENT_SAMPLE] = "sample",
};

uint64_t trace_field_get(const struct event *ev, enum field f)
{
	const void *p = (const char *)ev + field_info[f].offset;

	switch (field_info[f].type) {
	case FIELD_U8:
		return *(const uint8_t *)p;
	case FIELD_U16:
		return *(const uint16_t *)p;
	case FIELD_U32:
		return *(const uint32_t *)p;
	case FIELD_U64:
		return *(const uint64_t *)p;
	case FIELD_I64:
		return (uint64_t) * (const int64_t *)p;
	case FIELD_BYTES:
	case FIELD_U8X2:
		break;
	}
	return 0;
}

bool trace_field_set(struct event *ev, enum field f, uint64_t v)
{
	void *p = (char *)ev + field_info[f].offset;

	switch (field_info[f].type) {
	case FIELD_U8:
		*(uint8_t *)p = (uint8_t)v;
		break;
	case FIELD_U16:
		*(uint16_t *)p = (uint16_t)v;
		break;
	case FIELD_U32:
		*(uint32_t *)p = (uint32_t)v;
		break;
	case FIELD_U64:
		*(uint64_t *)p = v;
		break;
	case FIELD_I64:
		*(int64_t *)p = (int64_t)v;
		break;
	case FIELD_BYTES:
	case FIELD_U8X2:
		return false;
	}
	return trace_field_get(ev, f) == v;
}

struct bytes *trace_field_bytes(struct event *ev, enum field f)
{
	return (struct bytes *)(void *)((char *)ev + field_info[f].offset);
}

enum field trace_field_by_name(const char *key, size_t n)
{
	for (unsigned f = 0; f < FIELD_COUNT; f++)
		if (strlen(field_info[f].key) == n && !memcmp(field_info[f].key, key, n))
			return f;
	return FIELD_COUNT;
}
