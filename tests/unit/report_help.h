/* SPDX-License-Identifier: MIT */
/* Results of a compare made by hand, of which the right answer can be worked out on paper. */
#ifndef REPORT_HELP_H
#define REPORT_HELP_H

#include "iotape/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

struct made { /* one run: seconds without the sync, and what they went into, in seconds */
	double seconds, sync, write, fsync, read;
};

static void put_op(struct report_run *r, enum op op, double seconds)
{
	if (seconds > 0)
		r->op[op] = (struct report_op){.count = 10,
			.bytes = 1000000,
			.total_ms = seconds * 1e3,
			.mean_ms = seconds * 100,
			.p50_ms = 1,
			.p95_ms = 2,
			.p99_ms = 3,
			.max_ms = 4};
}

static void put_run(struct compare *c, size_t w, size_t b, unsigned round, struct made m)
{
	struct compare_cell *cell = &c->cells[w * c->n_backends + b];
	struct report_run *r = &cell->runs[cell->n_runs++];

	*r = (struct report_run){.round = round,
		.seconds = m.seconds + m.sync,
		.sync_seconds = m.sync,
		.mb_per_s = 2 / (m.seconds + m.sync),
		.iops = 20,
		.mean_ms = 1.5,
		.p50_ms = 1,
		.p95_ms = 2,
		.p99_ms = 3,
		.max_ms = 4,
		.first_touch_write_ms = 1.25,
		.overwrite_ms = NAN,
		.cpu_percent = 12.5,
		.data_calls = 200,
		.steps = 300,
		.matched = 300,
		.matched_percent = 100,
		.start_lag_p99_us = 70 + round};
	put_op(r, OP_WRITE, m.write);
	put_op(r, OP_FSYNC, m.fsync);
	put_op(r, OP_READ, m.read);
	hist_add(&cell->data, 1500000);
}

static struct compare *make(size_t workloads, size_t backends, unsigned rounds)
{
	static const char *const names[] = {"raw", "disk", "mirror", "disk-again"};
	struct compare *c = NULL;

	assert_int_equal(compare_new(&c, workloads, backends, rounds), 0);
	c->seed = 42;
	c->cold = c->synced = true;
	c->order = REPLAY_ORDER_RESOURCE;
	for (size_t w = 0; w < workloads; w++) {
		c->workloads[w].name = strdup(w ? "small" : "large");
		c->workloads[w].trace = strdup(w ? "small.tape" : "large.tape");
		c->workloads[w].plan =
			(struct plan_info){.steps = 300, .lanes = 2, .write_bytes = 5};
	}
	for (size_t b = 0; b < backends; b++) {
		c->backends[b].name = strdup(names[b]);
		c->backends[b].kind = strdup("dir");
		c->backends[b].spec = strdup("dir:/srv");
	}
	return c;
}

static char *text_of(const struct compare *c, void (*print)(const struct compare *, FILE *))
{
	char *s = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&s, &n);

	assert_non_null(f);
	print(c, f);
	fclose(f);
	return s;
}

/* baseline: 1 s (0.5 write, 0.2 fsync) + 0.5 sync; other: 2 s (1.1 write, 0.3 fsync) + 1 sync */
static struct compare *two_to_one(unsigned rounds)
{
	struct compare *c = make(1, 2, rounds);

	for (unsigned i = 1; i <= rounds; i++) {
		put_run(c, 0, 0, i, (struct made){1, 0.5, 0.5, 0.2, 0});
		put_run(c, 0, 1, i, (struct made){2, 1, 1.1, 0.3, 0});
	}
	assert_int_equal(compare_summarise(c), 0);
	return c;
}

#endif
