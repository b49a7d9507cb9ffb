/* SPDX-License-Identifier: MIT */
/*
 * Summary and reports on results made by hand, of which the right answer can be worked out on
 * paper: medians, pairs, where a difference lies, the limit, text and JSON.
 */
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

static double where_of(const struct compare_pair *p, const char *op)
{
	for (size_t i = 0; i < p->n_where; i++)
		if (!strcmp(p->where[i].op, op))
			return p->where[i].seconds;
	return 0;
}

static double sum_of_shares(const struct compare_pair *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->n_where; i++)
		sum += p->where[i].share_percent;
	return sum;
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

static void where_adds_up(void **state)
{
	struct compare *c = two_to_one(6);
	const struct compare_pair *p = &c->pairs[0];

	(void)state;
	assert_int_equal(c->n_pairs, 1);
	assert_int_equal(p->verdict, VERDICT_SLOWER);
	NEAR(p->ratio, 2);
	NEAR(p->difference_seconds, 1.5);
	NEAR(where_of(p, "write"), 0.6);
	NEAR(where_of(p, "fsync"), 0.1);
	NEAR(where_of(p, "sync"), 0.5);
	NEAR(where_of(p, "wait"), 0.3);
	NEAR(sum_of_shares(p), 100);
	assert_string_equal(p->where[0].op, "write"); /* the largest first */
	NEAR(p->where[0].share_percent, 40);
	compare_free(c);
}

/* Two lanes busy all the time: 2 s of calls in 1 s; each call counts by half. */
static void overlapping_lanes_share_the_time(void **state)
{
	struct compare *c = make(1, 2, 6);

	(void)state;
	for (unsigned i = 1; i <= 6; i++) {
		put_run(c, 0, 0, i, (struct made){1, 0, 1.5, 0, 0.5});
		put_run(c, 0, 1, i, (struct made){2, 0, 3.5, 0, 0.5});
	}
	assert_int_equal(compare_summarise(c), 0);
	NEAR(where_of(&c->pairs[0], "write"), 1);
	NEAR(where_of(&c->pairs[0], "read"), 0);
	NEAR(where_of(&c->pairs[0], "wait"), 0);
	NEAR(sum_of_shares(&c->pairs[0]), 100);
	compare_free(c);
}

static void shares_add_up_for_any_noise(void **state)
{
	struct compare_random r = {11};
	unsigned explained = 0, shown = 0;

	(void)state;
	for (int trial = 0; trial < 200; trial++) {
		struct compare *c = make(1, 3, 7);

		for (unsigned i = 1; i <= 7; i++)
			for (size_t b = 0; b < 3; b++) {
				double v[5];

				for (int k = 0; k < 5; k++)
					v[k] = ((double)compare_random_below(&r, 1000) / 500 +
						       0.01) *
					       (double)(1 + 2 * b);
				put_run(c, 0, b, i, (struct made){v[0], v[1], v[2], v[3], v[4]});
			}
		assert_int_equal(compare_summarise(c), 0);
		for (size_t i = 0; i < c->n_pairs; i++) {
			const struct compare_pair *p = &c->pairs[i];

			shown += p->verdict != VERDICT_NONE_SHOWN;
			explained += p->n_where > 0;
			if (p->n_where)
				assert_true(fabs(sum_of_shares(p) - 100) < 1e-3);
			for (size_t k = 1; k < p->n_where; k++)
				assert_true(
					p->where[k - 1].share_percent >= p->where[k].share_percent);
		}
		compare_free(c);
	}
	assert_true(explained > 100 && explained <= shown);
}

/* Parts are named of a difference that is shown and larger than what is not known of it, else
 * nowhere: in six rounds the other backend takes seconds[i] against 1 s. */
static void where_only_of_a_real_difference(void **state)
{
	static const struct {
		const char *what;
		double seconds[6];
		size_t rounds;
		bool parts;
	} cases[] = {
		{"clearly slower", {1.20, 1.21, 1.22, 1.23, 1.24, 1.25}, 6, true},
		{"clearly faster", {0.80, 0.79, 0.78, 0.77, 0.76, 0.75}, 6, true},
		{"shown and tiny, and that is known well", {1.010, 1.011, 1.012, 1.011, 1.01, 1.01},
			6, true},
		{"none shown", {0.99, 1.01, 1.02, 0.98, 1.03, 1.01}, 6, false},
		{"shown, less than half of its interval", {1.001, 1.01, 1.02, 1.03, 1.2, 1.9}, 6,
			false},
		{"too few rounds", {2, 2, 2, 2, 2}, 5, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct compare *c = make(1, 2, (unsigned)cases[i].rounds);
		char *text, *json;

		for (unsigned k = 0; k < cases[i].rounds; k++) {
			put_run(c, 0, 0, k + 1, (struct made){1, 0, 0.5, 0.1, 0});
			put_run(c, 0, 1, k + 1, (struct made){cases[i].seconds[k], 0, 0.2, 0.6, 0});
		}
		assert_int_equal(compare_summarise(c), 0);
		text = text_of(c, compare_text);
		json = text_of(c, compare_json);
		if ((c->pairs[0].n_where > 0) != cases[i].parts ||
			(strstr(text, "Where the difference") != NULL) != cases[i].parts ||
			(strstr(json, "\"where\": []") == NULL) != cases[i].parts)
			fail_msg("%s: %zu parts\n%s", cases[i].what, c->pairs[0].n_where, text);
		free(text);
		free(json);
		compare_free(c);
	}
}

/* Drift within the rounds: slower in every pair, and yet the median time is less. */
static void where_never_contradicts(void **state)
{
	static const double base[] = {1, 1, 1, 9, 9, 9, 9}, factor = 1.05;
	struct compare *c = make(1, 2, 7);

	(void)state;
	for (unsigned k = 0; k < 7; k++) {
		put_run(c, 0, 0, k + 1, (struct made){base[k], 0, 0.5, 0, 0});
		put_run(c, 0, 1, k + 1, (struct made){base[k] * factor, 0, 0.5, 0, 0});
	}
	/* one more of the other backend, without a pair */
	c->cells[1].runs[6].seconds = 1.05;
	c->cells[1].runs[6].round = 99;
	c->cells[0].runs[6].round = 7;
	assert_int_equal(compare_summarise(c), 0);
	assert_int_equal(c->pairs[0].verdict, VERDICT_SLOWER);
	assert_true(c->pairs[0].difference_seconds < 0);
	assert_int_equal(c->pairs[0].n_where, 0);
	compare_free(c);
}

/* What nearly cancels out is told in seconds, not in thousands of percent. */
static void large_parts_in_seconds(void **state)
{
	struct compare *c = make(1, 2, 6);
	char *s;

	(void)state;
	for (unsigned k = 1; k <= 6; k++) {
		put_run(c, 0, 0, k, (struct made){4, 6, 4, 0, 0});
		put_run(c, 0, 1, k, (struct made){7.2, 3, 4, 3.2, 0});
	}
	assert_int_equal(compare_summarise(c), 0);
	s = text_of(c, compare_text);
	if (!strstr(s,
		    "large, of the 0.200 s more on disk: fsync 3.20 s more, the final sync 3.00 s "
		    "less."))
		fail_msg("%s", s);
	free(s);
	compare_free(c);
}

/* Rounds drift by a factor of ten, the ratio within each stays 1.2: pairs must show it. */
static void pairs_are_by_round(void **state)
{
	struct compare *c = make(1, 2, 6);

	(void)state;
	for (unsigned i = 1; i <= 6; i++) {
		put_run(c, 0, 0, i, (struct made){i * 2.0, 0, 1, 0, 0});
		put_run(c, 0, 1, 7 - i, (struct made){(7 - i) * 2.4, 0, 1, 0, 0});
	}
	assert_int_equal(compare_summarise(c), 0);
	assert_int_equal(c->pairs[0].n, 6);
	NEAR(c->pairs[0].ratio, 1.2);
	NEAR(c->pairs[0].lo, 1.2);
	assert_int_equal(c->pairs[0].verdict, VERDICT_SLOWER);
	compare_free(c);
}

static void baseline_is_the_one_asked_for(void **state)
{
	struct compare *c = make(2, 3, 6);

	(void)state;
	c->baseline = 2;
	for (unsigned i = 1; i <= 6; i++)
		for (size_t cell = 0; cell < 6; cell++)
			put_run(c, cell / 3, cell % 3, i,
				(struct made){(double)(cell % 3 + 1), 0, 0.1, 0, 0});
	assert_int_equal(compare_summarise(c), 0);
	assert_int_equal(c->n_pairs, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_not_equal(c->pairs[i].backend, 2);
		assert_int_equal(c->pairs[i].verdict, VERDICT_FASTER);
		NEAR(c->pairs[i].ratio, (double)(c->pairs[i].backend + 1) / 3);
	}
	compare_free(c);
}

static void limit(void **state)
{
	static const struct {
		double limit;
		unsigned rounds;
		int beyond;
	} cases[] = {{-1, 6, 0}, {0, 6, 1}, {0.5, 6, 1}, {0.99, 6, 1}, {1, 6, 0}, {3, 6, 0},
		{0.1, 5, 0}}; /* five rounds are no confidence */

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct compare *c = two_to_one(cases[i].rounds);

		c->limit = cases[i].limit;
		assert_int_equal(compare_beyond_limit(c), cases[i].beyond);
		compare_free(c);
	}
}

static void interrupted_rounds_are_left_out(void **state)
{
	struct compare *c = make(1, 2, 6);
	char *s;

	(void)state;
	c->interrupted = true;
	put_run(c, 0, 0, 1, (struct made){1, 0, 0.5, 0, 0});
	put_run(c, 0, 1, 1, (struct made){3, 0, 0.5, 0, 0});
	put_run(c, 0, 0, 2, (struct made){1, 0, 0.5, 0, 0});
	assert_int_equal(compare_summarise(c), 0);
	assert_int_equal(c->pairs[0].n, 1);
	NEAR(c->pairs[0].ratio, 3);
	assert_true(isnan(c->pairs[0].lo));
	s = text_of(c, compare_text);
	assert_non_null(strstr(s, "INTERRUPTED"));
	assert_non_null(strstr(s, "1 round gives no interval and so no verdict"));
	free(s);
	s = text_of(c, compare_json);
	assert_non_null(strstr(s, "\"interrupted\": true"));
	assert_non_null(strstr(s, "\"ci95\": null"));
	assert_non_null(strstr(s, "\"verdict\": \"no difference shown\""));
	assert_non_null(strstr(s, "\"where\": []"));
	free(s);
	compare_free(c);
}

static void nothing_ended(void **state)
{
	struct compare *c = make(1, 2, 6);
	char *s;

	(void)state;
	assert_int_equal(compare_summarise(c), 0);
	s = text_of(c, compare_text);
	assert_non_null(strstr(s, "nothing can be said of disk against raw"));
	free(s);
	s = text_of(c, compare_json);
	assert_non_null(strstr(s, "\"ratio\": null"));
	assert_non_null(strstr(s, "\"median_seconds\": null"));
	free(s);
	compare_free(c);
}

/* No line wider than 120 columns, whatever the names and figures. */
static void text_fits(void **state)
{
	struct compare *c = make(2, 4, 6);
	char *s, *save = NULL;

	(void)state;
	free(c->backends[1].name);
	c->backends[1].name = strdup("a-backend-of-a-name-that-nobody-would-type-twice");
	for (unsigned i = 1; i <= 6; i++)
		for (size_t cell = 0; cell < 8; cell++)
			put_run(c, cell / 4, cell % 4, i,
				(struct made){1234.567 * (double)(1 + (cell % 4 + i) % 3), 99.99,
					1000 + i, 34, 55});
	assert_int_equal(compare_summarise(c), 0);
	s = text_of(c, compare_text);
	for (char *line = strtok_r(s, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strlen(line) > 120)
			fail_msg("%zu columns: %s", strlen(line), line);
	free(s);
	compare_free(c);
}

/* Sentences may be broken anywhere: put together again. */
static void unbreak(char *s)
{
	while ((s = strstr(s, "\n  "))) {
		memmove(s, s + 2, strlen(s + 2) + 1);
		*s = ' ';
	}
}

static void text_says_it(void **state)
{
	static const struct {
		unsigned rounds;
		const char *wants[8];
	} cases[] = {
		{6, {"1 workload on 2 backends, 6 rounds in random order (seed 42)",
			    "1.50 [1.50, 1.50]", "2.00 [2.00, 2.00]", "baseline",
			    "disk is slower than raw",
			    "of the 1.50 s more on disk: write 40 %, the final sync 33 %, waiting "
			    "and the engine 20 %, fsync 7 %."}},
		{3, {"too few rounds",
			    "large: disk took 2.00 times as long as raw; 3 rounds give no interval "
			    "and so no verdict, 6 are the least.",
			    "! 3 rounds give no 95 % interval of a median and no verdict"}},
		{1, {"1 round gives no interval and so no verdict", "! 1 round gives no 95 %"}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct compare *c = two_to_one(cases[i].rounds);
		char *s = text_of(c, compare_text);

		unbreak(s);
		for (size_t k = 0; k < 8 && cases[i].wants[k]; k++)
			if (!strstr(s, cases[i].wants[k]))
				fail_msg("'%s' is not in:\n%s", cases[i].wants[k], s);
		free(s);
		compare_free(c);
	}
}

/* Factors as factors, small differences in percent, always with the end nearer to none first. */
static void sentences_say_how_much(void **state)
{
	static const struct {
		double base, other;
		const char *want;
	} cases[] = {
		{1, 1.25,
			"disk is slower than raw. It takes 25.0 % longer, with 95 % confidence "
			"between 25.0 % and 25.0 % (6 rounds)."},
		{1, 3, "disk is slower than raw. It takes 3.00 times as long"},
		{1, 0.75, "disk is faster than raw. It takes 25.0 % less time"},
		{2, 0.5,
			"disk is faster than raw. raw takes 4.00 times as long, with 95 % "
			"confidence between 4.00 and 4.00 times"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct compare *c = make(1, 2, 6);
		char *s;

		for (unsigned k = 1; k <= 6; k++) {
			put_run(c, 0, 0, k, (struct made){cases[i].base, 0, 0.1, 0, 0});
			put_run(c, 0, 1, k, (struct made){cases[i].other, 0, 0.1, 0, 0});
		}
		assert_int_equal(compare_summarise(c), 0);
		s = text_of(c, compare_text);
		unbreak(s);
		if (!strstr(s, cases[i].want))
			fail_msg("'%s' is not in:\n%s", cases[i].want, s);
		free(s);
		compare_free(c);
	}
}

static void doubts_are_told(void **state)
{
	struct compare *c = two_to_one(6);
	struct report_run *r = &c->cells[1].runs[2];
	char *s = text_of(c, compare_text);

	(void)state;
	assert_null(strchr(s, '!'));
	free(s);
	r->cached = true;
	r->mismatches = 3;
	r->direct_refused = 1;
	s = text_of(c, compare_text);
	assert_non_null(
		strstr(s, "! large on disk: in 1 of 6 runs the caches could not be dropped"));
	assert_non_null(strstr(s, "! large on disk: 3 results were not the recorded ones"));
	assert_non_null(strstr(s, "! large on disk: 1 direct I/O opens were refused"));
	free(s);
	compare_free(c);
}

static void json_has_the_keys(void **state)
{
	static const char *const wants[] = {"\"iotape\": \"", "\"rounds\": 6",
		"\"order\": \"resource\"", "\"pace\": \"asap\"", "\"cache\": \"cold\"",
		"\"machine\": {", "\"seed\": 42", "\"workloads\": [", "\"ops\": 300",
		"\"threads\": 2", "\"ops\": {", "\"fsync\": {", "\"backends\": [", "\"how\": null",
		"\"cells\": [", "\"median_seconds\": 1.5", "\"overwrite_ms\": null",
		"\"first_touch_write_ms\": 1.25", "\"fidelity\": {", "\"matched_percent\": 100",
		"\"start_lag_p99_us\": 76", "\"comparisons\": [", "\"verdict\": \"slower\"",
		"\"share_of_difference_percent\": "};
	struct compare *c = two_to_one(6);
	char *s = text_of(c, compare_json);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wants); i++)
		if (!strstr(s, wants[i]))
			fail_msg("%s is not in:\n%s", wants[i], s);
	free(s);
	compare_free(c);
}

/* From a replay's histograms to figures: 4 writes of 1 MB in 2 s, one of them failed, one read. */
static void measures(void **state)
{
	static struct replay_result res;
	static struct op_stats write, read, fsync_op;
	struct report_run run;

	(void)state;
	hist_init(&res.start_lag);
	hist_init(&res.stats.first_touch);
	hist_init(&res.stats.overwrite);
	hist_init(&write.lat);
	hist_init(&read.lat);
	hist_init(&fsync_op.lat);
	for (int i = 0; i < 4; i++)
		hist_add(&write.lat, 10000000);
	hist_add(&read.lat, 30000000);
	hist_add(&fsync_op.lat, 900000000);
	hist_add(&res.stats.first_touch, 10000000);
	write.bytes = 3000000;
	write.errors = 1;
	read.bytes = 1000000;
	res.stats.op[OP_WRITE] = &write;
	res.stats.op[OP_READ] = &read;
	res.stats.op[OP_FSYNC] = &fsync_op;
	res.seconds = 2;
	res.sync_seconds = 0.5;
	res.steps = res.matched = 6;
	report_measure(&run, &res);
	NEAR(run.mb_per_s, 2);
	NEAR(run.iops, 2); /* 3 writes that succeeded and 1 read, no fsync */
	NEAR(run.mean_ms, 14);
	NEAR(run.max_ms, 30);
	NEAR(run.first_touch_write_ms, 10);
	assert_true(isnan(run.overwrite_ms));
	NEAR(run.op[OP_FSYNC].total_ms, 900);
	assert_int_equal(run.data_calls, 5);
	assert_true(run.p50_ms >= 10 && run.p50_ms < 10.4);
	NEAR(run.matched_percent, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_adds_up),
		cmocka_unit_test(overlapping_lanes_share_the_time),
		cmocka_unit_test(shares_add_up_for_any_noise),
		cmocka_unit_test(where_only_of_a_real_difference),
		cmocka_unit_test(where_never_contradicts),
		cmocka_unit_test(large_parts_in_seconds),
		cmocka_unit_test(pairs_are_by_round),
		cmocka_unit_test(baseline_is_the_one_asked_for),
		cmocka_unit_test(limit),
		cmocka_unit_test(interrupted_rounds_are_left_out),
		cmocka_unit_test(nothing_ended),
		cmocka_unit_test(text_fits),
		cmocka_unit_test(text_says_it),
		cmocka_unit_test(sentences_say_how_much),
		cmocka_unit_test(doubts_are_told),
		cmocka_unit_test(json_has_the_keys),
		cmocka_unit_test(measures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
