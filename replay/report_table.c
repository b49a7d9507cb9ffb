/* SPDX-License-Identifier: MIT */
/*
 * The table of one workload: time, MB/s, IOPS, response times, CPU, ratio and verdict of each
 * backend, with the interval beside the median. Columns are as wide as what is in them; a long name
 * gives way first. Formats only.
 */
#include "report_priv.h"

#include <math.h>
#include <string.h>

#define COLUMNS    9
#define CELL_MAX   96
#define NAME_LEAST 8

static const char *const head[COLUMNS] = {"backend", "time s [95 %]", "MB/s", "IOPS", "avg ms",
	"p99 ms", "CPU %", "ratio [95 %]", "verdict"};

void report_number(char *out, size_t cap, double v)
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

void report_ratio_number(char *out, size_t cap, double v)
{
	if (v >= 0.1 && v < 100)
		snprintf(out, cap, "%.2f", v);
	else
		report_number(out, cap, v);
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
	with_interval(row[1], CELL_MAX, cell->median_seconds, cell->lo, cell->hi, report_number);
	report_number(row[2], CELL_MAX, median_figure(cell, offsetof(struct report_run, mb_per_s)));
	report_number(row[3], CELL_MAX, median_figure(cell, offsetof(struct report_run, iops)));
	report_number(row[4], CELL_MAX, data->count ? hist_mean(data) / 1e6 : (double)NAN);
	report_number(row[5], CELL_MAX,
		data->count ? (double)hist_quantile(data, 0.99) / 1e6 : (double)NAN);
	report_number(
		row[6], CELL_MAX, median_figure(cell, offsetof(struct report_run, cpu_percent)));
	if (!p) {
		snprintf(row[7], CELL_MAX, "1");
		snprintf(row[8], CELL_MAX, "baseline");
		return;
	}
	with_interval(row[7], CELL_MAX, p->ratio, p->lo, p->hi, report_ratio_number);
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

void report_table(const struct compare *c, size_t w, FILE *out)
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
	if (total > REPORT_WIDTH)
		width[0] = MAX(NAME_LEAST, width[0] - (total - REPORT_WIDTH));
	fprintf(out, "%s\n", c->workloads[w].name);
	for (size_t r = 0; r <= c->n_backends; r++)
		print_row(out, rows[r], width);
	fputc('\n', out);
	free(rows);
}
