/* SPDX-License-Identifier: MIT */
/*
 * The last pass over a plan: lanes put in order of start (a lane of requests that nobody called,
 * lane 0, completes out of order), the edges of `--order=trace`, and predecessors turned from steps
 * into (lane, place), which is all that an executor thread needs to wait.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
	const struct plan_step *x = *(struct plan_step *const *)a,
			       *y = *(struct plan_step *const *)b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int by_end(const void *a, const void *b)
{
	const struct plan_step *x = *(struct plan_step *const *)a,
			       *y = *(struct plan_step *const *)b;
	int64_t ex = plan_step_end(x), ey = plan_step_end(y);

	return ex != ey ? (ex < ey ? -1 : 1) : (x->seq > y->seq) - (x->seq < y->seq);
}

static int by_start_seq(const void *a, const void *b)
{
	const struct plan_step *x = *(struct plan_step *const *)a,
			       *y = *(struct plan_step *const *)b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

static void sort_lanes(struct plan *p)
{
	for (uint32_t i = 0; i < p->n_lanes; i++) {
		struct plan_lane *l = &p->lanes[i];

		if (!l->unsorted)
			continue;
		qsort(l->steps, l->n, sizeof(*l->steps), by_start);
		for (uint32_t k = 0; k < l->n; k++)
			l->steps[k]->index = k;
	}
}

static struct plan_step **all_steps(const struct plan *p, int (*cmp)(const void *, const void *))
{
	struct plan_step **all = malloc((p->info.steps + 1) * sizeof(struct plan_step *));
	size_t n = 0;

	if (!all) {
		fail(-ENOMEM, "out of memory for the plan of this trace");
		return NULL;
	}
	for (uint32_t i = 0; i < p->n_lanes; i++) {
		if (p->lanes[i].n)
			memcpy(all + n, p->lanes[i].steps, p->lanes[i].n * sizeof(*all));
		n += p->lanes[i].n;
	}
	qsort(all, n, sizeof(*all), cmp);
	return all;
}

static int pred_add(struct plan *p, uint32_t lane, uint32_t index)
{
	if (p->n_preds == p->cap_preds) {
		size_t want = p->cap_preds ? p->cap_preds * 2 : 1024;
		struct plan_pred *bigger = realloc(p->preds, want * sizeof(*bigger));

		if (!bigger || want > UINT32_MAX)
			return fail(-ENOMEM, "out of memory for the plan of this trace");
		p->preds = bigger;
		p->cap_preds = want;
	}
	p->preds[p->n_preds++] = (struct plan_pred){lane, index};
	return 0;
}

/*
 * Every step waits for whatever had ended before it started: a sweep over starts and ends. The
 * first hi of the ends are what a step waits for. What one of these waits for itself, or what the
 * lane has waited for, needs no edge: so there are no more of them than calls that were under way.
 */
static int order_by_trace(struct plan *p)
{
	_free_ struct plan_step **starts = all_steps(p, by_start_seq);
	_free_ struct plan_step **ends = all_steps(p, by_end);
	_free_ uint32_t *waited = calloc(p->n_lanes + 1, sizeof(*waited)); /* hi of its last step */
	_free_ struct plan_step **last = calloc(p->n_lanes + 1, sizeof(struct plan_step *));
	uint32_t e = 0, implied = 0;
	int r = 0;

	if (!starts || !ends || !waited || !last || p->info.steps > UINT32_MAX)
		return fail(-ENOMEM, "out of memory for the plan of this trace");
	for (uint64_t i = 0; i < p->info.steps && !r; i++) {
		struct plan_step *s = starts[i];
		uint32_t from;

		for (; e < p->info.steps && plan_step_end(ends[e]) <= s->start_ns &&
			by_start_seq(&ends[e], &s) < 0;
			e++)
			implied = MAX(implied, ends[e]->hi);
		s->hi = e;
		s->preds = (uint32_t)p->n_preds;
		from = MAX(implied, waited[s->lane]);
		waited[s->lane] = e;
		for (uint32_t k = from; k < e; k++)
			if (!last[ends[k]->lane] || last[ends[k]->lane]->index < ends[k]->index)
				last[ends[k]->lane] = ends[k];
		for (uint32_t k = from; k < e && !r; k++) {
			struct plan_step *y = last[ends[k]->lane];

			last[ends[k]->lane] = NULL;
			if (y && y->lane != s->lane)
				r = pred_add(p, y->lane, y->index);
		}
		s->n_preds = (uint32_t)p->n_preds - s->preds;
	}
	return r;
}

int plan_order_finish(struct plan *p)
{
	int r = 0;

	sort_lanes(p);
	if (p->order == REPLAY_ORDER_TRACE) {
		p->cap_preds = 0;
		r = order_by_trace(p);
	} else if (p->n_preds) {
		p->preds = calloc(p->n_preds, sizeof(*p->preds));
		if (!p->preds)
			return fail(-ENOMEM, "out of memory for the plan of this trace");
		for (size_t i = 0; i < p->n_preds; i++)
			p->preds[i] =
				(struct plan_pred){p->pred_steps[i]->lane, p->pred_steps[i]->index};
	}
	for (size_t i = 0; !r && i < p->n_preds; i++)
		p->lanes[p->preds[i].lane].steps[p->preds[i].index]->bits |= STEP_AWAITED;
	return r;
}

void plan_order_fini(struct plan *p)
{
	size_t pos = 0;
	uint64_t k, v;

	for (uint32_t i = 1; i < p->n_nodes; i++)
		plan_order_forget(p->nodes[i]);
	for (uint32_t i = 1; i < p->n_handles; i++)
		plan_use_fini(&p->handles[i]->res);
	while (u64map_next(&p->entries, &pos, &k, &v))
		for (struct plan_entry *e = (void *)(uintptr_t)v; e; e = e->hash_next)
			plan_use_fini(&e->res);
	for (uint32_t i = 0; i < p->n_lanes; i++) {
		free(p->lanes[i].known);
		p->lanes[i].known = NULL;
	}
	free(p->pred_steps);
	free(p->best);
	free(p->best_lanes);
	p->pred_steps = NULL;
	p->best = NULL;
	p->best_lanes = NULL;
}
