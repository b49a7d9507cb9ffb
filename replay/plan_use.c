/* SPDX-License-Identifier: MIT */
/*
 * Every resource remembers, for each kind of use, the last step of each lane that used it so; a new
 * step waits for the conflicting ones that had ended before it started. When the last one of a lane
 * overlaps with the new step, the step that the lane had ended before stands in for all earlier
 * ones: that may wait for too much, never for too little.
 *
 * A step that has waited for many lanes stands in for them from then on (STEP_COVERS), so the time
 * of a plan does not grow with the square of the lanes. A later step that overlaps with such a one
 * waits for what that one waited for instead.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <string.h>

#define OVERLAP_MAX     1024u /* calls under way at once; beyond it there is no order */
#define BEHIND_MAX      4096u /* steps looked at behind those that cover others */
#define COVER_MIN       64u   /* lanes from which on one step stands in for them */
#define SCAN_MAX        32u   /* uses that are found by looking at all */
#define KNOWN_LANES_MAX 2048u

struct plan_lane_use {
	uint32_t lane, pos;
};
struct plan_shared {
	struct plan_uses {
		struct plan_lane_use *at;
		uint32_t n, cap;
	} class[USE_COUNT];
	struct u64map place; /* class and lane -> place in at[]; may be out of date */
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

static int no_memory(void)
{
	return fail(-ENOMEM, "out of memory for the plan of this trace");
}

/* ---- what the step at hand waits for: at most one step a lane ---- */

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

static void wait_behind(struct plan *p, const struct plan_step *z, const struct plan_step *s)
{
	for (uint32_t i = 0; i < z->n_preds && p->behind_left; i++) {
		const struct plan_step *y = p->pred_steps[z->preds + i];

		p->behind_left--;
		if (y->lane != s->lane)
			plan_use_wait_lane(p, y->lane, y->index + 1, s);
	}
}

/* True when the step at pos itself had ended. */
bool plan_use_wait_lane(struct plan *p, uint32_t lane, uint32_t pos, const struct plan_step *s)
{
	struct plan_lane *l = &p->lanes[lane];
	uint32_t back = 0;
	bool covers = false;

	/* A thread's calls do not overlap each other: many of them only do in a made-up trace. */
	while (pos && back < OVERLAP_MAX && plan_step_end(l->steps[pos - 1]) > s->start_ns) {
		covers = covers || l->steps[pos - 1]->bits & STEP_COVERS;
		if (covers)
			wait_behind(p, l->steps[pos - 1], s);
		pos--;
		back++;
	}
	if (pos && back < OVERLAP_MAX)
		candidate(p, l->steps[l->steps[pos - 1]->hi], s);
	return !back;
}

void plan_use_wait_maker(struct plan *p, struct plan_step *maker, const struct plan_step *s)
{
	if (maker && maker != s && maker->start_ns <= s->start_ns && maker->seq < s->seq)
		candidate(p, maker, s);
}

void plan_order_after(struct plan *p, struct plan_step *s, struct plan_step *before)
{
	struct plan_step **steps = p->lanes[before->lane].steps;

	plan_step_after(p, s, steps[before->hi]);
	candidate(p, steps[before->hi], s);
}

int plan_use_begin(struct plan *p)
{
	p->behind_left = BEHIND_MAX;
	if (p->cap_best >= p->n_lanes)
		return 0;
	p->cap_best = p->cap_lanes;
	free(p->best);
	free(p->best_lanes);
	p->best = calloc(p->cap_best, sizeof(*p->best));
	p->best_lanes = calloc(p->cap_best, sizeof(*p->best_lanes));
	return p->best && p->best_lanes ? 0 : no_memory();
}

/* Has the lane of s waited for pred, or for a later step of pred's lane, before? */
static bool known(struct plan *p, const struct plan_step *s, const struct plan_step *pred)
{
	struct plan_lane *l = &p->lanes[s->lane];
	int64_t *k;

	if (l->unsorted || p->lanes[pred->lane].unsorted || p->n_lanes > KNOWN_LANES_MAX)
		return false;
	if (pred->lane >= l->n_known) {
		k = realloc(l->known, p->cap_lanes * sizeof(*k));
		if (!k)
			return false;
		for (uint32_t i = l->n_known; i < p->cap_lanes; i++)
			k[i] = INT64_MIN;
		l->known = k;
		l->n_known = p->cap_lanes;
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
	bigger = want > UINT32_MAX ? NULL : realloc(p->pred_steps, want * sizeof(*bigger));
	if (!bigger)
		return no_memory();
	p->pred_steps = bigger;
	p->cap_preds = want;
	return 0;
}

int plan_use_end(struct plan *p, struct plan_step *s)
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

/* ---- the users of a resource ---- */

static uint64_t place_key(enum use_class class, uint32_t lane)
{
	return (uint64_t) class << 32 | lane;
}

static struct plan_lane_use *find(struct plan_shared *sh, enum use_class class, uint32_t lane)
{
	struct plan_uses *u = &sh->class[class];
	uint64_t i;

	if (u->n > SCAN_MAX)
		return u64map_get(&sh->place, place_key(class, lane), &i) && i < u->n &&
				       u->at[i].lane == lane
			       ? &u->at[i]
			       : NULL;
	for (i = 0; i < u->n; i++)
		if (u->at[i].lane == lane)
			return &u->at[i];
	return NULL;
}

/* Places from `from` on are new. */
static int index_uses(struct plan_shared *sh, enum use_class class, uint32_t from)
{
	struct plan_uses *u = &sh->class[class];

	for (uint32_t i = from; u->n > SCAN_MAX && i < u->n; i++)
		if (u64map_put(&sh->place, place_key(class, u->at[i].lane), i))
			return no_memory();
	return 0;
}

static int shared_note(struct plan_shared *sh, uint32_t lane, uint32_t pos, enum use_class class)
{
	struct plan_uses *u = &sh->class[class];
	struct plan_lane_use *l = find(sh, class, lane);

	if (l) {
		l->pos = MAX(l->pos, pos);
		return 0;
	}
	if (u->n == u->cap) {
		uint32_t want = u->cap ? u->cap * 2 : 2;

		l = realloc(u->at, want * sizeof(*l));
		if (!l)
			return no_memory();
		u->at = l;
		u->cap = want;
	}
	u->at[u->n++] = (struct plan_lane_use){lane, pos};
	return index_uses(sh, class, u->n == SCAN_MAX + 1 ? 0 : u->n - 1);
}

bool plan_use_alone(const struct plan_res *r, uint32_t lane)
{
	return !r->shared && (!r->used || r->lane == lane);
}

int plan_use_note(struct plan_res *r, uint32_t lane, uint32_t pos, enum use_class class)
{
	if (plan_use_alone(r, lane)) {
		r->used = true;
		r->lane = lane;
		r->pos[class] = MAX(r->pos[class], pos);
		return 0;
	}
	if (!r->shared) {
		r->shared = calloc(1, sizeof(*r->shared));
		if (!r->shared)
			return no_memory();
		u64map_init(&r->shared->place);
		for (unsigned c = 0; c < USE_COUNT; c++)
			if (r->pos[c] &&
				shared_note(r->shared, r->lane, r->pos[c], (enum use_class)c))
				return -ENOMEM;
	}
	return shared_note(r->shared, lane, pos, class);
}

/* All users of one kind. When they are many, s stands in for those that it waits for. */
static int wait_uses(
	struct plan *p, struct plan_shared *sh, enum use_class class, struct plan_step *s)
{
	struct plan_uses *u = &sh->class[class];
	bool cover = u->n > COVER_MIN, covered;
	uint32_t kept = 0, drop;

	for (uint32_t i = 0; i < u->n; i++) {
		struct plan_lane_use l = u->at[i];
		bool ended = l.lane == s->lane || plan_use_wait_lane(p, l.lane, l.pos, s);

		if (!cover || !ended)
			u->at[kept++] = l;
	}
	if (!cover)
		return 0;
	covered = kept < u->n;
	drop = kept > OVERLAP_MAX ? kept - OVERLAP_MAX : 0;
	memmove(u->at, u->at + drop, (kept - drop) * sizeof(*u->at));
	u->n = kept - drop;
	if (covered) {
		u->at[u->n++] = (struct plan_lane_use){s->lane, s->index + 1};
		s->bits |= STEP_COVERS;
	}
	return covered || drop ? index_uses(sh, class, 0) : 0;
}

int plan_use_wait(struct plan *p, struct plan_res *r, struct plan_step *s, enum use_class class)
{
	uint32_t pos = 0;
	int err = 0;

	for (unsigned c = 0; r->shared && c < USE_COUNT && !err; c++)
		if (conflicts[class] & BIT(c))
			err = wait_uses(p, r->shared, (enum use_class)c, s);
	if (r->shared || !r->used || r->lane == s->lane)
		return err;
	for (unsigned c = 0; c < USE_COUNT; c++)
		if (conflicts[class] & BIT(c))
			pos = MAX(pos, r->pos[c]);
	if (pos)
		plan_use_wait_lane(p, r->lane, pos, s);
	return 0;
}

int plan_use(struct plan *p, struct plan_res *r, struct plan_step *s, enum use_class class)
{
	int err = plan_use_wait(p, r, s, class);

	return err ? err : plan_use_note(r, s->lane, s->index + 1, class);
}

/* Of another lane, also when it overlaps. */
static void entry_wait(struct plan *p, uint32_t lane, uint32_t pos, struct plan_step *s)
{
	if (pos && lane != s->lane)
		plan_order_after(p, s, p->lanes[lane].steps[pos - 1]);
}

int plan_use_entry(struct plan *p, struct plan_res *r, struct plan_step *s, bool change)
{
	static const enum use_class classes[] = {USE_LIFE, USE_HOLD};

	for (unsigned k = 0; k < (change ? 2 : 1); k++) {
		struct plan_uses *u = r->shared ? &r->shared->class[classes[k]] : NULL;

		for (uint32_t i = 0; u && i < u->n; i++)
			entry_wait(p, u->at[i].lane, u->at[i].pos, s);
		if (u && change) /* whoever comes later waits for s, and so for them */
			u->n = 0;
		else if (!u && r->used)
			entry_wait(p, r->lane, r->pos[classes[k]], s);
	}
	return plan_use_note(r, s->lane, s->index + 1, change ? USE_LIFE : USE_HOLD);
}

void plan_use_fini(struct plan_res *r)
{
	if (!r->shared)
		return;
	for (unsigned c = 0; c < USE_COUNT; c++)
		free(r->shared->class[c].at);
	u64map_fini(&r->shared->place);
	free(r->shared);
	r->shared = NULL;
}
