/* SPDX-License-Identifier: MIT */
/*
 * One trace taken apart for comparison: what each lane did, in order; what the kernel did on
 * nobody's behalf, in a heap; how many entries each directory handle gave. Left out: the initial
 * state, notes, what is part of another call, successful lookups and attribute reads (they depend
 * on the kernel's caches), reads of the storage view (diff_reads.c), and all outside the marks
 * "replay" and "done" when there are any.
 */
#include "diff_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "iotape/record.h"

void diff_side_init(struct diff_side *s)
{
	memset(s, 0, sizeof(*s));
	u64map_init(&s->by_number);
	u64map_init(&s->dirs);
	u64map_init(&s->closed);
	u64map_init(&s->own_oids);
	u64map_init(&s->files);
	u64map_init(&s->direct);
	s->kernel.alias = -1;
}

static void lane_clear(struct diff_lane *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->ev[i]);
	l->n = 0;
}

static void free_dirs(struct diff_side *s)
{
	uint64_t key, value;
	size_t pos = 0;

	while (u64map_next(&s->dirs, &pos, &key, &value))
		free((void *)(uintptr_t)value);
	u64map_fini(&s->dirs);
	u64map_init(&s->dirs);
}

/* Forgets what was seen, not who the lanes are. */
static void start_over(struct diff_side *s)
{
	uint64_t key, value;
	size_t pos = 0;

	while (u64map_next(&s->by_number, &pos, &key, &value))
		lane_clear((struct diff_lane *)(uintptr_t)value);
	lane_clear(&s->kernel);
	free_dirs(s);
	diff_files_fini(&s->files);
	u64map_init(&s->files);
	s->n_lanes = 0;
	s->resolve = s->reads = 0;
	s->done = false;
}

void diff_side_fini(struct diff_side *s)
{
	uint64_t key, value;
	size_t pos = 0;

	start_over(s);
	while (u64map_next(&s->by_number, &pos, &key, &value)) {
		struct diff_lane *l = (struct diff_lane *)(uintptr_t)value;

		free(l->ev);
		free(l);
	}
	free(s->kernel.ev);
	free(s->lanes);
	u64map_fini(&s->by_number);
	u64map_fini(&s->dirs);
	u64map_fini(&s->closed);
	u64map_fini(&s->own_oids);
	diff_files_fini(&s->files);
	u64map_fini(&s->direct);
}

static struct diff_lane *lane_get(struct diff_side *s, uint32_t number)
{
	struct diff_lane *l = u64map_ptr(&s->by_number, number);

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l || u64map_put_ptr(&s->by_number, number, l)) {
		free(l);
		return NULL;
	}
	l->number = number;
	l->alias = -1;
	return l;
}

static int name_lane(struct diff_side *s, const struct event *ev)
{
	struct diff_lane *l = lane_get(s, ev->lane);
	unsigned n;
	char rest;

	if (!l)
		return -ENOMEM;
	snprintf(l->comm, sizeof(l->comm), "%.*s", (int)MIN(ev->name.n, sizeof(l->comm) - 1),
		ev->name.n ? ev->name.p : "");
	if (sscanf(l->comm, "lane-%u%c", &n, &rest) == 1) {
		l->alias = n;
		s->aliased = true;
	}
	return 0;
}

static bool is_kernel(const struct diff_lane *l)
{
	return !l->number || l->alias == 0 || !strncmp(l->comm, "kworker", 7);
}

static char *copy_text(struct bytes *b, char *to)
{
	if (b->n)
		memcpy(to, b->p, b->n);
	b->p = to;
	return to + b->n;
}

static int lane_put(struct diff_lane *l, const struct event *ev)
{
	struct diff_event *e;
	char *to;

	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;
		struct diff_event **bigger = realloc(l->ev, cap * sizeof(struct diff_event *));

		if (!bigger)
			return -ENOMEM;
		l->ev = bigger;
		l->cap = cap;
	}
	e = malloc(sizeof(*e) + ev->name.n + ev->name2.n + ev->target.n);
	if (!e)
		return -ENOMEM;
	e->ev = *ev;
	e->used = false;
	to = copy_text(&e->ev.name, e->text);
	to = copy_text(&e->ev.name2, to);
	copy_text(&e->ev.target, to);
	l->ev[l->n++] = e;
	return 0;
}

static int keep(struct diff_side *s, const struct event *ev, bool nobodys)
{
	struct diff_lane *l = lane_get(s, ev->lane);

	if (!l)
		return -ENOMEM;
	if (nobodys || is_kernel(l))
		return lane_put(&s->kernel, ev);
	if (!l->n) {
		if (s->n_lanes == s->cap_lanes) {
			size_t cap = s->cap_lanes ? s->cap_lanes * 2 : 16;
			struct diff_lane **bigger =
				realloc(s->lanes, cap * sizeof(struct diff_lane *));

			if (!bigger)
				return -ENOMEM;
			s->lanes = bigger;
			s->cap_lanes = cap;
		}
		s->lanes[s->n_lanes++] = l;
	}
	return lane_put(l, ev);
}

static int read_dir(struct diff_side *s, const struct event *ev)
{
	struct diff_dir *d = u64map_ptr(&s->dirs, ev->oid);

	if (!d) {
		d = calloc(1, sizeof(*d));
		if (!d || u64map_put_ptr(&s->dirs, ev->oid, d)) {
			free(d);
			return -ENOMEM;
		}
	}
	if (ev->result > 0)
		d->entries += (uint64_t)ev->result;
	d->ended |= ev->result == 0;
	return 0;
}

static bool is_mark(const struct event *ev, const char *name)
{
	return ev->op == OP_MARK && bytes_equal(ev->name, BYTES_STR(name));
}

/* May come from the kernel's caches on either side. */
static bool is_cached(const struct event *ev)
{
	return (ev->op == OP_GETATTR || ev->op == OP_LOOKUP) && ev->result >= 0;
}

static int take(struct diff_side *s, const struct event *ev, bool folded)
{
	enum op_class class = op_info[ev->op].class;
	uint64_t dummy;
	int r;

	if (ev->op == OP_LANE)
		return name_lane(s, ev);
	if (is_mark(ev, "replay"))
		start_over(s);
	else if (is_mark(ev, "done"))
		s->done = true;
	if (class == OPC_SNAP || class == OPC_NOTE || s->done)
		return 0;
	if (class == OPC_RESOLVE && (folded || is_cached(ev))) {
		s->resolve++;
		return 0;
	}
	if (folded)
		return 0;
	if (ev->op == OP_READDIR || ev->op == OP_READDIRPLUS)
		return read_dir(s, ev);
	r = diff_reads_take(s, ev);
	if (r)
		return MIN(r, 0);
	if (ev->op != OP_RELEASE && ev->op != OP_RELEASEDIR)
		return keep(s, ev, false);
	/* asynchronous: a handle was closed, once */
	if (u64map_get(&s->closed, ev->oid, &dummy))
		return 0;
	if (u64map_put(&s->closed, ev->oid, 1))
		return -ENOMEM;
	return keep(s, ev, true);
}

static int put(void *ctx, const struct event *ev, bool folded)
{
	int r = take(ctx, ev, folded);

	return r ? fail(r, "out of memory: the traces are too large to compare") : 0;
}

static int note_mark(struct diff_side *s, const struct event *ev)
{
	uint32_t n = (uint32_t)strlen(RECORD_MARK_OWN);
	struct diff_lane *l;

	if (is_mark(ev, "replay"))
		s->replaying = s->replayed = true;
	if (is_mark(ev, "done"))
		s->replaying = false;
	if (!s->replaying || ev->name.n <= n || memcmp(ev->name.p, RECORD_MARK_OWN, n))
		return 0;
	l = lane_get(s, ev->lane);
	if (!l)
		return fail(-ENOMEM, "out of memory");
	l->own = op_by_name(ev->name.p + n, ev->name.n - n);
	return 0;
}

/* 1: a call that the replayer says it made for itself, and that may be: about a handle, right
 * behind its mark; or the end of what it opened so. */
static int is_own(struct diff_side *s, const struct event *ev)
{
	enum op_class class = op_info[ev->op].class;
	struct diff_lane *l;
	uint64_t dummy;
	enum op own;

	if (ev->op == OP_MARK)
		return note_mark(s, ev);
	if (!s->replaying || class == OPC_RESOLVE || class == OPC_SNAP || class == OPC_NOTE)
		return 0;
	l = lane_get(s, ev->lane);
	if (!l)
		return fail(-ENOMEM, "out of memory");
	own = l->own;
	l->own = OP_NONE;
	if (ev->op == OP_RELEASE && u64map_get(&s->own_oids, ev->oid, &dummy))
		return 1;
	if (ev->op != own || class != OPC_HANDLE)
		return 0;
	s->own++;
	if (own == OP_OPEN && ev->oid && u64map_put(&s->own_oids, ev->oid, 1))
		return fail(-ENOMEM, "out of memory");
	return 1;
}

int diff_load(struct diff_side *s, struct trace_reader *r)
{
	const struct trace_header *h = trace_reader_header(r);
	struct fold *f = NULL;
	struct event ev;
	int err;

	s->replay = h->source_kind && !strcmp(h->source_kind, "replay");
	err = fold_new(&f, put, s);
	while (!err && (err = trace_reader_next(r, &ev)) > 0) {
		err = is_own(s, &ev);
		err = err ? MIN(err, 0) : fold_put(f, &ev);
	}
	if (!err)
		err = fold_end(f);
	fold_free(f);
	return err;
}
