/* SPDX-License-Identifier: MIT */
/*
 * What a step has to wait for in other lanes (docs: order): which resources it uses and how. Who
 * else uses them is in plan_use.c. After "Replaying Multithreaded Traces with Resource-Oriented
 * Ordering" (ROOT, SOSP 2013).
 *
 * Every edge leads from an earlier (start, sequence number) to a later one, as lanes do, so the
 * graph has no cycle, whatever the trace says. At most one predecessor per other lane is kept.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define RANGES 128u /* kept exactly; older ones count as uses of the whole file */

struct plan_range {
	uint64_t from, to;
	uint32_t lane, pos; /* pos: 1 + place in the lane */
	bool write;
};
struct plan_ranges {
	struct plan_range *ring; /* of cap, RANGES at most */
	uint32_t at, n, cap;
};

int64_t plan_step_end(const struct plan_step *s)
{
	int64_t end;

	if (s->dur_ns > INT64_MAX || __builtin_add_overflow(s->start_ns, (int64_t)s->dur_ns, &end))
		return INT64_MAX;
	return end;
}

void plan_step_start(struct plan *p, struct plan_step *s, int64_t start_ns)
{
	struct plan_lane *l = &p->lanes[s->lane];
	int64_t end = plan_step_end(s);

	s->start_ns = start_ns;
	s->dur_ns = end > s->start_ns ? (uint64_t)(end - s->start_ns) : 0;
	l->max_start = MAX(l->max_start, s->start_ns);
}

void plan_step_after(struct plan *p, struct plan_step *s, const struct plan_step *before)
{
	if (before->start_ns > s->start_ns)
		plan_step_start(p, s, before->start_ns);
}

/* ---- file data ---- */

static int ranges_push(struct plan_node *n, const struct plan_range *r)
{
	struct plan_ranges *g = n->ranges;
	struct plan_range *slot;

	if (g->n == g->cap && g->cap < RANGES) { /* not round yet: at is n */
		uint32_t want = g->cap ? g->cap * 2 : 4;

		slot = realloc(g->ring, want * sizeof(*slot));
		if (!slot)
			return fail(-ENOMEM, "out of memory for the plan of this trace");
		g->ring = slot;
		g->cap = want;
	}
	slot = &g->ring[g->at++ % RANGES];
	if (g->n == RANGES) {
		if (plan_use_note(&n->data, slot->lane, slot->pos, slot->write ? USE_SET : USE_GET))
			return -ENOMEM;
	} else {
		g->n++;
	}
	*slot = *r;
	return 0;
}

static int ranges_wait(
	struct plan *p, struct plan_node *n, const struct plan_range *r, struct plan_step *s)
{
	struct plan_ranges *g = n->ranges;
	int err = plan_use_wait(p, &n->data, s, r->write ? USE_SET : USE_GET);

	for (uint32_t i = 0; g && i < g->n; i++) {
		const struct plan_range *o = &g->ring[i];

		if (o->lane != r->lane && (o->write || r->write) && o->from < r->to &&
			r->from < o->to)
			plan_use_wait_lane(p, o->lane, o->pos, s);
	}
	return err;
}

void plan_order_forget(struct plan_node *n)
{
	plan_use_fini(&n->res);
	plan_use_fini(&n->data);
	if (n->ranges)
		free(n->ranges->ring);
	n->ranges = NULL;
	plan_space_fini(n);
}

/* A file that one lane uses keeps only that lane's last read and write. */
static int use_data(struct plan *p, struct plan_node *n, struct plan_step *s, uint64_t from,
	uint64_t size, bool write)
{
	struct plan_range r = {.from = from, .lane = s->lane, .pos = s->index + 1, .write = write};

	if (__builtin_add_overflow(from, size, &r.to))
		r.to = UINT64_MAX;
	if (!n->ranges && !plan_use_alone(&n->data, s->lane)) {
		n->ranges = plan_alloc(p, sizeof(*n->ranges));
		if (!n->ranges)
			return -ENOMEM;
	}
	if (!n->ranges)
		return plan_use_note(&n->data, s->lane, s->index + 1, write ? USE_SET : USE_GET);
	return ranges_wait(p, n, &r, s) ? -ENOMEM : ranges_push(n, &r);
}

static int order_data(struct plan *p, const struct event *ev, struct plan_step *s)
{
	uint32_t eff = op_info[ev->op].effects;
	struct plan_node *n = p->nodes[s->node], *n2;

	if (!n)
		return 0;
	if ((eff & EFF_DATA_READ) && use_data(p, n, s, ev->offset, ev->size, false))
		return -ENOMEM;
	if ((eff & EFF_DATA_WRITE) && use_data(p, n, s, ev->offset, ev->size, true))
		return -ENOMEM;
	if (eff & EFF_DATA2_WRITE) {
		n2 = u64map_ptr(&p->node_index, ev->iid2);
		if (n2 && use_data(p, n2, s, ev->offset2, ev->size, true))
			return -ENOMEM;
	}
	if (ev->op == OP_SETATTR && (ev->arg & EVENT_SET_SIZE))
		return use_data(p, n, s, ev->size, UINT64_MAX, true);
	if ((ev->op == OP_OPEN || ev->op == OP_CREATE) && (ev->flags & O_TRUNC))
		return use_data(p, n, s, 0, UINT64_MAX, true);
	if (eff & EFF_DATA_SYNC) {
		struct plan_range all = {.to = UINT64_MAX, .lane = s->lane};

		return ranges_wait(p, n, &all, s);
	}
	return 0;
}

/* ---- names, inodes, handles ---- */

/* A lookup that overlaps with the last change of the name, came out after it, and had its answer
 * from before. */
static bool saw_past(const struct plan_entry *e, const struct plan_step *s)
{
	if (s->op != OP_LOOKUP || !e->maker || !plan_steps_overlap(e->maker, s))
		return false;
	return s->result == -ENOENT ? e->node != 0 : s->result >= 0 && e->node != s->node;
}

static int order_entry(struct plan *p, uint32_t dir, const struct plan_name *name,
	struct plan_step *s, bool change)
{
	struct plan_node *d = p->nodes[dir];
	struct plan_entry *e;

	if (!dir)
		return 0;
	if (s->result >= 0)
		plan_use_wait_maker(p, d->maker, s);
	if (plan_use(p, &d->res, s, change ? USE_MOD : USE_HOLD))
		return -ENOMEM;
	if (!name)
		return 0;
	e = plan_entry_get(p, d, (struct bytes){name->s, name->n});
	if (!e)
		return -ENOMEM;
	if (s->result >= 0 && e->node && !change)
		plan_use_wait_maker(p, e->maker, s);
	if (!saw_past(e, s))
		return plan_use_entry(p, &e->res, s, change);
	if (plan_order_before(p, s, e->maker))
		return -ENOMEM;
	return plan_use_note(&e->res, s->lane, s->index + 1, change ? USE_LIFE : USE_HOLD);
}

static int order_names(struct plan *p, struct plan_step *s)
{
	const uint32_t changes = EFF_NAME_MAKE | EFF_NAME_KILL | EFF_NAME2_MAKE;
	bool change = (op_info[s->op].effects & changes) && s->result >= 0;
	const struct plan_ext *x = s->ext;

	if (order_entry(p, s->dir, s->name, s, change))
		return -ENOMEM;
	if (!x || !x->dir2)
		return 0;
	return order_entry(p, x->dir2, x->name2, s, change && s->op == OP_RENAME);
}

static enum use_class inode_use(const struct event *ev)
{
	uint32_t eff = op_info[ev->op].effects;
	bool lock = ev->op == OP_SETLK || ev->op == OP_FLOCK || (ev->op == OP_FLUSH && ev->arg);

	if ((lock && ev->result < 0) || ev->op == OP_GETLK)
		return USE_GET; /* tells of the locks that others hold */
	if (ev->result < 0)
		return eff & EFF_DIR_READ ? USE_LIST : USE_HOLD;
	if (ev->op == OP_RMDIR || (eff & EFF_IID_NEW))
		return USE_LIFE;
	if ((eff & EFF_META_WRITE) || lock)
		return USE_SET;
	if (eff & EFF_META_READ)
		return USE_GET;
	return eff & EFF_DIR_READ ? USE_LIST : USE_HOLD;
}

static int order_inode(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_node *n = p->nodes[s->node];
	enum use_class class = inode_use(ev);

	if (!n || ev->op == OP_STATFS)
		return 0;
	if (ev->op == OP_CREATE && (n->maker || n->mode))
		class = USE_HOLD; /* found it there */
	plan_use_wait_maker(p, n->maker, s);
	return plan_use(p, &n->res, s, class);
}

static int order_handle(struct plan *p, uint32_t index, const struct event *ev, struct plan_step *s)
{
	struct plan_handle *h = p->handles[index];
	bool life = ev->op == OP_RELEASE || ev->op == OP_RELEASEDIR;

	if (!index)
		return 0;
	plan_use_wait_maker(p, h->maker, s);
	/* A flush may be the close(2): it waits for the handle's users like a release. */
	if (ev->op == OP_FLUSH && plan_use_wait(p, &h->res, s, USE_LIFE))
		return -ENOMEM;
	return plan_use(p, &h->res, s, life ? USE_LIFE : USE_HOLD);
}

static void note_place(struct plan *p, struct plan_step *s)
{
	struct plan_lane *l = &p->lanes[s->lane];

	s->hi = s->index;
	if (s->index && s->start_ns < l->max_start) {
		l->unsorted = true;
		s->hi = l->steps[s->index - 1]->hi;
	}
	l->max_start = MAX(l->max_start, s->start_ns);
}

int plan_order_step(struct plan *p, const struct event *ev, struct plan_step *s)
{
	note_place(p, s);
	if (p->order != REPLAY_ORDER_RESOURCE || (s->bits & STEP_SKIP))
		return 0;
	if (plan_use_begin(p) || order_names(p, s) || order_inode(p, ev, s) ||
		order_handle(p, s->handle, ev, s) ||
		(s->ext && order_handle(p, s->ext->handle2, ev, s)) || order_data(p, ev, s) ||
		plan_order_size(p, ev, s))
		return -ENOMEM;
	return plan_use_end(p, s);
}
