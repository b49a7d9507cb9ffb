/* SPDX-License-Identifier: MIT */
/* Where a difference comes from: its parts add up, and noise has none. */
#include "report_help.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_adds_up),
		cmocka_unit_test(overlapping_lanes_share_the_time),
		cmocka_unit_test(shares_add_up_for_any_noise),
		cmocka_unit_test(where_only_of_a_real_difference),
		cmocka_unit_test(where_never_contradicts),
		cmocka_unit_test(large_parts_in_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
