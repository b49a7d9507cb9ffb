/* SPDX-License-Identifier: MIT */
/*
 * Results as JSON: the objects of one run and of one cell, which `replay` prints too, and the whole
 * document of a compare. The keys are fixed (docs/iotape.1, JSON); the unit is in the key; a figure
 * that does not exist is null. Formats only: every number comes ready from the summary.
 */
#include "iotape/compare.h"

#include <math.h>

const char *const report_order_names[] = {"trace", "resource", "thread", NULL};
const char *const report_pace_names[] = {"asap", "think", "clock", NULL};
const char *const report_append_names[] = {"offset", "native", NULL};

static void ops_json(struct json *j, const struct report_run *run)
{
	json_object(j, "ops");
	for (unsigned i = 0; i < OP_COUNT; i++) {
		const struct report_op *op = &run->op[i];

		if (!op->count)
			continue;
		json_object(j, op_info[i].name);
		json_u64(j, "count", op->count);
		json_u64(j, "errors", op->errors);
		json_u64(j, "bytes", op->bytes);
		json_f64(j, "total_ms", op->total_ms);
		json_f64(j, "mean_ms", op->mean_ms);
		json_f64(j, "p50_ms", op->p50_ms);
		json_f64(j, "p95_ms", op->p95_ms);
		json_f64(j, "p99_ms", op->p99_ms);
		json_f64(j, "max_ms", op->max_ms);
		json_end(j, '}');
	}
	json_end(j, '}');
}

void report_run_json(struct json *j, const char *key, const struct report_run *run)
{
	json_object(j, key);
	json_u64(j, "round", run->round);
	if (run->position)
		json_u64(j, "position", run->position);
	json_f64(j, "seconds", run->seconds);
	json_f64(j, "sync_seconds", run->sync_seconds);
	json_f64(j, "mb_per_s", run->mb_per_s);
	json_f64(j, "iops", run->iops);
	json_f64(j, "mean_ms", run->mean_ms);
	json_f64(j, "p50_ms", run->p50_ms);
	json_f64(j, "p95_ms", run->p95_ms);
	json_f64(j, "p99_ms", run->p99_ms);
	json_f64(j, "max_ms", run->max_ms);
	json_f64(j, "cpu_percent", run->cpu_percent);
	json_f64(j, "self_cpu_seconds", run->self_cpu_seconds);
	json_u64(j, "steps", run->steps);
	json_u64(j, "data_calls", run->data_calls);
	json_u64(j, "read_bytes", run->read_bytes);
	json_u64(j, "write_bytes", run->write_bytes);
	json_u64(j, "mismatches", run->mismatches);
	json_u64(j, "environmental", run->environmental);
	json_u64(j, "skipped", run->skipped);
	json_u64(j, "direct_refused", run->direct_refused);
	json_f64(j, "first_touch_write_ms", run->first_touch_write_ms);
	json_f64(j, "overwrite_ms", run->overwrite_ms);
	json_f64(j, "allocated_bytes",
		run->allocated_bytes ? (double)run->allocated_bytes : (double)NAN);
	json_bool(j, "cached", run->cached);
	json_f64(j, "tree_differences",
		run->tree_checked ? (double)run->tree_differences : (double)NAN);
	ops_json(j, run);
	json_end(j, '}');
}

static void interval_json(struct json *j, const char *key, double lo, double hi)
{
	if (!isfinite(lo) || !isfinite(hi)) {
		json_str(j, key, NULL);
		return;
	}
	json_array(j, key);
	json_f64(j, NULL, lo);
	json_f64(j, NULL, hi);
	json_end(j, ']');
}

static void fidelity_json(struct json *j, const struct report_run *runs, size_t n)
{
	double matched = 100, lag = 0;
	uint64_t violations = 0;

	for (size_t i = 0; i < n; i++) {
		matched = MIN(matched, runs[i].matched_percent);
		lag = MAX(lag, runs[i].start_lag_p99_us);
		violations += runs[i].order_violations;
	}
	json_object(j, "fidelity");
	json_f64(j, "matched_percent", n ? matched : (double)NAN);
	json_u64(j, "order_violations", violations);
	json_f64(j, "start_lag_p99_us", n ? lag : (double)NAN);
	json_end(j, '}');
}

void report_cell_json(struct json *j, const char *key, const char *workload, const char *backend,
	const struct report_run *runs, size_t n)
{
	_free_ double *seconds = calloc(n ? n : 1, sizeof(*seconds));
	double median = NAN, lo = NAN, hi = NAN;

	json_object(j, key);
	json_str(j, "workload", workload);
	json_str(j, "backend", backend);
	json_array(j, "runs");
	for (size_t i = 0; i < n; i++) {
		report_run_json(j, NULL, &runs[i]);
		if (seconds)
			seconds[i] = runs[i].seconds;
	}
	json_end(j, ']');
	if (seconds)
		median_ci(seconds, n, 0.95, &median, &lo, &hi);
	json_f64(j, "median_seconds", median);
	interval_json(j, "ci95_seconds", lo, hi);
	fidelity_json(j, runs, n);
	json_end(j, '}');
}

static void workloads_json(struct json *j, const struct compare *c)
{
	json_array(j, "workloads");
	for (size_t i = 0; i < c->n_workloads; i++) {
		const struct compare_of *w = &c->workloads[i];

		json_object(j, NULL);
		json_str(j, "name", w->name);
		json_str(j, "trace", w->trace);
		json_u64(j, "ops", w->plan.steps);
		json_u64(j, "read_bytes", w->plan.read_bytes);
		json_u64(j, "write_bytes", w->plan.write_bytes);
		json_u64(j, "threads", w->plan.lanes);
		json_u64(j, "space_bytes", w->plan.space_bytes);
		json_bool(j, "cut", w->plan.cut);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void backends_json(struct json *j, const struct compare *c)
{
	json_array(j, "backends");
	for (size_t i = 0; i < c->n_backends; i++) {
		const struct compare_on *b = &c->backends[i];

		json_object(j, NULL);
		json_str(j, "name", b->name);
		json_str(j, "kind", b->kind);
		json_str(j, "spec", b->spec);
		json_str(j, "fs", b->fs);
		json_str(j, "how", b->how);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void pair_json(struct json *j, const struct compare *c, const struct compare_pair *p)
{
	json_object(j, NULL);
	json_str(j, "workload", c->workloads[p->workload].name);
	json_str(j, "baseline", c->backends[c->baseline].name);
	json_str(j, "backend", c->backends[p->backend].name);
	json_u64(j, "pairs", p->n);
	json_f64(j, "ratio", p->ratio);
	interval_json(j, "ci95", p->lo, p->hi);
	json_str(j, "verdict", verdict_name(p->verdict));
	json_bool(j, "beyond_limit", compare_pair_beyond(c, p));
	json_f64(j, "rounds_for_5_percent",
		p->rounds_for_5_percent ? p->rounds_for_5_percent : (double)NAN);
	json_f64(j, "difference_seconds", p->difference_seconds);
	json_array(j, "where");
	for (size_t i = 0; i < p->n_where; i++) {
		json_object(j, NULL);
		json_str(j, "op", p->where[i].op);
		json_f64(j, "share_of_difference_percent", p->where[i].share_percent);
		json_f64(j, "seconds", p->where[i].seconds);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
}

void compare_json(const struct compare *c, FILE *out)
{
	struct json j;

	json_init(&j, out, 2);
	json_object(&j, NULL);
	json_str(&j, "iotape", IOTAPE_VERSION);
	json_u64(&j, "rounds", c->rounds);
	json_str(&j, "order", report_order_names[c->order]);
	json_str(&j, "pace", report_pace_names[c->pace]);
	json_f64(&j, "speed", c->speed);
	json_str(&j, "cache", c->cold ? "cold" : "warm");
	json_bool(&j, "sync", c->synced);
	json_u64(&j, "seed", c->seed);
	json_f64(&j, "limit_percent", c->limit >= 0 ? 100 * c->limit : (double)NAN);
	json_bool(&j, "interrupted", c->interrupted);
	report_machine_json(&j, "machine", &c->machine);
	workloads_json(&j, c);
	backends_json(&j, c);
	json_array(&j, "cells");
	for (size_t i = 0; i < c->n_workloads * c->n_backends; i++)
		report_cell_json(&j, NULL, c->workloads[i / c->n_backends].name,
			c->backends[i % c->n_backends].name, c->cells[i].runs, c->cells[i].n_runs);
	json_end(&j, ']');
	json_array(&j, "comparisons");
	for (size_t i = 0; i < c->n_pairs; i++)
		pair_json(&j, c, &c->pairs[i]);
	json_end(&j, ']');
	json_end(&j, '}');
}
