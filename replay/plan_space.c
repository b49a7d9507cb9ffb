/* SPDX-License-Identifier: MIT */
/*
 * How much storage a replay needs: for each file the blocks that hold data, not its length, because
 * holes take nothing. Files of the initial tree are there from the beginning, whenever the trace
 * tells of them; what the workload writes, cuts and removes is followed. Memory is bounded: when a
 * file falls into very many pieces, the small holes between them count as full, so that the sum
 * is an upper bound for ever.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <string.h>

#define BLOCK       UINT64_C(4096)
#define EXTENTS_MAX 1024u

static struct plan_extent *all(struct plan_extents *x)
{
	return x->many ? x->many : &x->one;
}

static uint64_t down(uint64_t v)
{
	return v & ~(BLOCK - 1);
}

static uint64_t up(uint64_t v)
{
	return v > UINT64_MAX - BLOCK ? UINT64_MAX : down(v + BLOCK - 1);
}

static void count(struct plan *p, uint64_t was, uint64_t is, bool initial)
{
	plan_bytes *sum = initial ? &p->space_base : &p->space_live;

	*sum += (plan_bytes)is - was;
	p->space_peak = MAX(p->space_peak, p->space_live);
}

/* Extents [i, j) become with[0..n), at most two. */
static int replace(
	struct plan_extents *x, uint32_t i, uint32_t j, const struct plan_extent *with, uint32_t n)
{
	uint32_t want = x->n - (j - i) + n;

	if (want > 1 && want > x->cap) {
		uint32_t cap = x->cap ? x->cap * 2 : 4;
		struct plan_extent *bigger = realloc(x->many, cap * sizeof(*bigger));

		if (!bigger)
			return fail(-ENOMEM, "out of memory for the plan of this trace");
		if (!x->many)
			bigger[0] = x->one;
		x->many = bigger;
		x->cap = cap;
	}
	memmove(all(x) + i + n, all(x) + j, (x->n - j) * sizeof(*with));
	memcpy(all(x) + i, with, n * sizeof(*with));
	x->n = want;
	return 0;
}

/* First extent that ends behind at, or touches it. */
static uint32_t find(struct plan_extents *x, uint64_t at)
{
	uint32_t lo = 0, hi = x->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (all(x)[mid].to >= at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void fill_holes(struct plan *p, struct plan_extents *x, bool initial)
{
	while (x->n > EXTENTS_MAX / 2) {
		struct plan_extent *e = all(x);
		uint32_t kept = 0;

		x->gap = x->gap ? x->gap * 2 : BLOCK;
		for (uint32_t i = 1; i < x->n; i++) {
			if (e[i].from - e[kept].to > x->gap) {
				e[++kept] = e[i];
				continue;
			}
			count(p, 0, e[i].from - e[kept].to, initial);
			e[kept].to = e[i].to;
		}
		x->n = kept + 1;
	}
}

int plan_space_add(struct plan *p, struct plan_node *n, uint64_t from, uint64_t to, bool initial)
{
	struct plan_extents *x = &n->space;
	struct plan_extent is = {down(from), up(to)};
	uint64_t was = 0;
	uint32_t i, j;

	if (from >= to)
		return 0;
	i = j = find(x, is.from > x->gap ? is.from - x->gap : 0);
	for (; j < x->n && (all(x)[j].from <= is.to || all(x)[j].from - is.to <= x->gap); j++) {
		is.from = MIN(is.from, all(x)[j].from);
		is.to = MAX(is.to, all(x)[j].to);
		was += all(x)[j].to - all(x)[j].from;
	}
	if (replace(x, i, j, &is, 1))
		return -ENOMEM;
	count(p, was, is.to - is.from, initial);
	if (x->n > EXTENTS_MAX)
		fill_holes(p, x, initial);
	return 0;
}

int plan_space_cut(struct plan *p, struct plan_node *n, uint64_t from, uint64_t to)
{
	struct plan_extents *x = &n->space;
	struct plan_extent rest[2];
	uint64_t was = 0, is = 0;
	uint32_t i, j, k = 0;

	from = up(from);
	to = to == UINT64_MAX ? to : down(to);
	if (from >= to)
		return 0;
	i = find(x, from);
	if (i < x->n && all(x)[i].to == from)
		i++;
	for (j = i; j < x->n && all(x)[j].from < to; j++) {
		struct plan_extent e = all(x)[j];

		was += e.to - e.from;
		if (e.from < from)
			rest[k++] = (struct plan_extent){e.from, from};
		if (e.to > to)
			rest[k++] = (struct plan_extent){to, e.to};
	}
	if (x->n - (j - i) + k > EXTENTS_MAX)
		return 0; /* stays counted */
	for (uint32_t r = 0; r < k; r++)
		is += rest[r].to - rest[r].from;
	if (replace(x, i, j, rest, k))
		return -ENOMEM;
	count(p, was, is, false);
	return 0;
}

int plan_space_collapse(struct plan *p, struct plan_node *n, uint64_t at, uint64_t size)
{
	uint64_t end = at + size;
	int r = plan_space_cut(p, n, at, end);

	for (uint32_t i = 0; i < n->space.n; i++) {
		struct plan_extent *e = &all(&n->space)[i];

		if (e->from >= up(end)) {
			e->from -= down(size);
			e->to -= down(size);
		}
	}
	return r;
}

/* What is put in is a hole, but counts as what is to be written there. */
int plan_space_insert(struct plan *p, struct plan_node *n, uint64_t at, uint64_t size)
{
	uint64_t by = down(size);

	for (uint32_t i = 0; i < n->space.n; i++) {
		struct plan_extent *e = &all(&n->space)[i];
		uint64_t from = e->from;

		if (e->to <= at || e->to > UINT64_MAX - by)
			continue;
		e->to += by;
		if (from >= at)
			e->from += by;
		count(p, 0, e->from == from ? by : 0, false);
	}
	return 0;
}

void plan_space_fini(struct plan_node *n)
{
	free(n->space.many);
	n->space = (struct plan_extents){.n = 0};
}

uint64_t plan_space_peak(const struct plan *p)
{
	/* names and attributes take space as well */
	plan_bytes sum = p->space_base + p->space_peak + (plan_bytes)p->n_nodes * BLOCK;

	return sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
}
