/* SPDX-License-Identifier: MIT */
/*
 * From runs to statements: the median of each cell, the paired ratio of each backend to the
 * baseline, and where a difference comes from. The one idea of "where": every second of a run
 * belongs to one operation, to the final sync, or to none (waiting and the engine); so the parts of
 * a difference add up to it. When lanes overlap, the time in calls is more than the time that
 * passed, and each operation gets its proportion of what passed. Runs nothing, prints nothing.
 */
#include "iotape/compare.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int compare_new(struct compare **out, size_t n_workloads, size_t n_backends, unsigned rounds)
{
	struct compare *c = calloc(1, sizeof(*c));

	if (!c)
		return fail(-ENOMEM, "out of memory for the results");
	c->rounds = rounds;
	c->limit = -1;
	c->speed = 1;
	c->n_workloads = n_workloads;
	c->n_backends = n_backends;
	c->workloads = calloc(n_workloads, sizeof(*c->workloads));
	c->backends = calloc(n_backends, sizeof(*c->backends));
	c->cells = calloc(n_workloads * n_backends, sizeof(*c->cells));
	c->pairs = calloc(n_workloads * n_backends, sizeof(*c->pairs));
	for (size_t i = 0; c->cells && i < n_workloads * n_backends; i++) {
		c->cells[i].median_seconds = c->cells[i].lo = c->cells[i].hi = NAN;
		hist_init(&c->cells[i].data);
		c->cells[i].runs = calloc(rounds, sizeof(*c->cells[i].runs));
		if (!c->cells[i].runs)
			goto nomem;
	}
	if (c->workloads && c->backends && c->cells && c->pairs) {
		*out = c;
		return 0;
	}
nomem:
	compare_free(c);
	return fail(-ENOMEM, "out of memory for the results of %u rounds", rounds);
}

void compare_free(struct compare *c)
{
	if (!c)
		return;
	for (size_t i = 0; c->workloads && i < c->n_workloads; i++) {
		free(c->workloads[i].name);
		free(c->workloads[i].trace);
	}
	for (size_t i = 0; c->backends && i < c->n_backends; i++) {
		free(c->backends[i].name);
		free(c->backends[i].kind);
		free(c->backends[i].spec);
		free(c->backends[i].fs);
		free(c->backends[i].how);
	}
	for (size_t i = 0; c->cells && i < c->n_workloads * c->n_backends; i++)
		free(c->cells[i].runs);
	free(c->workloads);
	free(c->backends);
	free(c->cells);
	free(c->pairs);
	free(c);
}

static const struct compare_cell *cell_of(const struct compare *c, size_t workload, size_t backend)
{
	return &c->cells[workload * c->n_backends + backend];
}

/* Seconds of a run that belong to op; OP_NONE: to the final sync. */
static double part_of(const struct report_run *run, unsigned op)
{
	double passed = run->seconds - run->sync_seconds, busy = 0;

	if (op == OP_NONE)
		return run->sync_seconds;
	for (unsigned i = 0; i < OP_COUNT; i++)
		busy += run->op[i].total_ms / 1e3;
	return run->op[op].total_ms / 1e3 * (busy > passed ? passed / busy : 1);
}

static double median_part(const struct compare_cell *cell, unsigned op, double *scratch)
{
	for (size_t i = 0; i < cell->n_runs; i++)
		scratch[i] = part_of(&cell->runs[i], op);
	return median_of(scratch, cell->n_runs);
}

static void add_where(struct compare_pair *p, const char *op, double seconds)
{
	size_t i = p->n_where++;
	struct compare_where w = {op, seconds, 100 * seconds / p->difference_seconds};

	for (; i && p->where[i - 1].share_percent < w.share_percent; i--)
		p->where[i] = p->where[i - 1];
	p->where[i] = w;
}

/*
 * Has the difference parts worth naming? Only when it is shown, is at least half as wide as the
 * interval of its (log) ratio, and the medians of the times say the same as the median of the
 * ratios. Else the parts are those of noise: shares of thousands of percent, either way.
 */
static bool has_parts(const struct compare_pair *p)
{
	if (p->verdict == VERDICT_NONE_SHOWN || p->difference_seconds == 0)
		return false;
	return (p->difference_seconds > 0) == (p->verdict == VERDICT_SLOWER) &&
	       fabs(log(p->ratio)) >= log(p->hi / p->lo) / 2;
}

static void find_where(struct compare_pair *p, const struct compare_cell *base,
	const struct compare_cell *cell, double *scratch)
{
	double rest = p->difference_seconds;

	p->n_where = 0;
	if (!has_parts(p))
		return;
	for (unsigned op = 0; op < OP_COUNT; op++) {
		double d = median_part(cell, op, scratch) - median_part(base, op, scratch);

		if (!(fabs(d) > 0))
			continue;
		add_where(p, op == OP_NONE ? "sync" : op_info[op].name, d);
		rest -= d;
	}
	add_where(p, "wait", rest);
}

/* Ratios of the rounds that ended on both. */
static size_t pair_rounds(
	const struct compare_cell *base, const struct compare_cell *cell, double *ratios)
{
	size_t n = 0;

	for (size_t i = 0; i < cell->n_runs; i++)
		for (size_t k = 0; k < base->n_runs; k++)
			if (base->runs[k].round == cell->runs[i].round &&
				base->runs[k].seconds > 0 && cell->runs[i].seconds > 0)
				ratios[n++] = cell->runs[i].seconds / base->runs[k].seconds;
	return n;
}

int compare_summarise(struct compare *c)
{
	_free_ double *scratch = calloc(c->rounds ? c->rounds : 1, sizeof(*scratch));

	if (!scratch)
		return fail(-ENOMEM, "out of memory for the statistics");
	for (size_t i = 0; i < c->n_workloads * c->n_backends; i++) {
		struct compare_cell *cell = &c->cells[i];

		for (size_t k = 0; k < cell->n_runs; k++)
			scratch[k] = cell->runs[k].seconds;
		/* too few runs: no interval, which the reports say */
		median_ci(scratch, cell->n_runs, 0.95, &cell->median_seconds, &cell->lo, &cell->hi);
	}
	c->n_pairs = 0;
	for (size_t w = 0; w < c->n_workloads; w++)
		for (size_t b = 0; b < c->n_backends; b++) {
			const struct compare_cell *base = cell_of(c, w, c->baseline);
			const struct compare_cell *cell = cell_of(c, w, b);
			struct compare_pair *p = &c->pairs[c->n_pairs];

			if (b == c->baseline)
				continue;
			c->n_pairs++;
			*p = (struct compare_pair){.workload = w, .backend = b};
			p->n = pair_rounds(base, cell, scratch);
			p->verdict = verdict_from_ratios(
				scratch, p->n, &p->ratio, &p->lo, &p->hi, &p->rounds_for_5_percent);
			p->difference_seconds = cell->median_seconds - base->median_seconds;
			find_where(p, base, cell, scratch);
		}
	return 0;
}

bool compare_pair_beyond(const struct compare *c, const struct compare_pair *p)
{
	return c->limit >= 0 && p->lo > 1 + c->limit;
}

int compare_beyond_limit(const struct compare *c)
{
	for (size_t i = 0; i < c->n_pairs; i++)
		if (compare_pair_beyond(c, &c->pairs[i]))
			return 1;
	return 0;
}
