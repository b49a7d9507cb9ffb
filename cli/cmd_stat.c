/* SPDX-License-Identifier: MIT */
/*
 * stat: where the time of a trace went. One pass; totals first, then one table by operation, path,
 * size class, thread or phase, most time first. Latencies are those of the backing calls.
 */
#include "cli_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "iotape/json.h"
#include "iotape/stats.h"
#include "iotape/trace.h"

static const char *const by_names[] = {"op", "path", "size", "thread", "phase", NULL};

struct job {
	enum cli_format format;
	enum stats_key by;
	const char *path;
	struct stats stats;
	struct stats_table *table;
};

static int put(void *ctx, const struct event *ev)
{
	struct job *j = ctx;
	int r = stats_put(&j->stats, ev);

	return r ? r : stats_table_put(j->table, ev);
}

/* ---- text ---- */
static const char *bytes_text(char *buf, size_t cap, uint64_t v)
{
	static const char unit[] = "BKMGTPE";
	double d = (double)v;
	unsigned u = 0;

	while (d >= 1024 && u < 6) {
		d /= 1024;
		u++;
	}
	if (!u)
		snprintf(buf, cap, "%" PRIu64, v);
	else
		snprintf(buf, cap, "%.*f%c", d < 10 ? 2 : d < 100 ? 1 : 0, d, unit[u]);
	return buf;
}

static const char *time_text(char *buf, size_t cap, double ns)
{
	static const char *const unit[] = {"ns", "us", "ms", "s"};
	unsigned u = 0;

	while (ns >= 1000 && u < 3) {
		ns /= 1000;
		u++;
	}
	snprintf(buf, cap, "%.*f%s", !u || ns >= 100 ? 0 : ns < 10 ? 2 : 1, ns, unit[u]);
	return buf;
}

#define B(v) bytes_text((char[24]){0}, 24, v)
#define T(v) time_text((char[24]){0}, 24, (double)(v))

static void text_line(const char *what, const struct hist *h)
{
	if (h->count)
		printf("%s: %" PRIu64 ", mean %s, p50 %s, p95 %s, p99 %s, max %s\n", what, h->count,
			T(hist_mean(h)), T(hist_quantile(h, 0.5)), T(hist_quantile(h, 0.95)),
			T(hist_quantile(h, 0.99)), T(h->max));
}

static void print_text(const struct job *o, const struct stats_row *const *rows, size_t n)
{
	const struct stats *s = &o->stats;

	printf("%s: %" PRIu64 " operations (%" PRIu64 " failed) by %" PRIu64 " threads in %.3f s\n",
		o->path, s->all.lat.count, s->all.errors, s->lanes,
		((double)s->last_end_ns - (double)s->first_start_ns) / 1e9);
	printf("read: %s in %" PRIu64 " calls; written: %s in %" PRIu64 " calls\n",
		B(s->read_bytes), s->reads, B(s->write_bytes), s->writes);
	text_line("writes of new space", &s->first_touch);
	text_line("overwrites", &s->overwrite);
	printf("\n%9s %7s %8s %8s %8s %8s %8s %8s %8s  %s\n", "count", "errors", "bytes", "total",
		"mean", "p50", "p95", "p99", "max", by_names[o->by]);
	for (size_t i = 0; i < n; i++) {
		const struct hist *h = &rows[i]->s.lat;
		char *key = malloc(4 * (size_t)rows[i]->key.n + 1);

		if (!key)
			return;
		bytes_escape(key, 4 * (size_t)rows[i]->key.n + 1, rows[i]->key);
		printf("%9" PRIu64 " %7" PRIu64 " %8s %8s %8s %8s %8s %8s %8s  %s\n", h->count,
			rows[i]->s.errors, B(rows[i]->s.bytes), T(h->sum), T(hist_mean(h)),
			T(hist_quantile(h, 0.5)), T(hist_quantile(h, 0.95)),
			T(hist_quantile(h, 0.99)), T(h->max), key);
		free(key);
	}
}

/* ---- JSON ---- */
static void json_latency(struct json *j, const struct hist *h)
{
	json_u64(j, "count", h->count);
	json_f64(j, "total_ms", (double)h->sum / 1e6);
	json_f64(j, "mean_ms", hist_mean(h) / 1e6);
	json_f64(j, "p50_ms", (double)hist_quantile(h, 0.5) / 1e6);
	json_f64(j, "p95_ms", (double)hist_quantile(h, 0.95) / 1e6);
	json_f64(j, "p99_ms", (double)hist_quantile(h, 0.99) / 1e6);
	json_f64(j, "max_ms", (double)h->max / 1e6);
}

static void json_writes(struct json *j, const char *key, const struct hist *h)
{
	json_object(j, key);
	json_latency(j, h);
	json_end(j, '}');
}

static void print_json(const struct job *o, const struct stats_row *const *rows, size_t n)
{
	const struct stats *s = &o->stats;
	struct json j;

	json_init(&j, stdout, 2);
	json_object(&j, NULL);
	json_str(&j, "iotape", IOTAPE_VERSION);
	json_str(&j, "trace", o->path);
	json_str(&j, "by", by_names[o->by]);
	json_u64(&j, "ops", s->all.lat.count);
	json_u64(&j, "errors", s->all.errors);
	json_u64(&j, "threads", s->lanes);
	json_f64(
		&j, "duration_seconds", ((double)s->last_end_ns - (double)s->first_start_ns) / 1e9);
	json_u64(&j, "reads", s->reads);
	json_u64(&j, "writes", s->writes);
	json_u64(&j, "read_bytes", s->read_bytes);
	json_u64(&j, "write_bytes", s->write_bytes);
	json_writes(&j, "first_touch_writes", &s->first_touch);
	json_writes(&j, "overwrites", &s->overwrite);
	json_array(&j, "rows");
	for (size_t i = 0; i < n; i++) {
		json_object(&j, NULL);
		json_bytes(&j, by_names[o->by], rows[i]->key);
		json_u64(&j, "errors", rows[i]->s.errors);
		json_u64(&j, "bytes", rows[i]->s.bytes);
		json_u64(&j, "read_bytes", rows[i]->read_bytes);
		json_u64(&j, "write_bytes", rows[i]->write_bytes);
		json_latency(&j, &rows[i]->s.lat);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_end(&j, '}');
	putchar('\n');
}

static int report(void *ctx, const struct cli_trace *t)
{
	const struct stats_row **rows;
	struct job *j = ctx;
	size_t n;
	int r = stats_init(&j->stats);

	j->path = t->path;
	if (!r)
		r = stats_table_new(&j->table, j->by);
	if (!r)
		r = trace_reader_each(t->reader, put, j);
	if (!r)
		r = stats_table_rows(j->table, &rows, &n);
	if (r)
		return r;
	if (j->format == CLI_JSON)
		print_json(j, rows, n);
	else
		print_text(j, rows, n);
	cli_note_cut(t);
	return 0;
}

static int set(void *ctx, int c)
{
	struct job *j = ctx;
	int r;

	if (c == 'f')
		return cli_parse_format(optarg, false, &j->format);
	r = util_choice("--by", optarg, by_names);
	j->by = (enum stats_key)MAX(r, 0);
	return r;
}

static const struct option longs[] = {
	{"by", required_argument, NULL, 'b'},
	{"format", required_argument, NULL, 'f'},
	{0},
};

static const struct cli_spec spec = {
	.cmd = &cmd_stat,
	.longs = longs,
	.set = set,
	.min = 1,
	.max = 1,
};

static int run(int argc, char **argv)
{
	struct job j = {0};
	int r = cli_on_traces(&spec, argc, argv, &j, report);

	stats_table_free(j.table);
	stats_fini(&j.stats);
	return r;
}

const struct command cmd_stat = {"stat", "show where the time of a trace went",
	"usage: iotape stat TRACE [--by=op|path|size|thread|phase] [--format=text|json]\n"
	"\n"
	"Prints totals and a table of counts, bytes and latencies, most time first.\n"
	"TRACE may be - for a pipe.\n"
	"\n"
	"    iotape stat copy.tape\n"
	"    iotape stat copy.tape --by=path | head -20\n"
	"    iotape stat copy.tape --by=size --format=json\n"
	"\n"
	"  --by=KEY        one row for each: op (default), path, size (powers of two of\n"
	"                  what was asked for, data operations only), thread, phase\n"
	"  --format=FORMAT text (default) or json (times in ms)\n"
	"  --help          print this\n",
	run};
