/* SPDX-License-Identifier: MIT */
/*
 * Steps and the lookups on the way to them. The kernel turns one call of an application into
 * several requests: it walks the path (lookup), refreshes attributes (getattr), asks for
 * capabilities and access lists (getxattr), and closes in two parts (flush, release). Only the call
 * itself is a step of a replay: repeating it repeats the others. A lookup that nobody followed up
 * was a stat(2), and is a step.
 *
 * What cannot be told yet waits in a queue together with what came after it, so events leave in the
 * order in which they came; a queue that is full decides its oldest. Nothing is reordered here.
 */
#include "replay_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "iotape/map.h"

#define CAPABILITY "security.capability"
#define FMODE_EXEC 0x20u /* in the flags of an open that execve makes */

struct fold_item {
	struct event ev;
	char *text; /* the event's strings, when it is a copy */
	size_t text_cap;
	bool decided, folded;
};

struct fold_lane {
	uint64_t pending[FOLD_PENDING]; /* positions in the queue, oldest first */
	unsigned n;
	uint64_t opened; /* iid that it opened last in a way that makes the kernel ask */
};

struct fold {
	fold_fn fn;
	void *ctx;
	struct fold_item *ring; /* position p lives in ring[p % FOLD_WINDOW] */
	uint64_t head, tail;    /* positions: first held, next free */
	struct u64map lanes;    /* lane -> struct fold_lane */
	struct u64map flushed;  /* oids that were flushed */
};

int fold_new(struct fold **out, fold_fn fn, void *ctx)
{
	struct fold *f = calloc(1, sizeof(*f));

	if (f)
		f->ring = calloc(FOLD_WINDOW, sizeof(*f->ring));
	if (!f || !f->ring) {
		free(f);
		return fail(-ENOMEM, "out of memory");
	}
	f->fn = fn;
	f->ctx = ctx;
	u64map_init(&f->lanes);
	u64map_init(&f->flushed);
	*out = f;
	return 0;
}

void fold_free(struct fold *f)
{
	uint64_t lane, p;
	size_t pos = 0;

	if (!f)
		return;
	while (u64map_next(&f->lanes, &pos, &lane, &p))
		free((void *)(uintptr_t)p);
	u64map_fini(&f->lanes);
	u64map_fini(&f->flushed);
	for (size_t i = 0; i < FOLD_WINDOW; i++)
		free(f->ring[i].text);
	free(f->ring);
	free(f);
}

static struct fold_item *item_at(struct fold *f, uint64_t pos)
{
	return &f->ring[pos % FOLD_WINDOW];
}

static struct fold_lane *lane_get(struct fold *f, uint32_t lane)
{
	struct fold_lane *l = u64map_ptr(&f->lanes, lane);

	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (!l || u64map_put_ptr(&f->lanes, lane, l)) {
		free(l);
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	return l;
}

static bool starts_with(struct bytes b, const char *s)
{
	size_t n = strlen(s);

	return b.n >= n && !memcmp(b.p, s, n);
}

/* Might be the kernel's own, on the way to something else. */
static bool is_resolve(const struct event *ev)
{
	switch (ev->op) {
	case OP_LOOKUP:
	case OP_GETATTR:
		return true;
	case OP_GETXATTR:
		return bytes_equal(ev->name, BYTES_STR(CAPABILITY)) ||
		       starts_with(ev->name, "system.posix_acl_");
	default:
		return false;
	}
}

/* A truncating open and an execve make the kernel ask for capabilities when the file is open: what
 * comes next in the lane may be about something else. */
static bool asked_for(struct fold_lane *l, const struct event *ev)
{
	bool opens = ev->op == OP_OPEN || ev->op == OP_CREATE;

	if (ev->op == OP_GETXATTR)
		return ev->iid == l->opened && bytes_equal(ev->name, BYTES_STR(CAPABILITY));
	if (opens && ev->result >= 0 && (ev->flags & (O_TRUNC | FMODE_EXEC)))
		l->opened = ev->iid;
	else if (opens || (!is_resolve(ev) && ev->iid != l->opened))
		l->opened = 0;
	return false;
}

static bool same_entry(const struct event *p, uint64_t parent, struct bytes name)
{
	return p->op == OP_LOOKUP && p->parent == parent && name.n && bytes_equal(p->name, name);
}

/* Is the pending event p a part of the call that ev belongs to? */
static bool follows_up(const struct event *p, const struct event *ev)
{
	if (p->iid && (ev->parent == p->iid || ev->parent2 == p->iid))
		return true;
	if (ev->op == OP_LOOKUP)
		return false; /* of the same thing again: another stat */
	if (is_resolve(ev))
		return p->op == OP_LOOKUP && p->iid && p->iid == ev->iid;
	if (p->iid && (ev->iid == p->iid || ev->iid2 == p->iid))
		return true;
	return same_entry(p, ev->parent, ev->name) || same_entry(p, ev->parent2, ev->name2);
}

static void decide(struct fold_item *it, bool folded)
{
	it->decided = true;
	it->folded = folded;
}

/* ev of the lane arrives: which of the pending does it take in, which were steps of their own? */
static void lane_settle(struct fold *f, struct fold_lane *l, const struct event *ev)
{
	bool resolve = is_resolve(ev);
	unsigned kept = 0;

	for (unsigned i = 0; i < l->n; i++) {
		struct fold_item *it = item_at(f, l->pending[i]);

		if (l->pending[i] < f->head || it->decided)
			continue;
		if (follows_up(&it->ev, ev))
			decide(it, true);
		else if (!resolve)
			decide(it, false);
		else
			l->pending[kept++] = l->pending[i];
	}
	l->n = kept;
}

static int deliver(struct fold *f)
{
	while (f->head < f->tail && item_at(f, f->head)->decided) {
		struct fold_item *it = item_at(f, f->head++);
		int r = f->fn(f->ctx, &it->ev, it->folded);

		if (r)
			return r;
	}
	return 0;
}

static void copy_bytes(struct bytes *b, char **to)
{
	if (b->n)
		memcpy(*to, b->p, b->n);
	b->p = *to;
	*to += b->n;
}

static int push(struct fold *f, const struct event *ev, bool decided, bool folded)
{
	struct fold_item *it;
	size_t need = (size_t)ev->name.n + ev->name2.n + ev->target.n;
	char *to;
	int r;

	if (f->tail - f->head == FOLD_WINDOW) {
		decide(item_at(f, f->head), false);
		r = deliver(f);
		if (r)
			return r;
	}
	it = item_at(f, f->tail);
	if (need > it->text_cap) {
		free(it->text);
		it->text_cap = 0;
		it->text = malloc(need);
		if (!it->text)
			return fail(-ENOMEM, "out of memory");
		it->text_cap = need;
	}
	it->ev = *ev;
	to = it->text;
	copy_bytes(&it->ev.name, &to);
	copy_bytes(&it->ev.name2, &to);
	copy_bytes(&it->ev.target, &to);
	it->decided = decided;
	it->folded = folded;
	f->tail++;
	return 0;
}

static int put_pending(struct fold *f, struct fold_lane *l, const struct event *ev)
{
	int r;

	if (l->n == FOLD_PENDING) {
		if (l->pending[0] >= f->head)
			decide(item_at(f, l->pending[0]), false);
		memmove(l->pending, l->pending + 1, (FOLD_PENDING - 1) * sizeof(l->pending[0]));
		l->n--;
	}
	r = push(f, ev, false, false);
	if (r)
		return r;
	l->pending[l->n++] = f->tail - 1;
	return 0;
}

/* The second half of a close: whether the first half was seen. */
static int release_folded(struct fold *f, const struct event *ev, bool *folded)
{
	*folded = false;
	if (ev->op == OP_FLUSH && ev->oid && u64map_put(&f->flushed, ev->oid, 1))
		return fail(-ENOMEM, "out of memory");
	if (ev->op == OP_RELEASE || ev->op == OP_RELEASEDIR)
		*folded = u64map_del(&f->flushed, ev->oid);
	return 0;
}

int fold_put(struct fold *f, const struct event *ev)
{
	enum op_class class = op_info[ev->op].class;
	bool closes = ev->op == OP_RELEASE || ev->op == OP_RELEASEDIR;
	bool folded = false;
	int r;

	if (class != OPC_SNAP && class != OPC_NOTE && !closes) {
		struct fold_lane *l = lane_get(f, ev->lane);

		if (!l)
			return -ENOMEM;
		if (l->n)
			lane_settle(f, l, ev);
		if (asked_for(l, ev)) {
			r = push(f, ev, true, true);
			return r ? r : deliver(f);
		}
		if (is_resolve(ev)) {
			r = put_pending(f, l, ev);
			return r ? r : deliver(f);
		}
	}
	r = release_folded(f, ev, &folded);
	if (r)
		return r;
	if (f->head < f->tail) {
		r = deliver(f);
		if (r)
			return r;
	}
	if (f->head == f->tail)
		return f->fn(f->ctx, ev, folded);
	return push(f, ev, true, folded);
}

int fold_end(struct fold *f)
{
	for (uint64_t p = f->head; p < f->tail; p++)
		if (!item_at(f, p)->decided)
			decide(item_at(f, p), false);
	return deliver(f);
}
