/* SPDX-License-Identifier: MIT */
/*
 * Edges against the order of completion. Of two calls that overlap, the one that came out later may
 * be the one that has to come first, when the other has its place and edges already: its start is
 * then moved behind the first one's, as far as what it is known to precede leaves room, so that
 * edges still lead from earlier starts to later ones. Where there is no room, there is no edge.
 */
#include "plan_build_priv.h"

bool plan_steps_overlap(const struct plan_step *a, const struct plan_step *b)
{
	return a->lane != b->lane && plan_step_end(a) > b->start_ns &&
	       plan_step_end(b) > a->start_ns;
}

int plan_order_before(struct plan *p, struct plan_step *first, struct plan_step *then)
{
	const struct plan_lane *l = &p->lanes[then->lane];
	const struct plan_step *waits = p->best[then->lane]; /* what first is to wait for */
	int64_t start = first->start_ns + 1;

	if (l->unsorted || p->lanes[first->lane].unsorted || first->start_ns == INT64_MAX ||
		(waits && waits->index >= then->index))
		return 0;
	if (start > then->start_ns) {
		if (start >= then->before_ns ||
			(then->index + 1 < l->n && start >= l->steps[then->index + 1]->start_ns))
			return 0;
		plan_step_start(p, then, start);
	}
	return plan_order_late(p, first, then);
}
