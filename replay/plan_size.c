/* SPDX-License-Identifier: MIT */
/*
 * Reads that overlap with a change of the file's size. Nobody ordered them, but how much the read
 * returned tells which came first, and a replay must come to the same result: a read that saw the
 * new end waits for the change, the change for a read that saw the old one. Where the read cannot
 * tell, they stay free. Only the last few calls are looked at: others do not overlap.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <fcntl.h>

enum seen { SEEN_EITHER, SEEN_BEFORE, SEEN_AFTER };

/* What does the read tell of a change from one size to another? */
static enum seen seen(const struct plan_step *r, uint64_t from, uint64_t to)
{
	uint64_t got = (uint64_t)r->result, end = r->offset + got, low = MIN(from, to),
		 high = MAX(from, to);
	enum seen small = from < to ? SEEN_BEFORE : SEEN_AFTER,
		  large = from < to ? SEEN_AFTER : SEEN_BEFORE;

	if (got && end > low)
		return end > high ? SEEN_EITHER : large;
	if (got < r->size && r->offset < high && end <= low)
		return small;
	return SEEN_EITHER;
}

/* The same, where s had ended before the other one started, and its event was put late. */
static bool was_before(const struct plan_step *s, const struct plan_step *o)
{
	return s->lane != o->lane && plan_step_end(s) <= o->start_ns;
}

/* What s is to wait for comes first: it moves the start of s. */
static int order_pairs(
	struct plan *p, struct plan_step *s, bool change, uint64_t from, uint64_t to, bool wait)
{
	int r = 0;

	for (unsigned i = 0; i < PLAN_SIZED && !r; i++) {
		const struct plan_sized *o = &p->sized[i];
		enum seen e;

		if (!o->step || o->node != s->node || o->change == change)
			continue;
		if (!wait && was_before(s, o->step))
			r = plan_order_before(p, s, o->step);
		if (!plan_steps_overlap(o->step, s))
			continue;
		e = change ? seen(o->step, from, to) : seen(s, o->from, o->to);
		/* the read saw the change that came out before it, or not the one that comes now */
		if (e == (change ? SEEN_BEFORE : SEEN_AFTER) && wait)
			plan_order_after(p, s, o->step);
		else if (e == (change ? SEEN_AFTER : SEEN_BEFORE) && !wait)
			r = plan_order_before(p, s, o->step);
	}
	return r;
}

/* 1: s changes the size of n. */
static int size_change(
	const struct event *ev, const struct plan_node *n, uint64_t *from, uint64_t *to)
{
	*from = *to = n->size;
	if (ev->op == OP_WRITE)
		*to = MAX(*from, ev->offset + (uint64_t)ev->result);
	else if (ev->op == OP_SETATTR && (ev->arg & EVENT_SET_SIZE))
		*to = ev->size;
	else if (ev->op == OP_OPEN && (ev->flags & O_TRUNC))
		*to = 0;
	return *from != *to;
}

int plan_order_size(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_node *n = p->nodes[s->node];
	uint64_t from = 0, to = 0;
	bool change;

	if (!n || s->result < 0 || p->n_lanes < 2)
		return 0;
	change = size_change(ev, n, &from, &to);
	if (!change && ev->op != OP_READ)
		return 0;
	if (order_pairs(p, s, change, from, to, true) || order_pairs(p, s, change, from, to, false))
		return -ENOMEM;
	p->sized[p->sized_at++ % PLAN_SIZED] = (struct plan_sized){s, from, to, s->node, change};
	return 0;
}
