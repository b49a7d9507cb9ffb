/* SPDX-License-Identifier: MIT */
/* Rounds of replays over backends in fresh random interleaved order, and what can be said of them.
 */
#ifndef IOTAPE_COMPARE_H
#define IOTAPE_COMPARE_H

#include <stdio.h>

#include "iotape/backend.h"
#include "iotape/report.h"

/* ---- statistics, for themselves testable ---- */
/* Distribution-free interval of the median by order statistics (binomial): fills lo and hi with the
 * narrowest symmetric pair that covers the median with at least `level`; too few values for any
 * (n < 6 at 0.95) give -ERANGE, lo and hi NaN, the median still. values are sorted in place. n 0:
 * -EINVAL, all NaN. */
int median_ci(double *values, size_t n, double level, double *median, double *lo, double *hi);
double median_of(double *values, size_t n); /* sorted in place; NaN when n is 0 */
enum verdict { VERDICT_NONE_SHOWN, VERDICT_SLOWER, VERDICT_FASTER };
/* From paired ratios: interval clear of 1 or not; none shown when there are too few for an
 * interval. rounds_for_5_percent: how many rounds would be needed to see 5 %, 0 when a difference
 * is shown already or fewer than 2 ratios exist. */
enum verdict verdict_from_ratios(double *ratios, size_t n, double *median, double *lo, double *hi,
	unsigned *rounds_for_5_percent);
const char *verdict_name(enum verdict v); /* "slower", "faster", "no difference shown" */

/* Small generator (SplitMix64, S. Vigna): the same seed gives the same order everywhere. */
struct compare_random {
	uint64_t state;
};
uint64_t compare_random_below(struct compare_random *r, uint64_t n); /* uniform in [0, n), n > 0 */
/* The order of one round: cells (workload * n_backends + backend). Workloads in random order, and
 * within each the backends in random order, so that what is paired ran close together. */
void compare_shuffle(
	struct compare_random *r, size_t n_workloads, size_t n_backends, size_t *cells);

/* ---- the experiment ---- */
struct compare_workload {
	const char *name, *path;
};
struct compare_opts {
	const struct compare_workload *workloads;
	size_t n_workloads;
	struct backend *const *backends; /* with names that differ */
	size_t n_backends;
	size_t baseline; /* index */
	unsigned rounds;
	uint64_t seed;
	bool cold, no_prepare;
	bool force; /* go on when fidelity fails or space is short */
	bool check_tree;
	enum replay_order order;
	struct replay_opts replay; /* replay.stop ends the compare too: what is up is taken down */
	const struct filter *filter;
	double limit; /* fraction; < 0: none */
	/* Before each run, within it now and then, and after the last: what is being done, runs
	 * done (with the part of the one under way) of all. */
	void (*progress)(void *ctx, const char *doing, double done, unsigned total);
	void *progress_ctx;
};

struct compare_cell { /* one workload on one backend */
	struct report_run *runs;
	size_t n_runs;
	double median_seconds, lo, hi; /* lo, hi NaN: too few runs */
	struct hist data;              /* latencies of the data calls of all runs */
};
struct compare_where { /* a part of the difference; `op` is a name of op_info[], "sync" or "wait" */
	const char *op;
	double seconds; /* more on the backend than on the baseline */
	double share_percent;
};
struct compare_pair { /* one workload, backend against baseline */
	size_t workload, backend, n;
	double ratio, lo, hi, difference_seconds;
	enum verdict verdict;
	unsigned rounds_for_5_percent;
	struct compare_where where[OP_COUNT + 2]; /* most first; adds up to the difference */
	size_t n_where; /* 0 unless a difference is shown and is no smaller than what is not known
			   of it (docs/measuring.md) */
};
struct compare_on {
	char *name, *kind, *spec, *fs, *how;
};
struct compare_of {
	char *name, *trace;
	struct plan_info plan;
};
struct compare { /* all runs, cells and comparisons */
	unsigned rounds;
	uint64_t seed;
	double limit;
	enum replay_order order;
	enum replay_pace pace;
	double speed;
	bool cold, synced, interrupted;
	size_t baseline, n_workloads, n_backends, n_pairs;
	struct compare_of *workloads;
	struct compare_on *backends;
	struct compare_cell *cells; /* [workload * n_backends + backend] */
	struct compare_pair *pairs;
	struct report_machine machine;
};

/* Replays everything; 0 also when stopped (c->interrupted; what had ended is in it). Otherwise a
 * failed backend, a trace that cannot be read, short space or failed fidelity end it: negative, all
 * taken down. */
int compare_run(struct compare **out, const struct compare_opts *o);
/* Room for the results; every string NULL, every cell without runs. */
int compare_new(struct compare **out, size_t n_workloads, size_t n_backends, unsigned rounds);
/* Cells' medians and the comparisons from the runs; may be called again. */
int compare_summarise(struct compare *c);
void compare_free(struct compare *c);
/* Is the backend slower than the baseline beyond the limit, its interval clear of it? Any: 1. */
bool compare_pair_beyond(const struct compare *c, const struct compare_pair *p);
int compare_beyond_limit(const struct compare *c);
void compare_text(const struct compare *c, FILE *out);
void compare_json(const struct compare *c, FILE *out);

#endif
