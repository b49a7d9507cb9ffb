/* SPDX-License-Identifier: MIT */
/*
 * Reads of the storage view are the kernel's: what the page cache lacks and what it reads ahead, in
 * pieces of its own choice. What an application decides is which bytes of a file had to come from
 * the storage, so that is what is compared, inode by inode: every byte that one trace read must
 * have been read or written in the other. Only of a replay the kernel may read more, by what it
 * reads ahead; that is counted. Reads by O_DIRECT are the application's own, and not dealt with
 * here.
 */
#include "diff_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define AHEAD_BYTES (UINT64_C(1) << 20) /* the most that a mirror lets the kernel read ahead */

struct span {
	uint64_t from, to;
};
struct spans {
	struct span *s;
	size_t n, cap;
};
struct diff_file {
	struct spans read, known; /* known: read or written */
};

static int by_from(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->from != y->from ? (x->from < y->from ? -1 : 1)
				  : (x->to > y->to) - (x->to < y->to);
}

/* In order, none touching the next. */
static void spans_merge(struct spans *l)
{
	size_t n = 0;

	if (l->n)
		qsort(l->s, l->n, sizeof(*l->s), by_from);
	for (size_t i = 0; i < l->n; i++)
		if (n && l->s[i].from <= l->s[n - 1].to)
			l->s[n - 1].to = MAX(l->s[n - 1].to, l->s[i].to);
		else
			l->s[n++] = l->s[i];
	l->n = n;
}

static int spans_add(struct spans *l, uint64_t from, uint64_t to)
{
	if (l->n && l->s[l->n - 1].from <= from && from <= l->s[l->n - 1].to) {
		l->s[l->n - 1].to = MAX(l->s[l->n - 1].to, to);
		return 0;
	}
	if (l->n == l->cap)
		spans_merge(l);
	if (l->n * 2 >= l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 8;
		struct span *bigger = realloc(l->s, cap * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		l->s = bigger;
		l->cap = cap;
	}
	l->s[l->n++] = (struct span){from, to};
	return 0;
}

void diff_files_fini(struct u64map *files)
{
	uint64_t iid, value;
	size_t pos = 0;

	while (u64map_next(files, &pos, &iid, &value)) {
		struct diff_file *f = (struct diff_file *)(uintptr_t)value;

		free(f->read.s);
		free(f->known.s);
		free(f);
	}
	u64map_fini(files);
}

static int note(struct diff_side *s, uint64_t iid, uint64_t from, int64_t n, bool read)
{
	struct diff_file *f = u64map_ptr(&s->files, iid);

	if (n <= 0)
		return 0;
	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f || u64map_put_ptr(&s->files, iid, f)) {
			free(f);
			return -ENOMEM;
		}
	}
	if (read && spans_add(&f->read, from, from + (uint64_t)n))
		return -ENOMEM;
	return spans_add(&f->known, from, from + (uint64_t)n);
}

int diff_reads_take(struct diff_side *s, const struct event *ev)
{
	uint64_t dummy;

	if (!s->storage)
		return 0;
	switch (ev->op) {
	case OP_OPEN:
	case OP_CREATE:
		if ((ev->flags & O_DIRECT) && ev->oid && u64map_put(&s->direct, ev->oid, 1))
			return -ENOMEM;
		return 0;
	case OP_WRITE:
		return note(s, ev->iid, ev->offset, ev->result, false);
	case OP_COPY_FILE_RANGE:
		return note(s, ev->iid2, ev->offset2, ev->result, false);
	case OP_READ:
		if (ev->result < 0 || u64map_get(&s->direct, ev->oid, &dummy))
			return 0;
		s->reads++;
		return note(s, ev->iid, ev->offset, ev->result, true) ? -ENOMEM : 1;
	default:
		return 0;
	}
}

/* ---- comparing ---- */

struct reads {
	struct diff_result *out;
	const char *sign; /* of the trace that read */
	uint64_t iid;
	const struct spans *base; /* reads of the original; NULL: nothing may be read ahead */
};

/* How far from what the original read? */
static bool ahead(const struct reads *r, uint64_t from, uint64_t to)
{
	for (size_t i = 0; r->base && i < r->base->n; i++) {
		const struct span *b = &r->base->s[i];

		if (to <= b->to + AHEAD_BYTES && from + AHEAD_BYTES >= b->from)
			return true;
	}
	return false;
}

static void tell(const struct reads *r, uint64_t from, uint64_t to)
{
	struct diff_result *d = r->out;

	if (ahead(r, from, to)) {
		d->ahead_bytes += to - from;
		return;
	}
	*(*r->sign == '-' ? &d->only_a : &d->only_b) += 1;
	if (d->n_first < REPLAY_MISMATCH_KEEP)
		snprintf(d->first[d->n_first++], sizeof(d->first[0]),
			"bytes that only one read from the storage:\n%s read iid=%" PRIu64
			" offset=%" PRIu64 " size=%" PRIu64,
			r->sign, r->iid, from, to - from);
}

/* What `read` has and `known` has not. */
static void subtract(const struct reads *r, const struct spans *read, const struct spans *known)
{
	size_t k = 0;

	for (size_t i = 0; i < read->n; i++) {
		uint64_t at = read->s[i].from, to = read->s[i].to;

		while (k < known->n && known->s[k].to <= at)
			k++;
		for (size_t j = k; at < to; j++) {
			uint64_t gap = j < known->n ? MIN(known->s[j].from, to) : to;

			if (gap > at)
				tell(r, at, gap);
			at = j < known->n ? MAX(at, known->s[j].to) : to;
		}
	}
}

static void compare_files(struct diff_side *x, struct diff_side *y, const struct u64map *pairs,
	const char *sign, bool replayed, struct diff_result *out)
{
	static const struct spans none;
	uint64_t iid, value, other;
	size_t pos = 0;

	while (u64map_next(&x->files, &pos, &iid, &value)) {
		struct diff_file *f = (struct diff_file *)(uintptr_t)value, *g = NULL;

		if (u64map_get(pairs, iid, &other))
			g = u64map_ptr(&y->files, other);
		if (g) {
			spans_merge(&g->read);
			spans_merge(&g->known);
		}
		spans_merge(&f->read);
		out->compared += f->read.n > 0;
		subtract(&(struct reads){out, sign, iid, replayed && g ? &g->read : NULL}, &f->read,
			g ? &g->known : &none);
	}
}

void diff_reads_compare(struct diff_side *a, struct diff_side *b, const struct diff_ids *ids,
	struct diff_result *out)
{
	out->reads_a = a->reads;
	out->reads_b = b->reads;
	compare_files(a, b, &ids->iid_ab, "-", a->replayed && !b->replayed, out);
	compare_files(b, a, &ids->iid_ba, "+", b->replayed && !a->replayed, out);
}
