/* SPDX-License-Identifier: MIT */
/*
 * The result of a compare for a reader: what ran where, one table per workload in the columns of
 * the published tests, then a sentence per comparison that says no more than the intervals do, then
 * where a difference comes from, then whatever makes the figures doubtful. At most 120 columns wide
 * (lines that name files excepted). Formats only: every number comes ready from the summary.
 */
#include "iotape/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WIDTH      120
#define COLUMNS    9
#define CELL_MAX   96
#define NAME_LEAST 8
#define WHERE_MIN  1.0 /* percent: smaller parts of a difference are left out */
#define WHERE_MAX  200 /* percent: beyond, parts nearly cancel out and are told in seconds */

static const char *const head[COLUMNS] = {"backend", "time s [95 %]", "MB/s", "IOPS", "avg ms",
	"p99 ms", "CPU %", "ratio [95 %]", "verdict"};

/* Three significant digits, no more than a reader can use; "-" for what does not exist. */
static void number(char *out, size_t cap, double v)
{
	double a = fabs(v);

	if (!isfinite(v))
		snprintf(out, cap, "-");
	else if (a >= 1e7)
		snprintf(out, cap, "%.3gM", v / 1e6);
	else if (a >= 1e5)
		snprintf(out, cap, "%.0fk", v / 1e3);
	else
		snprintf(out, cap, "%.*f",
			a >= 100     ? 0
			: a >= 10    ? 1
			: a >= 1     ? 2
			: a >= 0.1   ? 3
			: a >= 0.001 ? 4
				     : 6,
			v);
}

static void ratio_number(char *out, size_t cap, double v)
{
	if (v >= 0.1 && v < 100)
		snprintf(out, cap, "%.2f", v);
	else
		number(out, cap, v);
}

static void with_interval(
	char *out, size_t cap, double v, double lo, double hi, void (*put)(char *, size_t, double))
{
	char a[24], b[24], c[24];

	put(a, sizeof(a), v);
	put(b, sizeof(b), lo);
	put(c, sizeof(c), hi);
	if (isfinite(lo) && isfinite(hi))
		snprintf(out, cap, "%s [%s, %s]", a, b, c);
	else
		snprintf(out, cap, "%s", a);
}

static void bytes_text(char *out, size_t cap, uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double v = (double)bytes;
	size_t u = 0;

	for (; v >= 1000 && u + 1 < ARRAY_SIZE(units); u++)
		v /= 1000;
	snprintf(out, cap, u && v < 100 ? "%.1f %s" : "%.0f %s", v, units[u]);
}

/* Median over the runs of the figure at `offset` in struct report_run. */
static double median_figure(const struct compare_cell *cell, size_t offset)
{
	_free_ double *v = calloc(cell->n_runs ? cell->n_runs : 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; v && i < cell->n_runs; i++) {
		double x = *(const double *)((const char *)&cell->runs[i] + offset);

		if (isfinite(x))
			v[n++] = x;
	}
	return v ? median_of(v, n) : NAN;
}

static const struct compare_pair *pair_of(const struct compare *c, size_t workload, size_t backend)
{
	for (size_t i = 0; i < c->n_pairs; i++)
		if (c->pairs[i].workload == workload && c->pairs[i].backend == backend)
			return &c->pairs[i];
	return NULL;
}

static void table_row(const struct compare *c, size_t w, size_t b, char row[COLUMNS][CELL_MAX])
{
	const struct compare_cell *cell = &c->cells[w * c->n_backends + b];
	const struct compare_pair *p = pair_of(c, w, b);
	const struct hist *data = &cell->data;

	snprintf(row[0], CELL_MAX, "%s", c->backends[b].name);
	with_interval(row[1], CELL_MAX, cell->median_seconds, cell->lo, cell->hi, number);
	number(row[2], CELL_MAX, median_figure(cell, offsetof(struct report_run, mb_per_s)));
	number(row[3], CELL_MAX, median_figure(cell, offsetof(struct report_run, iops)));
	number(row[4], CELL_MAX, data->count ? hist_mean(data) / 1e6 : (double)NAN);
	number(row[5], CELL_MAX,
		data->count ? (double)hist_quantile(data, 0.99) / 1e6 : (double)NAN);
	number(row[6], CELL_MAX, median_figure(cell, offsetof(struct report_run, cpu_percent)));
	if (!p) {
		snprintf(row[7], CELL_MAX, "1");
		snprintf(row[8], CELL_MAX, "baseline");
		return;
	}
	with_interval(row[7], CELL_MAX, p->ratio, p->lo, p->hi, ratio_number);
	snprintf(row[8], CELL_MAX, "%s",
		isfinite(p->lo) ? verdict_name(p->verdict) : "too few rounds");
}

static void print_row(FILE *out, char row[COLUMNS][CELL_MAX], const int *width)
{
	/* words to the left, figures to the right */
	fprintf(out, "  %-*.*s", width[0], width[0], row[0]);
	for (int i = 1; i < COLUMNS - 1; i++)
		fprintf(out, "  %*s", width[i], row[i]);
	fprintf(out, "  %s\n", row[COLUMNS - 1]);
}

static void table(const struct compare *c, size_t w, FILE *out)
{
	char(*rows)[COLUMNS][CELL_MAX] = calloc(c->n_backends + 1, sizeof(*rows));
	int width[COLUMNS] = {0}, total = 0;

	if (!rows)
		return;
	for (int i = 0; i < COLUMNS; i++)
		snprintf(rows[0][i], CELL_MAX, "%s", head[i]);
	for (size_t b = 0; b < c->n_backends; b++)
		table_row(c, w, b, rows[b + 1]);
	for (int i = 0; i < COLUMNS; i++) {
		for (size_t r = 0; r <= c->n_backends; r++)
			width[i] = MAX(width[i], (int)strlen(rows[r][i]));
		total += width[i] + 2;
	}
	if (total > WIDTH)
		width[0] = MAX(NAME_LEAST, width[0] - (total - WIDTH));
	fprintf(out, "%s\n", c->workloads[w].name);
	for (size_t r = 0; r <= c->n_backends; r++)
		print_row(out, rows[r], width);
	fputc('\n', out);
	free(rows);
}

/* Words of text on lines of WIDTH columns, the first behind `first`, the others indented as far. */
static void paragraph(FILE *out, const char *first, const char *text)
{
	size_t indent = strlen(first), at = indent;

	fputs(first, out);
	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > indent && at + 1 + n > WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', out);
			at++;
		}
		fwrite(text, 1, n, out);
		at += n;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

/* "takes 59 % longer than raw, with 95 % confidence 16 % to 88 %"; from a factor of two on as a
 * factor. */
static void by_how_much(char *out, size_t cap, const struct compare_pair *p, const char *base)
{
	bool slower = p->verdict == VERDICT_SLOWER;
	double by = slower ? p->ratio : 1 / p->ratio;
	/* the end nearer to no difference first */
	double near = slower ? p->lo : p->hi, far = slower ? p->hi : p->lo;
	char a[24], b[24], c[24];

	if (by < 2) {
		number(a, sizeof(a), 100 * fabs(p->ratio - 1));
		number(b, sizeof(b), 100 * fabs(near - 1));
		number(c, sizeof(c), 100 * fabs(far - 1));
		snprintf(out, cap,
			"It takes %s %% %s, with 95 %% confidence between %s %% and %s %%", a,
			slower ? "longer" : "less time", b, c);
		return;
	}
	ratio_number(a, sizeof(a), by);
	ratio_number(b, sizeof(b), slower ? near : 1 / near);
	ratio_number(c, sizeof(c), slower ? far : 1 / far);
	if (slower)
		snprintf(out, cap,
			"It takes %s times as long, with 95 %% confidence between %s and %s times",
			a, b, c);
	else
		snprintf(out, cap,
			"%s takes %s times as long, with 95 %% confidence between %s and %s times",
			base, a, b, c);
}

static void sentence(const struct compare *c, const struct compare_pair *p, FILE *out)
{
	const char *w = c->workloads[p->workload].name, *b = c->backends[p->backend].name,
		   *base = c->backends[c->baseline].name;
	char text[1024], ratio[24], lo[24], hi[24], by[256];

	ratio_number(ratio, sizeof(ratio), p->ratio);
	ratio_number(lo, sizeof(lo), p->lo);
	ratio_number(hi, sizeof(hi), p->hi);
	if (!p->n)
		snprintf(text, sizeof(text),
			"%s: nothing can be said of %s against %s, because no round ended on both.",
			w, b, base);
	else if (!isfinite(p->lo))
		snprintf(text, sizeof(text),
			"%s: %s took %s times as long as %s; %zu round%s no interval and so no "
			"verdict, 6 are the least.",
			w, b, ratio, base, p->n, p->n == 1 ? " gives" : "s give");
	else if (p->verdict == VERDICT_NONE_SHOWN)
		snprintf(text, sizeof(text),
			"%s: no difference shown between %s and %s. The time ratio is %s, and with "
			"95 %% confidence lies between %s and %s (%zu rounds); about %u rounds "
			"would be needed to see a difference of 5 %%.",
			w, b, base, ratio, lo, hi, p->n, p->rounds_for_5_percent);
	else {
		by_how_much(by, sizeof(by), p, base);
		snprintf(text, sizeof(text), "%s: %s is %s than %s. %s (%zu rounds).", w, b,
			verdict_name(p->verdict), base, by, p->n);
	}
	paragraph(out, "* ", text);
}

static const char *part_name(const char *op)
{
	return !strcmp(op, "sync")   ? "the final sync"
	       : !strcmp(op, "wait") ? "waiting and the engine"
				     : op;
}

static void where(const struct compare *c, const struct compare_pair *p, FILE *out)
{
	char text[2048], d[24];
	double most = 0;
	size_t len = 0;

	for (size_t i = 0; i < p->n_where; i++)
		most = MAX(most, fabs(p->where[i].share_percent));
	number(d, sizeof(d), fabs(p->difference_seconds));
	len = (size_t)snprintf(text, sizeof(text),
		"%s, of the %s s %s on %s:", c->workloads[p->workload].name, d,
		p->difference_seconds > 0 ? "more" : "less", c->backends[p->backend].name);
	for (size_t i = 0; i < p->n_where && len < sizeof(text) - 80; i++) {
		const struct compare_where *part = &p->where[i];

		if (fabs(part->share_percent) < WHERE_MIN)
			continue;
		number(d, sizeof(d), fabs(part->seconds));
		if (most > WHERE_MAX)
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %s %s s %s,",
				part_name(part->op), d, part->seconds > 0 ? "more" : "less");
		else
			len += (size_t)snprintf(text + len, sizeof(text) - len, " %s %.0f %%,",
				part_name(part->op), part->share_percent);
	}
	text[MIN(len, sizeof(text)) - 1] = '.';
	paragraph(out, "* ", text);
}

static void header(const struct compare *c, FILE *out)
{
	static const char *const paces[] = {
		"as fast as the order allows", "with recorded think time", "at recorded times"};
	char a[24], b[24];

	fprintf(out,
		"%zu workload%s on %zu backend%s, %u round%s in random order (seed %" PRIu64 ")\n",
		c->n_workloads, c->n_workloads == 1 ? "" : "s", c->n_backends,
		c->n_backends == 1 ? "" : "s", c->rounds, c->rounds == 1 ? "" : "s", c->seed);
	fprintf(out, "%s caches, %s, order \"%s\", time %s; 1 MB = 1000000 bytes\n",
		c->cold ? "cold" : "warm", paces[c->pace], report_order_names[c->order],
		c->synced ? "includes the final sync" : "without the final sync");
	bytes_text(a, sizeof(a), c->machine.memory_bytes);
	fprintf(out, "%s, %s, %u x %s, %s of memory, load %.2f\n\n", c->machine.os,
		c->machine.kernel, c->machine.cpus,
		*c->machine.cpu ? c->machine.cpu : c->machine.arch, a, c->machine.load);
	for (size_t i = 0; i < c->n_workloads; i++) {
		const struct compare_of *w = &c->workloads[i];

		bytes_text(a, sizeof(a), w->plan.read_bytes);
		bytes_text(b, sizeof(b), w->plan.write_bytes);
		fprintf(out,
			"workload %s: %s, %" PRIu64 " operations of %" PRIu64
			" thread%s, %s read, %s written%s\n",
			w->name, w->trace, w->plan.steps, w->plan.lanes,
			w->plan.lanes == 1 ? "" : "s", a, b,
			w->plan.cut ? " (cut trace: up to the cut)" : "");
	}
	for (size_t i = 0; i < c->n_backends; i++)
		fprintf(out, "backend  %s: %s\n", c->backends[i].name,
			c->backends[i].how ? c->backends[i].how : c->backends[i].spec);
	fputc('\n', out);
}

/* Whatever makes a reader doubt: nothing is printed when there is nothing. */
static void doubts(
	const struct compare *c, const struct compare_cell *cell, size_t w, size_t b, FILE *out)
{
	size_t cached = 0, few = 0, trees = 0;
	uint64_t wrong = 0, environmental = 0, direct = 0, order = 0;
	char where_at[256], text[512];

	for (size_t i = 0; i < cell->n_runs; i++) {
		const struct report_run *r = &cell->runs[i];

		cached += r->cached;
		wrong += r->mismatches;
		environmental += r->environmental;
		direct += r->direct_refused;
		order += r->order_violations;
		trees += r->tree_checked && r->tree_differences;
		few += r->data_calls && r->data_calls < 100;
	}
	snprintf(where_at, sizeof(where_at), "%s on %s", c->workloads[w].name, c->backends[b].name);
#define DOUBT(when, ...)                                                                           \
	do {                                                                                       \
		if (when) {                                                                        \
			snprintf(text, sizeof(text), __VA_ARGS__);                                 \
			paragraph(out, "! ", text);                                                \
		}                                                                                  \
	} while (0)
	DOUBT(cached,
		"%s: in %zu of %zu runs the caches could not be dropped; reads may have come from "
		"memory.",
		where_at, cached, cell->n_runs);
	DOUBT(wrong,
		"%s: %" PRIu64 " results were not the recorded ones; the times are of other work.",
		where_at, wrong);
	DOUBT(trees, "%s: after %zu of %zu runs the tree was not what the recording left.",
		where_at, trees, cell->n_runs);
	DOUBT(order, "%s: %" PRIu64 " steps started too early; the order was not kept.", where_at,
		order);
	DOUBT(environmental, "%s: %" PRIu64 " calls ended for want of space, rights or the like.",
		where_at, environmental);
	DOUBT(direct, "%s: %" PRIu64 " direct I/O opens were refused; buffered I/O was used.",
		where_at, direct);
	DOUBT(few, "%s: fewer than 100 data calls a run; its p99 is close to the slowest one.",
		where_at);
#undef DOUBT
}

static void too_few_rounds(const struct compare *c, FILE *out)
{
	char text[256];

	snprintf(text, sizeof(text),
		"%u round%s no 95 %% interval of a median and no verdict: the figures are medians "
		"without one. 6 rounds are the least (--rounds=6).",
		c->rounds, c->rounds == 1 ? " gives" : "s give");
	paragraph(out, "! ", text);
}

void compare_text(const struct compare *c, FILE *out)
{
	bool any = false;

	if (c->interrupted)
		fputs("INTERRUPTED: of the rounds that follow, only what had ended is "
		      "reported.\n\n",
			out);
	header(c, out);
	for (size_t w = 0; w < c->n_workloads; w++)
		table(c, w, out);
	for (size_t i = 0; i < c->n_pairs; i++)
		sentence(c, &c->pairs[i], out);
	for (size_t i = 0; i < c->n_pairs; i++) {
		if (!c->pairs[i].n_where)
			continue;
		if (!any)
			fputs("\nWhere the difference comes from\n", out);
		any = true;
		where(c, &c->pairs[i], out);
	}
	fputc('\n', out);
	if (c->rounds < 6)
		too_few_rounds(c, out);
	for (size_t i = 0; i < c->n_workloads * c->n_backends; i++)
		doubts(c, &c->cells[i], i / c->n_backends, i % c->n_backends, out);
}
