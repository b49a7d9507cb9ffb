/* SPDX-License-Identifier: MIT */
/*
 * Summary and reports on results made by hand: medians, pairs, the limit, text and JSON.
 */
#include "report_help.h"

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

		const char *says = cases[i].beyond ? "true" : "false";
		char *s, want[64];

		c->limit = cases[i].limit;
		assert_int_equal(compare_beyond_limit(c), cases[i].beyond);
		s = text_of(c, compare_text);
		assert_true((strstr(s, "That is beyond the limit.") != NULL) == cases[i].beyond);
		assert_true((strstr(s, "limit: no backend slower than raw by more than") != NULL) ==
			    (cases[i].limit >= 0));
		free(s);
		s = text_of(c, compare_json);
		snprintf(want, sizeof(want), "\"beyond_limit\": %s", says);
		assert_non_null(strstr(s, want));
		assert_true((strstr(s, "\"limit_percent\": null") != NULL) == (cases[i].limit < 0));
		free(s);
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
