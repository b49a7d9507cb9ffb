/* SPDX-License-Identifier: MIT */
/*
 * One replay in figures: from histograms in ns to the numbers of the published tests (seconds,
 * MB/s, IOPS, ms, CPU %). Rates are over what succeeded and over the whole time including the
 * final sync, because writes that never reached storage are no result. A figure without
 * anything to measure is NaN, never 0. Decides nothing: verdicts are made elsewhere.
 */
#include "iotape/report.h"

#include <math.h>
#include <string.h>

static const enum op data_calls[] = {OP_READ, OP_WRITE, OP_COPY_FILE_RANGE};

static double mean_ms(const struct hist *h)
{
	return h->count ? hist_mean(h) / 1e6 : NAN;
}

static double quantile_ms(const struct hist *h, double q)
{
	return h->count ? (double)hist_quantile(h, q) / 1e6 : NAN;
}

static void measure_op(struct report_op *out, const struct op_stats *s)
{
	*out = (struct report_op){
		.count = s->lat.count,
		.errors = s->errors,
		.bytes = s->bytes,
		.total_ms = (double)s->lat.sum / 1e6,
		.mean_ms = mean_ms(&s->lat),
		.p50_ms = quantile_ms(&s->lat, 0.5),
		.p95_ms = quantile_ms(&s->lat, 0.95),
		.p99_ms = quantile_ms(&s->lat, 0.99),
		.max_ms = s->lat.count ? (double)s->lat.max / 1e6 : NAN,
	};
}

void report_data_calls(struct hist *into, const struct replay_result *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(data_calls); i++)
		if (r->stats.op[data_calls[i]])
			hist_merge(into, &r->stats.op[data_calls[i]]->lat);
}

void report_measure(struct report_run *out, const struct replay_result *r)
{
	uint64_t bytes = 0, good = 0;
	struct hist data;

	memset(out, 0, sizeof(*out));
	hist_init(&data);
	report_data_calls(&data, r);
	for (unsigned op = 0; op < OP_COUNT; op++)
		if (r->stats.op[op])
			measure_op(&out->op[op], r->stats.op[op]);
	for (size_t i = 0; i < ARRAY_SIZE(data_calls); i++) {
		bytes += out->op[data_calls[i]].bytes;
		good += out->op[data_calls[i]].count - out->op[data_calls[i]].errors;
	}
	out->seconds = r->seconds;
	out->sync_seconds = r->sync_seconds;
	out->mb_per_s = r->seconds > 0 ? (double)bytes / 1e6 / r->seconds : NAN;
	out->iops = r->seconds > 0 ? (double)good / r->seconds : NAN;
	out->mean_ms = mean_ms(&data);
	out->p50_ms = quantile_ms(&data, 0.5);
	out->p95_ms = quantile_ms(&data, 0.95);
	out->p99_ms = quantile_ms(&data, 0.99);
	out->max_ms = data.count ? (double)data.max / 1e6 : NAN;
	out->first_touch_write_ms = mean_ms(&r->stats.first_touch);
	out->overwrite_ms = mean_ms(&r->stats.overwrite);
	out->cpu_percent = r->cpu_percent;
	out->self_cpu_seconds = r->self_cpu_seconds;
	out->read_bytes = r->stats.read_bytes;
	out->write_bytes = r->stats.write_bytes;
	out->data_calls = data.count;
	out->steps = r->steps;
	out->matched = r->matched;
	out->mismatches = r->mismatched;
	out->environmental = r->environmental;
	out->skipped = r->skipped;
	out->order_violations = r->order_violations;
	out->direct_refused = r->direct_refused;
	out->matched_percent = replay_matched_percent(r);
	out->start_lag_p99_us = (double)hist_quantile(&r->start_lag, 0.99) / 1e3;
}
