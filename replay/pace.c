/* SPDX-License-Identifier: MIT */
/*
 * When a step may start beyond the order: at once (asap), after the recorded gap since its
 * predecessors ended (think), or at its recorded time (clock). --speed divides gaps and times.
 */
#include "exec_priv.h"

#include <time.h>

static int64_t scaled(const struct exec *x, int64_t ns)
{
	double v = (double)ns / (x->o->speed > 0 ? x->o->speed : 1.0);

	return v < 0 ? 0 : v > 4e18 ? (int64_t)4e18 : (int64_t)v;
}

struct ends {
	int64_t recorded, replayed;
};

static void later(struct ends *e, const struct exec *x, const struct plan_step *pred)
{
	e->recorded = MAX(e->recorded, plan_step_end(pred));
	e->replayed = MAX(e->replayed, x->recs[pred->lane][pred->index].end_ns);
}

int64_t pace_target(const struct exec *x, const struct plan_step *s)
{
	const struct plan_lane *l = &x->p->lanes[s->lane];
	struct ends e = {INT64_MIN, 0};

	if (x->o->pace == REPLAY_PACE_ASAP)
		return 0;
	if (x->o->pace == REPLAY_PACE_CLOCK)
		return x->start_ns + scaled(x, s->start_ns);
	if (s->index)
		later(&e, x, l->steps[s->index - 1]);
	for (uint32_t i = 0; i < s->n_preds; i++) {
		const struct plan_pred *pred = &x->p->preds[s->preds + i];

		later(&e, x, x->p->lanes[pred->lane].steps[pred->index]);
	}
	if (e.recorded == INT64_MIN) /* nothing before it: since the trace began */
		return x->start_ns + scaled(x, s->start_ns);
	return e.replayed + (s->start_ns > e.recorded ? scaled(x, s->start_ns - e.recorded) : 0);
}

void pace_sleep(const struct exec *x, int64_t target_ns)
{
	int64_t now;

	while ((now = util_now_ns()) < target_ns && !atomic_load(&x->abort)) {
		int64_t until = MIN(target_ns, now + 50000000); /* looks at abort now and then */
		struct timespec ts = {until / 1000000000, until % 1000000000};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
}
