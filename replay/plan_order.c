/* SPDX-License-Identifier: MIT */
/*
 * What a step has to wait for in other lanes (docs: order). Every resource remembers, for each lane
 * and kind of use, the last step that used it so; a new step waits for the conflicting ones that
 * had ended before it started. When the last one overlaps with the new step, the step that the same
 * lane had ended before stands in for all earlier ones: that may wait for too much, never for too
 * little. After "Replaying Multithreaded Traces with Resource-Oriented Ordering" (ROOT, SOSP 2013).
 *
 * Every edge leads from an earlier (start, sequence number) to a later one, as lanes do, so the
 * graph has no cycle, whatever the trace says. At most one predecessor per other lane is kept.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define RANGES          128   /* kept exactly; older ones count as uses of the whole file */
#define OVERLAP_MAX     1024u /* steps of one lane under way at once; beyond it there is no order */
#define KNOWN_LANES_MAX 2048u
#define SET_SIZE        (1u << 3) /* FUSE_SET_ATTR_SIZE */

struct plan_range {
	uint64_t from, to;
	uint32_t lane, pos; /* pos: 1 + place in the lane */
	bool write;
};
struct plan_ranges {
	struct plan_range ring[RANGES];
	unsigned at, n;
};

#define BIT(c) (1u << (c))
static const uint8_t conflicts[USE_COUNT] = {
	[USE_HOLD] = BIT(USE_LIFE),
	[USE_GET] = BIT(USE_SET) | BIT(USE_LIFE),
	[USE_SET] = BIT(USE_GET) | BIT(USE_SET) | BIT(USE_LIFE),
	[USE_LIST] = BIT(USE_MOD) | BIT(USE_LIFE),
	[USE_MOD] = BIT(USE_LIST) | BIT(USE_LIFE),
	[USE_LIFE] = BIT(USE_COUNT) - 1,
};

int64_t plan_step_end(const struct plan_step *s)
{
	int64_t end;

	if (s->dur_ns > INT64_MAX || __builtin_add_overflow(s->start_ns, (int64_t)s->dur_ns, &end))
		return INT64_MAX;
	return end;
}

static void candidate(struct plan *p, struct plan_step *pred, const struct plan_step *s)
{
	struct plan_step **best = &p->best[pred->lane];

	if (pred->lane == s->lane)
		return;
	if (!*best) {
		p->best_lanes[p->n_best++] = pred->lane;
		*best = pred;
	} else if (pred->start_ns > (*best)->start_ns ||
		   (pred->start_ns == (*best)->start_ns && pred->index > (*best)->index)) {
		*best = pred;
	}
}

/* The steps of a lane up to place pos (from 1) that had ended before s started. */
static void wait_for(struct plan *p, uint32_t lane, uint32_t pos, const struct plan_step *s)
{
	struct plan_lane *l = &p->lanes[lane];
	uint32_t back = 0;

	/* A thread's calls do not overlap each other: many of them only do in a made-up trace. */
	while (pos && back < OVERLAP_MAX && plan_step_end(l->steps[pos - 1]) > s->start_ns) {
		pos--;
		back++;
	}
	if (pos && back < OVERLAP_MAX)
		candidate(p, l->steps[l->steps[pos - 1]->hi], s);
}

/* What made a thing that s used comes before s, also when the two overlap in the recording. */
static void wait_for_maker(struct plan *p, struct plan_step *maker, const struct plan_step *s)
{
	if (maker && maker != s && maker->start_ns <= s->start_ns && maker->seq < s->seq)
		candidate(p, maker, s);
}

static struct plan_use *res_use(struct plan_res *r, uint32_t lane)
{
	struct plan_use *all = r->many ? r->many : &r->one;

	for (uint32_t i = 0; i < r->n; i++)
		if (all[i].lane == lane)
			return &all[i];
	if (!r->n) {
		r->n = 1;
		r->one.lane = lane;
		return &r->one;
	}
	if (plan_grow(&r->many, &r->cap, r->n, sizeof(*r->many)))
		return NULL;
	if (r->n == 1)
		r->many[0] = r->one;
	r->many[r->n].lane = lane;
	return &r->many[r->n++];
}

static void res_wait(
	struct plan *p, const struct plan_res *r, const struct plan_step *s, enum use_class class)
{
	const struct plan_use *all = r->many ? r->many : &r->one;

	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t pos = 0;

		if (all[i].lane == s->lane)
			continue;
		for (unsigned c = 0; c < USE_COUNT; c++)
			if (conflicts[class] & BIT(c))
				pos = MAX(pos, all[i].pos[c]);
		if (pos)
			wait_for(p, all[i].lane, pos, s);
	}
}

static int res_note(struct plan_res *r, uint32_t lane, uint32_t pos, enum use_class class)
{
	struct plan_use *u = res_use(r, lane);

	if (!u)
		return -ENOMEM;
	u->pos[class] = MAX(u->pos[class], pos);
	return 0;
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

void plan_order_after(struct plan *p, struct plan_step *s, struct plan_step *before)
{
	struct plan_step **steps = p->lanes[before->lane].steps;

	plan_step_after(p, s, steps[before->hi]);
	candidate(p, steps[before->hi], s);
}

/* Who finds a name and who does not is told by results: also calls that overlap keep the order in
 * which they came out. */
static void entry_wait(struct plan *p, const struct plan_res *r, struct plan_step *s, bool change)
{
	const struct plan_use *all = r->many ? r->many : &r->one;

	for (uint32_t i = 0; i < r->n; i++) {
		struct plan_step **steps = p->lanes[all[i].lane].steps;
		uint32_t pos = all[i].pos[USE_LIFE];

		if (change)
			pos = MAX(pos, all[i].pos[USE_HOLD]);
		if (!pos || all[i].lane == s->lane)
			continue;
		plan_order_after(p, s, steps[pos - 1]);
	}
}

static int use(struct plan *p, struct plan_res *r, const struct plan_step *s, enum use_class class)
{
	res_wait(p, r, s, class);
	return res_note(r, s->lane, s->index + 1, class);
}

/* ---- file data ---- */

static int ranges_push(struct plan_node *n, const struct plan_range *r)
{
	struct plan_ranges *g = n->ranges;
	struct plan_range *slot = &g->ring[g->at++ % RANGES];

	if (g->n == RANGES) {
		if (res_note(&n->data, slot->lane, slot->pos, slot->write ? USE_SET : USE_GET))
			return -ENOMEM;
	} else {
		g->n++;
	}
	*slot = *r;
	return 0;
}

static void ranges_wait(
	struct plan *p, struct plan_node *n, const struct plan_range *r, const struct plan_step *s)
{
	struct plan_ranges *g = n->ranges;

	res_wait(p, &n->data, s, r->write ? USE_SET : USE_GET);
	for (unsigned i = 0; g && i < g->n; i++) {
		const struct plan_range *o = &g->ring[i];

		if (o->lane != r->lane && (o->write || r->write) && o->from < r->to &&
			r->from < o->to)
			wait_for(p, o->lane, o->pos, s);
	}
}

/* A file that one lane uses keeps only that lane's last read and write. */
static int use_data(struct plan *p, struct plan_node *n, const struct plan_step *s, uint64_t from,
	uint64_t size, bool write)
{
	struct plan_range r = {.from = from, .lane = s->lane, .pos = s->index + 1, .write = write};

	if (__builtin_add_overflow(from, size, &r.to))
		r.to = UINT64_MAX;
	if (!n->ranges && n->data.n && (n->data.n > 1 || n->data.one.lane != s->lane)) {
		n->ranges = plan_alloc(p, sizeof(*n->ranges));
		if (!n->ranges)
			return -ENOMEM;
	}
	if (!n->ranges)
		return res_note(&n->data, s->lane, s->index + 1, write ? USE_SET : USE_GET);
	ranges_wait(p, n, &r, s);
	return ranges_push(n, &r);
}

static int order_data(struct plan *p, const struct event *ev, const struct plan_step *s)
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
	if (ev->op == OP_SETATTR && (ev->arg & SET_SIZE))
		return use_data(p, n, s, ev->size, UINT64_MAX, true);
	if ((ev->op == OP_OPEN || ev->op == OP_CREATE) && (ev->flags & O_TRUNC))
		return use_data(p, n, s, 0, UINT64_MAX, true);
	if (eff & EFF_DATA_SYNC) {
		struct plan_range all = {.to = UINT64_MAX, .lane = s->lane};

		ranges_wait(p, n, &all, s);
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
		wait_for_maker(p, d->maker, s);
	if (use(p, &d->res, s, change ? USE_MOD : USE_HOLD))
		return -ENOMEM;
	if (!name)
		return 0;
	e = plan_entry_get(p, d, (struct bytes){name->s, name->n});
	if (!e)
		return -ENOMEM;
	if (s->result >= 0 && e->node && !change)
		wait_for_maker(p, e->maker, s);
	if (saw_past(e, s)) {
		if (plan_order_before(p, s, e->maker))
			return -ENOMEM;
	} else {
		entry_wait(p, &e->res, s, change);
	}
	return res_note(&e->res, s->lane, s->index + 1, change ? USE_LIFE : USE_HOLD);
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
	wait_for_maker(p, n->maker, s);
	return use(p, &n->res, s, class);
}

static int order_handle(
	struct plan *p, uint32_t index, const struct event *ev, const struct plan_step *s)
{
	struct plan_handle *h = p->handles[index];
	bool life = ev->op == OP_RELEASE || ev->op == OP_RELEASEDIR;

	if (!index)
		return 0;
	wait_for_maker(p, h->maker, s);
	/* A flush may be the close(2): it waits for the handle's users like a release. */
	if (ev->op == OP_FLUSH)
		res_wait(p, &h->res, s, USE_LIFE);
	return use(p, &h->res, s, life ? USE_LIFE : USE_HOLD);
}

/* ---- the step's own list ---- */

static bool known(struct plan *p, const struct plan_step *s, const struct plan_step *pred)
{
	struct plan_lane *l = &p->lanes[s->lane];
	int64_t *k;

	if (l->unsorted || p->lanes[pred->lane].unsorted || p->n_lanes > KNOWN_LANES_MAX)
		return false;
	if (pred->lane >= l->n_known) {
		k = realloc(l->known, p->n_lanes * sizeof(*k));
		if (!k)
			return false;
		for (uint32_t i = l->n_known; i < p->n_lanes; i++)
			k[i] = INT64_MIN;
		l->known = k;
		l->n_known = p->n_lanes;
	}
	k = &l->known[pred->lane];
	if (*k > pred->index)
		return true;
	*k = (int64_t)pred->index + 1;
	return false;
}

static int preds_grow(struct plan *p)
{
	size_t want = p->cap_preds ? p->cap_preds * 2 : 1024;
	struct plan_step **bigger;

	if (p->n_preds < p->cap_preds)
		return 0;
	bigger = realloc(p->pred_steps, want * sizeof(*bigger));
	if (!bigger || want > UINT32_MAX)
		return fail(-ENOMEM, "out of memory for the plan of this trace");
	p->pred_steps = bigger;
	p->cap_preds = want;
	return 0;
}

static int keep_best(struct plan *p, struct plan_step *s)
{
	int r = 0;

	s->preds = (uint32_t)p->n_preds;
	for (uint32_t i = 0; i < p->n_best; i++) {
		struct plan_step *pred = p->best[p->best_lanes[i]];

		p->best[p->best_lanes[i]] = NULL;
		pred->before_ns = MIN(pred->before_ns, s->start_ns);
		if (r || known(p, s, pred))
			continue;
		r = preds_grow(p);
		if (!r)
			p->pred_steps[p->n_preds++] = pred;
	}
	s->n_preds = (uint32_t)p->n_preds - s->preds;
	p->n_best = 0;
	return r;
}

int plan_order_late(struct plan *p, struct plan_step *first, struct plan_step *then)
{
	uint32_t from = then->preds, n = then->n_preds;

	then->preds = (uint32_t)p->n_preds;
	for (uint32_t i = 0; i <= n; i++) {
		if (preds_grow(p))
			return -ENOMEM;
		p->pred_steps[p->n_preds++] = i < n ? p->pred_steps[from + i] : first;
	}
	then->n_preds = n + 1;
	first->before_ns = MIN(first->before_ns, then->start_ns);
	return 0;
}

static int scratch_grow(struct plan *p)
{
	if (p->cap_best >= p->n_lanes)
		return 0;
	p->cap_best = p->cap_lanes;
	free(p->best);
	free(p->best_lanes);
	p->best = calloc(p->cap_best, sizeof(*p->best));
	p->best_lanes = calloc(p->cap_best, sizeof(*p->best_lanes));
	return p->best && p->best_lanes ? 0
					: fail(-ENOMEM, "out of memory for the plan of this trace");
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
	if (scratch_grow(p) || order_names(p, s) || order_inode(p, ev, s) ||
		order_handle(p, s->handle, ev, s) ||
		(s->ext && order_handle(p, s->ext->handle2, ev, s)) || order_data(p, ev, s) ||
		plan_order_size(p, ev, s))
		return -ENOMEM;
	return keep_best(p, s);
}
