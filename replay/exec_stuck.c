/* SPDX-License-Identifier: MIT */
/*
 * Locks that are never given: a trace that was cut, made up, or replayed in another order may leave
 * every thread waiting for a lock that another one holds, and locks of open file descriptions know
 * no EDEADLK. The one idea: when all threads wait and no step has ended for a while, one of them
 * gives its wait up (a mismatch, EDEADLK); after several times nobody waits for locks any more, so
 * a run ends whatever the trace says.
 */
#include "exec_priv.h"

#define STUCK_NS  INT64_C(1500000000)
#define STUCK_MAX 8u

static bool all_wait(const struct exec *x)
{
	for (unsigned i = 0; i < x->n_workers; i++)
		if (x->workers[i].started &&
			!atomic_load_explicit(&x->workers[i].waiting, memory_order_relaxed))
			return false;
	return true;
}

bool exec_stuck_check(struct exec *x, struct exec_stuck *k, uint64_t steps)
{
	int64_t now = util_now_ns();

	if (steps != k->steps || !k->since_ns || !all_wait(x)) {
		atomic_store(&x->stuck, false);
		k->since_ns = now;
		k->steps = steps;
		return false;
	}
	if (now - k->since_ns < STUCK_NS && !atomic_load(&x->impatient))
		return false;
	if (!atomic_exchange(&x->stuck, true) && ++k->times >= STUCK_MAX)
		atomic_store(&x->impatient, true);
	return true; /* again and again, until one has seen it */
}

bool exec_stuck_yield(struct exec *x)
{
	return atomic_exchange(&x->stuck, false) || atomic_load(&x->impatient);
}
