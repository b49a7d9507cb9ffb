/* SPDX-License-Identifier: MIT */
/*
 * The result of a compare for a reader: what ran where, one table per workload (report_table.c),
 * then a sentence per comparison that says no more than the intervals do, then where a difference
 * comes from, then whatever makes the figures doubtful. At most 120 columns wide (lines that name
 * files excepted). Formats only: every number comes ready from the summary.
 */
#include "report_priv.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define WHERE_MIN 1.0 /* percent: smaller parts of a difference are left out */
#define WHERE_MAX 200 /* percent: beyond, parts nearly cancel out and are told in seconds */

static void bytes_text(char *out, size_t cap, uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double v = (double)bytes;
	size_t u = 0;

	for (; v >= 1000 && u + 1 < ARRAY_SIZE(units); u++)
		v /= 1000;
	snprintf(out, cap, u && v < 100 ? "%.1f %s" : "%.0f %s", v, units[u]);
}

/* Words of text on lines of REPORT_WIDTH columns, the first behind `first`, the others indented as
 * far. */
static void paragraph(FILE *out, const char *first, const char *text)
{
	size_t indent = strlen(first), at = indent;

	fputs(first, out);
	while (*text) {
		size_t n = strcspn(text, " ");

		if (at > indent && at + 1 + n > REPORT_WIDTH) {
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
		report_number(a, sizeof(a), 100 * fabs(p->ratio - 1));
		report_number(b, sizeof(b), 100 * fabs(near - 1));
		report_number(c, sizeof(c), 100 * fabs(far - 1));
		snprintf(out, cap,
			"It takes %s %% %s, with 95 %% confidence between %s %% and %s %%", a,
			slower ? "longer" : "less time", b, c);
		return;
	}
	report_ratio_number(a, sizeof(a), by);
	report_ratio_number(b, sizeof(b), slower ? near : 1 / near);
	report_ratio_number(c, sizeof(c), slower ? far : 1 / far);
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

	report_ratio_number(ratio, sizeof(ratio), p->ratio);
	report_ratio_number(lo, sizeof(lo), p->lo);
	report_ratio_number(hi, sizeof(hi), p->hi);
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
		snprintf(text, sizeof(text), "%s: %s is %s than %s. %s (%zu rounds).%s", w, b,
			verdict_name(p->verdict), base, by, p->n,
			compare_pair_beyond(c, p) ? " That is beyond the limit." : "");
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
	report_number(d, sizeof(d), fabs(p->difference_seconds));
	len = (size_t)snprintf(text, sizeof(text),
		"%s, of the %s s %s on %s:", c->workloads[p->workload].name, d,
		p->difference_seconds > 0 ? "more" : "less", c->backends[p->backend].name);
	for (size_t i = 0; i < p->n_where && len < sizeof(text) - 80; i++) {
		const struct compare_where *part = &p->where[i];

		if (fabs(part->share_percent) < WHERE_MIN)
			continue;
		report_number(d, sizeof(d), fabs(part->seconds));
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
	report_number(a, sizeof(a), 100 * c->limit);
	if (c->limit >= 0)
		fprintf(out, "limit: no backend slower than %s by more than %s %%\n",
			c->backends[c->baseline].name, a);
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
		report_table(c, w, out);
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
