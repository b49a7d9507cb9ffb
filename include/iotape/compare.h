/* SPDX-License-Identifier: MIT */
/* Rounds of replays over backends in fresh random interleaved order, and what can be said of them.
 */
#ifndef IOTAPE_COMPARE_H
#define IOTAPE_COMPARE_H

#include <stdio.h>

#include "iotape/backend.h"
#include "iotape/replay.h"

struct compare_workload {
	const char *name, *path;
};
struct compare_opts {
	const struct compare_workload *workloads;
	size_t n_workloads;
	struct backend *const *backends;
	size_t n_backends;
	size_t baseline; /* index */
	unsigned rounds;
	uint64_t seed;
	bool cold, no_prepare, force; /* force: go on when fidelity fails */
	enum replay_order order;
	struct replay_opts replay;
	const struct filter *filter;
	double limit; /* fraction; < 0: none */
	void (*progress)(void *ctx, const char *doing, unsigned done, unsigned total);
	void *progress_ctx;
};

struct compare; /* all runs, cells and comparisons */
int compare_run(struct compare **out, const struct compare_opts *o);
void compare_free(struct compare *c);
/* 1 when a backend is slower than the baseline beyond the limit, with its interval clear of it. */
int compare_beyond_limit(const struct compare *c);
void compare_text(const struct compare *c, FILE *out);
void compare_json(const struct compare *c, FILE *out);

/* ---- statistics, for themselves testable ---- */
/* Distribution-free interval of the median by order statistics (binomial): fills lo and hi with the
 * widest pair needed for at least `level`; n < 6 at 0.95 gives -ERANGE. values are sorted in place.
 */
int median_ci(double *values, size_t n, double level, double *median, double *lo, double *hi);
enum verdict { VERDICT_NONE_SHOWN, VERDICT_SLOWER, VERDICT_FASTER };
/* From paired ratios: interval clear of 1 or not. rounds_for_5_percent: how many rounds would be
 * needed to see 5 %, 0 when shown already. */
enum verdict verdict_from_ratios(double *ratios, size_t n, double *median, double *lo, double *hi,
	unsigned *rounds_for_5_percent);

#endif
