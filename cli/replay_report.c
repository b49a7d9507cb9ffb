/* SPDX-License-Identifier: MIT */
/*
 * The report of one replay: how fast, how late, and above all how faithful. Text for people, JSON
 * with the cell object that compare prints too.
 */
#include "replay_cmd.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "iotape/json.h"

static const char *result_text(char *buf, size_t cap, int64_t r)
{
	const char *name = r < 0 ? util_errno_name((int)MAX(r, -4095)) : NULL;

	if (name)
		snprintf(buf, cap, "%s", name);
	else
		snprintf(buf, cap, "%" PRId64, r);
	return buf;
}

static void number(FILE *out, const char *format, double v)
{
	if (isnan(v))
		fputs("-", out);
	else
		fprintf(out, format, v);
}

static double mb(uint64_t bytes)
{
	return (double)bytes / 1e6;
}

static void text_speed(const struct replay_report *r, FILE *out)
{
	const struct report_run *run = &r->run;

	fprintf(out, "time       %.3f s", run->seconds);
	if (run->sync_seconds > 0)
		fprintf(out, " (final sync %.3f s)", run->sync_seconds);
	fprintf(out, ", %.0f operations/s, CPU %.0f %%\n",
		run->seconds > 0 ? (double)run->steps / run->seconds : 0.0, run->cpu_percent);
	fprintf(out, "data       read %.1f MB, written %.1f MB, ", mb(run->read_bytes),
		mb(run->write_bytes));
	number(out, "%.1f MB/s, ", run->mb_per_s);
	number(out, "%.0f IOPS", run->iops);
	fputs("; response mean ", out);
	number(out, "%.3f", run->mean_ms);
	fputs(", p50 ", out);
	number(out, "%.3f", run->p50_ms);
	fputs(", p99 ", out);
	number(out, "%.3f", run->p99_ms);
	fputs(", max ", out);
	number(out, "%.3f", run->max_ms);
	fputs(" ms\n", out);
	if (run->write_bytes) {
		fputs("writes     first touch ", out);
		number(out, "%.3f", run->first_touch_write_ms);
		fputs(" ms, overwrite ", out);
		number(out, "%.3f", run->overwrite_ms);
		fputs(" ms (means)\n", out);
	}
}

static void text_ops(const struct replay_report *r, FILE *out)
{
	fprintf(out, "\n  %-16s %10s %8s %10s %9s %9s %9s %6s\n", "operation", "count", "errors",
		"total ms", "mean ms", "p50 ms", "p99 ms", "differ");
	for (unsigned i = 0; i < OP_COUNT; i++) {
		const struct report_op *o = &r->run.op[i];

		if (o->count)
			fprintf(out,
				"  %-16s %10" PRIu64 " %8" PRIu64
				" %10.3f %9.4f %9.4f %9.4f %6" PRIu64 "\n",
				op_info[i].name, o->count, o->errors, o->total_ms, o->mean_ms,
				o->p50_ms, o->p99_ms, r->result.op_mismatched[i]);
	}
	fputc('\n', out);
}

static void text_fidelity(const struct replay_report *r, FILE *out)
{
	const struct replay_result *res = &r->result;
	char was[32], is[32];

	fprintf(out,
		"fidelity   %.2f %% of results match (%" PRIu64 " of %" PRIu64 "; %" PRIu64
		" environmental, %" PRIu64 " skipped), order violations %" PRIu64 "\n",
		replay_matched_percent(res), res->matched, res->matched + res->mismatched,
		res->environmental, res->skipped, res->order_violations);
	fprintf(out,
		"           start lag p50 %.1f, p99 %.1f, max %.1f us; in flight p50 %" PRIu64
		", max %" PRIu64 "\n",
		(double)hist_quantile(&res->start_lag, 0.5) / 1e3,
		(double)hist_quantile(&res->start_lag, 0.99) / 1e3,
		(double)res->start_lag.max / 1e3, hist_quantile(&res->in_flight, 0.5),
		res->in_flight.max);
	fprintf(out,
		"           recorded: read %.1f MB, written %.1f MB; replayed: read %.1f MB, "
		"written %.1f MB\n",
		mb(res->recorded_read_bytes), mb(res->recorded_write_bytes), mb(r->run.read_bytes),
		mb(r->run.write_bytes));
	if (res->withheld)
		fprintf(out,
			"           %" PRIu64
			" of the skipped need --privileged: devices, and what is done to them; "
			"attributes trusted.* and security.capability\n",
			res->withheld);
	if (r->run.tree_checked)
		fprintf(out, "           final tree: %s%s%s\n",
			r->run.tree_differences ? "differs: " : "as recorded",
			r->run.tree_differences ? r->tree_text : "", "");
	if (res->direct_refused)
		fprintf(out,
			"warning    %" PRIu64
			" times O_DIRECT was refused here and buffered I/O taken\n",
			res->direct_refused);
	for (size_t i = 0; i < res->n_first; i++)
		fprintf(out, "mismatch   #%" PRIu64 " %s: recorded %s, now %s\n", res->first[i].seq,
			res->first[i].what, result_text(was, sizeof(was), res->first[i].recorded),
			result_text(is, sizeof(is), res->first[i].replayed));
	if (res->mismatched > res->n_first)
		fprintf(out, "           and %" PRIu64 " more\n", res->mismatched - res->n_first);
}

void replay_report_text(const struct replay_report *r, FILE *out)
{
	fprintf(out, "trace      %s: %" PRIu64 " steps in %" PRIu64 " threads%s\n", r->trace,
		r->plan.steps, r->plan.lanes,
		r->plan.cut ? " (it was cut: replayed up to the cut)" : "");
	fprintf(out, "backend    %s: %s\n", backend_name(r->backend), r->how);
	fprintf(out, "prepared   %" PRIu64 " directories, %" PRIu64 " files, %.1f MB",
		r->prepared.dirs, r->prepared.files, mb(r->prepared.bytes));
	if (r->prepared.skipped)
		fprintf(out,
			"; %" PRIu64 " things not as they were (owners, devices, set-id bits, "
			"attributes)",
			r->prepared.skipped);
	fprintf(out, "%s%s\n", r->run.cached ? "; caches not dropped: " : "",
		r->run.cached ? r->cold_text : "");
	fprintf(out, "how        order %s, pace %s, cache %s\n", r->order, r->pace, r->cache);
	text_speed(r, out);
	text_ops(r, out);
	text_fidelity(r, out);
}

static void json_mismatches(struct json *j, const struct replay_result *res)
{
	json_array(j, "mismatches");
	for (size_t i = 0; i < res->n_first; i++) {
		const struct replay_mismatch *m = &res->first[i];

		json_object(j, NULL);
		json_u64(j, "seq", m->seq);
		json_str(j, "op", op_info[m->op].name);
		json_str(j, "call", m->what);
		json_i64(j, "recorded", m->recorded);
		json_i64(j, "replayed", m->replayed);
		json_end(j, '}');
	}
	json_end(j, ']');
}

static void json_fidelity(struct json *j, const struct replay_report *r)
{
	const struct replay_result *res = &r->result;

	json_object(j, "replay");
	json_u64(j, "steps", res->steps);
	json_u64(j, "folded", r->plan.folded);
	json_u64(j, "matched", res->matched);
	json_u64(j, "mismatched", res->mismatched);
	json_u64(j, "environmental", res->environmental);
	json_u64(j, "skipped", res->skipped);
	json_u64(j, "withheld", res->withheld);
	json_u64(j, "order_violations", res->order_violations);
	json_f64(j, "start_lag_p50_us", (double)hist_quantile(&res->start_lag, 0.5) / 1e3);
	json_f64(j, "start_lag_p99_us", (double)hist_quantile(&res->start_lag, 0.99) / 1e3);
	json_f64(j, "start_lag_max_us", (double)res->start_lag.max / 1e3);
	json_u64(j, "in_flight_p50", hist_quantile(&res->in_flight, 0.5));
	json_u64(j, "in_flight_max", res->in_flight.max);
	json_u64(j, "recorded_read_bytes", res->recorded_read_bytes);
	json_u64(j, "recorded_write_bytes", res->recorded_write_bytes);
	json_u64(j, "direct_refused", res->direct_refused);
	json_bool(j, "tree_checked", r->run.tree_checked);
	json_u64(j, "tree_differences", r->run.tree_differences);
	json_str(j, "tree_first_difference", *r->tree_text ? r->tree_text : NULL);
	json_mismatches(j, res);
	json_end(j, '}');
}

void replay_report_json(const struct replay_report *r, FILE *out)
{
	struct report_machine m;
	struct json j;

	report_machine(&m);
	json_init(&j, out, 2);
	json_object(&j, NULL);
	json_str(&j, "iotape", IOTAPE_VERSION);
	json_str(&j, "order", r->order);
	json_str(&j, "pace", r->pace);
	json_str(&j, "cache", r->run.cached ? "as it was" : r->cache);
	report_machine_json(&j, "machine", &m);
	json_object(&j, "workload");
	json_str(&j, "trace", r->trace);
	json_u64(&j, "ops", r->plan.steps);
	json_u64(&j, "read_bytes", r->plan.read_bytes);
	json_u64(&j, "write_bytes", r->plan.write_bytes);
	json_u64(&j, "threads", r->plan.lanes);
	json_bool(&j, "cut", r->plan.cut);
	json_end(&j, '}');
	json_object(&j, "backend");
	json_str(&j, "name", backend_name(r->backend));
	json_str(&j, "kind", backend_kind(r->backend));
	json_str(&j, "spec", backend_spec(r->backend));
	json_str(&j, "fs", r->fs);
	json_str(&j, "how", r->how);
	json_end(&j, '}');
	report_cell_json(&j, "cell", r->trace, backend_name(r->backend), &r->run, 1);
	json_fidelity(&j, r);
	json_end(&j, '}');
	fputc('\n', out);
}
