/* SPDX-License-Identifier: MIT */
/*
 * What every event of a trace must keep to, whoever wrote the trace: names that stay inside one
 * directory, numbers that can be added without overflow, results that exist. The checks follow the
 * fields of op_info[], so a new operation is covered by its row. Whether events make sense together
 * (a handle used after its end) is not looked at here.
 */
#include "iotape/event.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#define RESULT_MIN    (-4095)            /* MAX_ERRNO of the kernel */
#define TIME_MAX      (INT64_C(1) << 61) /* 73 years in ns; three of them add up in 64 bits */
#define COMPONENT_MAX (PATH_MAX - 1)

static bool has(const struct event *ev, enum field f)
{
	return op_info[ev->op].fields & FIELD_BIT(f);
}

static int bad(const struct event *ev, const char *what)
{
	return fail(-EBADMSG, "event %" PRIu64 " (%s): %s", ev->seq,
		ev->op < OP_COUNT ? op_info[ev->op].name : "?", what);
}

static bool is_component(struct bytes b)
{
	if (!b.n || b.n > COMPONENT_MAX || memchr(b.p, '/', b.n) || memchr(b.p, 0, b.n))
		return false;
	return !(b.p[0] == '.' && (b.n == 1 || (b.n == 2 && b.p[1] == '.')));
}

static int check_names(const struct event *ev)
{
	bool root = ev->op == OP_SNAP && !ev->parent && ev->iid == EVENT_ROOT_IID;

	if (ev->name.n > EVENT_NAME_MAX || ev->name2.n > EVENT_NAME_MAX ||
		ev->target.n > EVENT_NAME_MAX)
		return bad(ev, "a string of more than 65535 bytes");
	if (has(ev, FIELD_NAME) && has(ev, FIELD_PARENT) && !(root && !ev->name.n) &&
		!is_component(ev->name))
		return bad(ev, "name is not one component of a path");
	if (has(ev, FIELD_NAME2) && !is_component(ev->name2))
		return bad(ev, "name2 is not one component of a path");
	/* names of attributes; those of lanes and marks are free */
	if (has(ev, FIELD_NAME) && has(ev, FIELD_IID) && !has(ev, FIELD_PARENT) &&
		(!ev->name.n || memchr(ev->name.p, 0, ev->name.n)))
		return bad(ev, "attribute name is empty or holds NUL");
	if ((ev->op == OP_SYMLINK || ev->op == OP_SNAP) && ev->target.n &&
		(ev->target.n > COMPONENT_MAX || memchr(ev->target.p, 0, ev->target.n)))
		return bad(ev, "symlink text is longer than a path or holds NUL");
	return 0;
}

static int check_numbers(const struct event *ev)
{
	/* cookies of directories are opaque, and lseek is handed on with whatever was asked */
	bool opaque = op_info[ev->op].class == OPC_DIR || ev->op == OP_LSEEK;

	if (ev->start_ns > TIME_MAX || ev->start_ns < -TIME_MAX || ev->dur_ns > TIME_MAX ||
		ev->queue_ns > TIME_MAX)
		return bad(ev, "a time of more than 73 years");
	if (!opaque && ev->offset > INT64_MAX)
		return bad(ev, "offset beyond 2^63 - 1");
	if (ev->offset2 > INT64_MAX)
		return bad(ev, "offset2 beyond 2^63 - 1");
	if (ev->size > INT64_MAX)
		return bad(ev, "size beyond 2^63 - 1");
	if (ev->result < RESULT_MIN)
		return bad(ev, "result is no errno");
	if (ev->result > 0 && (uint64_t)ev->result > ev->size &&
		(ev->op == OP_READ || ev->op == OP_WRITE || ev->op == OP_COPY_FILE_RANGE))
		return bad(ev, "more bytes moved than asked for");
	if (ev->content >= EVENT_CONTENT_COUNT)
		return bad(ev, "unknown content class");
	if (ev->first_touch > 1)
		return bad(ev, "first_touch is neither 0 nor 1");
	return 0;
}

int event_check(const struct event *ev)
{
	int r;

	if (ev->op == OP_NONE || ev->op >= OP_COUNT)
		return bad(ev, "unknown operation");
	r = check_names(ev);
	return r < 0 ? r : check_numbers(ev);
}

uint64_t event_bytes(const struct event *ev)
{
	if (ev->op != OP_READ && ev->op != OP_WRITE && ev->op != OP_COPY_FILE_RANGE)
		return 0;
	return ev->result > 0 ? (uint64_t)ev->result : 0;
}
