/* SPDX-License-Identifier: MIT */
/*
 * Two traces, lane by lane. Lanes of a recorded replay are named after the original's, others are
 * paired in order of appearance. In a lane, calls are compared in order; after a difference the
 * nearest place where both go on alike is looked for, so that one missing call is one difference
 * and not thousands. Both traces are held in memory. What counts as the same call is
 * diff_match.c's.
 */
#include "diff_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WINDOW       48u    /* how far to look for a place to go on */
#define PATIENCE     20000u /* differences beyond which lanes are no longer aligned */
#define KERNEL_REACH 4096u  /* kernel I/O may be that much out of order */

struct diff {
	struct diff_side a, b;
	struct diff_ids ids;
	struct diff_result *out;
};

/* ---- telling ---- */
static void put_line(FILE *f, const char *sign, const struct diff_event *e)
{
	char *line = NULL;
	size_t n = 0;
	FILE *m;

	if (!e)
		return;
	m = open_memstream(&line, &n);
	if (!m)
		return;
	trace_text_event(m, &e->ev);
	if (!fclose(m))
		fprintf(f, "\n%s %.*s", sign, (int)MIN(strcspn(line, "\n"), REPLAY_DIFF_LINE),
			line);
	free(line);
}

static void tell(struct diff *d, const struct diff_lane *l, const struct diff_event *a,
	const struct diff_event *b)
{
	struct diff_result *r = d->out;
	FILE *f;

	if (a && b)
		r->different++;
	else if (a)
		r->only_a++;
	else
		r->only_b++;
	if (r->n_first == REPLAY_MISMATCH_KEEP)
		return;
	f = fmemopen(r->first[r->n_first], sizeof(r->first[0]), "w");
	if (!f)
		return;
	if (l == &d->a.kernel || l == &d->b.kernel)
		fprintf(f, "kernel, on nobody's behalf:");
	else
		fprintf(f, "lane %" PRIu32 "%s%s%s:", l->number, *l->comm ? " (" : "", l->comm,
			*l->comm ? ")" : "");
	put_line(f, "-", a);
	put_line(f, "+", b);
	fclose(f);
	r->n_first++;
}

/* ---- one pair of lanes ---- */
/* Do a from i on and b from j on go on alike? Two calls in a row, or the end, say so. */
static bool go_on(const struct diff *d, const struct diff_lane *a, size_t i,
	const struct diff_lane *b, size_t j)
{
	if (i >= a->n || j >= b->n)
		return i >= a->n && j >= b->n;
	if (!diff_match(&d->ids, &a->ev[i]->ev, &b->ev[j]->ev))
		return false;
	if (i + 1 >= a->n || j + 1 >= b->n)
		return true;
	return diff_match(&d->ids, &a->ev[i + 1]->ev, &b->ev[j + 1]->ev);
}

/* The smallest step in both that leads to a place from which they go on alike. */
static void find_place(const struct diff *d, const struct diff_lane *a, size_t i,
	const struct diff_lane *b, size_t j, size_t *da, size_t *db)
{
	const struct diff_result *r = d->out;

	*da = *db = 1;
	if (r->different + r->only_a + r->only_b > PATIENCE)
		return;
	/* one call changed is the likeliest */
	if (go_on(d, a, i + 1, b, j + 1))
		return;
	for (size_t sum = 1; sum <= WINDOW; sum++)
		for (size_t x = 0; x <= sum; x++) {
			if (i + x > a->n || j + sum - x > b->n ||
				!go_on(d, a, i + x, b, j + sum - x))
				continue;
			*da = x;
			*db = sum - x;
			return;
		}
}

static int compare_lane(struct diff *d, const struct diff_lane *a, const struct diff_lane *b)
{
	size_t i = 0, j = 0, da, db;
	int r = 0;

	while (!r && i < a->n && j < b->n) {
		if (diff_match(&d->ids, &a->ev[i]->ev, &b->ev[j]->ev)) {
			d->out->compared++;
			r = diff_pair(&d->ids, &a->ev[i++]->ev, &b->ev[j++]->ev);
			continue;
		}
		find_place(d, a, i, b, j, &da, &db);
		for (; da && db && !r; da--, db--) {
			tell(d, a, a->ev[i], b->ev[j]);
			/* else every later use of the same handle would differ, too */
			if (a->ev[i]->ev.op == b->ev[j]->ev.op)
				r = diff_pair(&d->ids, &a->ev[i]->ev, &b->ev[j]->ev);
			i++;
			j++;
		}
		for (; da; da--)
			tell(d, a, a->ev[i++], NULL);
		for (; db; db--)
			tell(d, b, NULL, b->ev[j++]);
	}
	for (; i < a->n; i++)
		tell(d, a, a->ev[i], NULL);
	for (; j < b->n; j++)
		tell(d, b, NULL, b->ev[j]);
	return r;
}

/* ---- which lane is which ---- */
static struct diff_lane *partner(
	const struct diff_side *of, const struct diff_side *in, const struct diff_lane *l)
{
	bool by_number = of->replay || in->replay;

	for (size_t i = 0; i < in->n_lanes; i++) {
		struct diff_lane *m = in->lanes[i];

		if (m->seen)
			continue;
		if (in->aliased && !of->aliased       ? m->alias == (int64_t)l->number
			: of->aliased && !in->aliased ? l->alias == (int64_t)m->number
			: of->aliased && in->aliased  ? l->alias == m->alias
			: by_number                   ? l->number == m->number
						      : true)
			return m;
	}
	return NULL;
}

static int compare_lanes(struct diff *d)
{
	static const struct diff_lane none;
	int r = 0;

	for (size_t i = 0; i < d->a.n_lanes && !r; i++) {
		struct diff_lane *l = d->a.lanes[i], *m = partner(&d->a, &d->b, l);

		if (m)
			m->seen = true;
		d->out->lanes++;
		r = compare_lane(d, l, m ? m : &none);
	}
	for (size_t i = 0; i < d->b.n_lanes && !r; i++)
		if (!d->b.lanes[i]->seen) {
			d->out->lanes++;
			r = compare_lane(d, &none, d->b.lanes[i]);
		}
	return r;
}

/* ---- kernel I/O: the same calls on the same inodes, in any order ---- */
static int compare_kernel(struct diff *d)
{
	struct diff_lane *a = &d->a.kernel, *b = &d->b.kernel;
	size_t first = 0;
	int r = 0;

	for (size_t i = 0; i < a->n && !r; i++) {
		size_t j, tried = 0;

		while (first < b->n && b->ev[first]->used)
			first++;
		for (j = first; j < b->n && tried < KERNEL_REACH; j++) {
			if (b->ev[j]->used)
				continue;
			if (diff_match_kernel(&d->ids, &a->ev[i]->ev, &b->ev[j]->ev))
				break;
			tried++;
		}
		if (j == b->n || tried == KERNEL_REACH) {
			tell(d, a, a->ev[i], NULL);
			continue;
		}
		b->ev[j]->used = true;
		d->out->compared++;
		r = diff_pair(&d->ids, &a->ev[i]->ev, &b->ev[j]->ev);
	}
	for (size_t j = first; j < b->n; j++)
		if (!b->ev[j]->used)
			tell(d, b, NULL, b->ev[j]);
	return r;
}

/* ---- directories read to their end gave as many entries ---- */
static void compare_dirs(struct diff *d)
{
	uint64_t oid, value, other;
	size_t pos = 0;

	while (u64map_next(&d->a.dirs, &pos, &oid, &value)) {
		const struct diff_dir *a = (const struct diff_dir *)(uintptr_t)value, *b;

		if (!u64map_get(&d->ids.oid_ab, oid, &other))
			continue;
		b = u64map_ptr(&d->b.dirs, other);
		if (!b || !a->ended || !b->ended)
			continue;
		d->out->compared++;
		if (a->entries == b->entries)
			continue;
		d->out->different++;
		if (d->out->n_first < REPLAY_MISMATCH_KEEP)
			snprintf(d->out->first[d->out->n_first++], sizeof(d->out->first[0]),
				"directory handle %" PRIu64 ": %" PRIu64
				" entries were read\n+ handle %" PRIu64 ": %" PRIu64,
				oid, a->entries, other, b->entries);
	}
}

static bool of_storage(const struct trace_reader *r)
{
	const struct trace_header *h = trace_reader_header(r);

	return h->view && !strcmp(h->view, "storage");
}

int diff_traces(struct trace_reader *a, struct trace_reader *b, struct diff_result *out)
{
	struct diff d = {.out = out};
	int r;

	memset(out, 0, sizeof(*out));
	diff_side_init(&d.a);
	diff_side_init(&d.b);
	d.a.storage = d.b.storage = of_storage(a) || of_storage(b);
	diff_ids_init(&d.ids);
	r = diff_load(&d.a, a);
	if (!r)
		r = diff_load(&d.b, b);
	if (!r)
		r = compare_lanes(&d);
	if (!r)
		r = compare_kernel(&d);
	if (!r)
		compare_dirs(&d);
	if (!r)
		diff_reads_compare(&d.a, &d.b, &d.ids, out);
	out->resolve_a = d.a.resolve;
	out->resolve_b = d.b.resolve;
	out->own_a = d.a.own;
	out->own_b = d.b.own;
	diff_ids_fini(&d.ids);
	diff_side_fini(&d.a);
	diff_side_fini(&d.b);
	return r;
}
