/* SPDX-License-Identifier: MIT */
/* Histogram: known quantiles, bounded relative error over all magnitudes, merging, extremes. */
#include "test.h"

#include "iotape/stats.h"

static struct hist h, g;

static void known_quantiles(void **state)
{
	static const struct {
		uint64_t n; /* values 1..n */
		double q;
		uint64_t want;
	} cases[] = {
		{1, 0.5, 1},
		{10, 0, 1},
		{10, 0.1, 1},
		{10, 0.5, 5},
		{10, 0.51, 6},
		{10, 1, 10},
		{31, 0.99, 31},
		{63, 0.5, 32},
		{64, 0.99, 64},
		/* 500 is in [496, 504), 990 in [976, 992), 999 in [992, 1008) */
		{1000, 0.5, 503},
		{1000, 0.99, 991},
		{1000, 0.999, 1000},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		hist_init(&h);
		for (uint64_t v = 1; v <= cases[i].n; v++)
			hist_add(&h, v);
		assert_int_equal(hist_quantile(&h, cases[i].q), cases[i].want);
		assert_int_equal(h.count, cases[i].n);
		assert_int_equal(h.sum, cases[i].n * (cases[i].n + 1) / 2);
	}
}

static void every_magnitude(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++)
		for (unsigned k = 0; k < 3; k++) {
			uint64_t v = (UINT64_C(1) << bit) + k * ((UINT64_C(1) << bit) / 3), q;

			hist_init(&h);
			hist_add(&h, v);
			hist_add(&h, UINT64_MAX);
			q = hist_quantile(&h, 0.5);
			assert_true(q >= v && q - v <= v / HIST_SUB);
			assert_int_equal(h.min, v);
			assert_true(hist_quantile(&h, 1) == UINT64_MAX);
			assert_true(hist_quantile(&h, 0) == v);
		}
}

static void empty_and_zero(void **state)
{
	(void)state;
	hist_init(&h);
	assert_int_equal(hist_quantile(&h, 0.5), 0);
	assert_true(hist_mean(&h) == 0);
	hist_add(&h, 0);
	assert_int_equal(h.count, 1);
	assert_int_equal(hist_quantile(&h, 0.99), 0);
	hist_add(&h, UINT64_MAX);
	hist_add(&h, UINT64_MAX);
	assert_true(h.sum == UINT64_MAX);
}

static void merged_is_added(void **state)
{
	struct hist *all = calloc(1, sizeof(*all));

	(void)state;
	assert_non_null(all);
	hist_init(&h);
	hist_init(&g);
	for (uint64_t v = 5; v < 100000; v += 7) {
		hist_add(v % 3 ? &h : &g, v);
		hist_add(all, v);
	}
	hist_merge(&h, &g);
	assert_memory_equal(&h, all, sizeof(h));
	hist_init(&g);
	hist_merge(&h, &g);
	assert_memory_equal(&h, all, sizeof(h));
	hist_merge(&g, &h);
	assert_memory_equal(&g, all, sizeof(h));
	assert_true(hist_mean(&g) == 49999);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_quantiles),
		cmocka_unit_test(every_magnitude),
		cmocka_unit_test(empty_and_zero),
		cmocka_unit_test(merged_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
