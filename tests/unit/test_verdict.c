/* SPDX-License-Identifier: MIT */
/*
 * Statistics of compare against known order statistics and against seeded noise of which the truth
 * is known: what is said with 95 % confidence must be right that often.
 */
#include "iotape/compare.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define TRIALS 10000

static double uniform(struct compare_random *r)
{
	return ((double)compare_random_below(r, UINT64_C(1) << 53) + 0.5) / 9007199254740992.0;
}

static double gauss(struct compare_random *r)
{
	double u = uniform(r), v = uniform(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* x_1 .. x_n = 1 .. n, given in descending order; the interval is then its own ranks. */
static void known_order_statistics(void **state)
{
	static const struct {
		size_t n;
		double level, median;
		size_t lo, hi; /* ranks from 1; 0: no interval */
	} cases[] = {
		{1, 0.95, 1, 0, 0},
		{5, 0.95, 3, 0, 0},
		{6, 0.95, 3.5, 1, 6},
		{7, 0.95, 4, 1, 7},
		{8, 0.95, 4.5, 1, 8},
		{9, 0.95, 5, 2, 8},
		{12, 0.95, 6.5, 3, 10},
		{20, 0.95, 10.5, 6, 15},
		{100, 0.95, 50.5, 40, 61},
		{5000, 0.95, 2500.5, 2431, 2570},
		{5, 0.90, 3, 1, 5},
		{7, 0.99, 4, 0, 0},
		{8, 0.99, 4.5, 1, 8},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = cases[i].n;
		double *x = calloc(n, sizeof(*x)), median, lo, hi;

		assert_non_null(x);
		for (size_t k = 0; k < n; k++)
			x[k] = (double)(n - k);
		assert_int_equal(median_ci(x, n, cases[i].level, &median, &lo, &hi),
			cases[i].lo ? 0 : -ERANGE);
		assert_true(fabs(median - cases[i].median) < 1e-12);
		if (cases[i].lo) {
			assert_int_equal(lo, cases[i].lo);
			assert_int_equal(hi, cases[i].hi);
		} else {
			assert_true(isnan(lo) && isnan(hi));
		}
		free(x);
	}
}

static void no_value_has_no_median(void **state)
{
	double median, lo, hi, none;
	unsigned need;

	(void)state;
	assert_int_equal(median_ci(&none, 0, 0.95, &median, &lo, &hi), -EINVAL);
	assert_true(isnan(median) && isnan(lo) && isnan(hi));
	assert_int_equal(
		verdict_from_ratios(&none, 0, &median, &lo, &hi, &need), VERDICT_NONE_SHOWN);
	assert_int_equal(need, 0);
}

static void verdicts(void **state)
{
	static const struct {
		const char *what;
		double ratios[8];
		size_t n;
		enum verdict want;
		bool need; /* rounds_for_5_percent is said */
	} cases[] = {
		{"all above 1", {1.1, 1.2, 1.3, 1.1, 1.2, 1.15}, 6, VERDICT_SLOWER, false},
		{"all below 1", {0.9, 0.8, 0.7, 0.9, 0.8, 0.85}, 6, VERDICT_FASTER, false},
		{"one on the other side", {1.1, 1.2, 1.3, 0.99, 1.2, 1.15}, 6, VERDICT_NONE_SHOWN,
			true},
		{"touching 1", {1.0, 1.2, 1.3, 1.1, 1.2, 1.15}, 6, VERDICT_NONE_SHOWN, true},
		{"too few to say", {2, 2, 2, 2, 2}, 5, VERDICT_NONE_SHOWN, true},
		{"a single one", {2}, 1, VERDICT_NONE_SHOWN, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double r[8], median, lo, hi;
		unsigned need;
		enum verdict v;

		memcpy(r, cases[i].ratios, sizeof(r));
		v = verdict_from_ratios(r, cases[i].n, &median, &lo, &hi, &need);
		if (v != cases[i].want || (need > 0) != cases[i].need)
			fail_msg("%s: %s, %u rounds", cases[i].what, verdict_name(v), need);
	}
}

/* log ratios -2 -1 0 0 1 2 percent: median 0, MAD 1 %, times 1.4826 * 1.2 is a deviation of 1.78 %:
 * 5 % is then beyond every one of six. Ten times the spread: about 220 by the normal formula
 * (3.2415 * 1.2533 * 0.1779 / 0.04879)^2. */
static void rounds_needed(void **state)
{
	static const double percent[] = {-2, -1, 0, 0, 1, 2};
	double r[6], median, lo, hi;
	unsigned need;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		r[i] = exp(percent[i] / 100);
	verdict_from_ratios(r, 6, &median, &lo, &hi, &need);
	assert_int_equal(need, 6);
	for (size_t i = 0; i < 6; i++)
		r[i] = exp(percent[i] / 10);
	verdict_from_ratios(r, 6, &median, &lo, &hi, &need);
	assert_in_range(need, 205, 235);
}

/* ---- seeded noise ---- */

enum noise { LOGNORMAL, BIMODAL, DRIFTING, OUTLIERS };

/* Time of one run whose true median is 1, sigma as a fraction; round of rounds for the drift. */
static double noisy(struct compare_random *r, enum noise kind, double sigma, size_t round, size_t n)
{
	double t = exp(sigma * gauss(r));

	if (kind == BIMODAL && compare_random_below(r, 2))
		t *= 1.4;
	if (kind == DRIFTING)
		t *= 1 + 0.5 * (double)round / (double)n;
	if (kind == OUTLIERS && compare_random_below(r, 5) == 0)
		t *= 1 + 4 * uniform(r);
	return t;
}

/* TRIALS comparisons at a true ratio; counts verdicts and intervals that cover the truth. */
static void simulate(enum noise kind, double sigma, double truth, size_t rounds, unsigned count[3],
	unsigned *covered)
{
	struct compare_random r = {20260101 + (uint64_t)kind};
	double ratios[64], median, lo, hi;
	unsigned need;

	memset(count, 0, 3 * sizeof(*count));
	*covered = 0;
	for (unsigned t = 0; t < TRIALS; t++) {
		for (size_t i = 0; i < rounds; i++) {
			double a = noisy(&r, kind, sigma, i, rounds);

			ratios[i] = truth * noisy(&r, kind, sigma, i, rounds) / a;
		}
		count[verdict_from_ratios(ratios, rounds, &median, &lo, &hi, &need)]++;
		*covered += lo <= truth && truth <= hi;
	}
}

static void same_storage_shows_no_difference(void **state)
{
	static const size_t rounds[] = {6, 9, 12, 20};

	(void)state;
	for (int kind = LOGNORMAL; kind <= OUTLIERS; kind++)
		for (size_t i = 0; i < ARRAY_SIZE(rounds); i++) {
			unsigned count[3], covered;

			simulate(kind, 0.05, 1, rounds[i], count, &covered);
			if (count[VERDICT_NONE_SHOWN] < TRIALS * 95 / 100)
				fail_msg("noise %d, %zu rounds: a difference in %u of %d A/A", kind,
					rounds[i], TRIALS - count[VERDICT_NONE_SHOWN], TRIALS);
		}
}

static void ten_percent_is_found(void **state)
{
	unsigned count[3], covered;

	(void)state;
	simulate(LOGNORMAL, 0.05, 1.1, 12, count, &covered);
	if (count[VERDICT_SLOWER] < TRIALS * 90 / 100 || count[VERDICT_FASTER])
		fail_msg("slower in %u, faster in %u of %d", count[VERDICT_SLOWER],
			count[VERDICT_FASTER], TRIALS);
	simulate(LOGNORMAL, 0.05, 1 / 1.1, 12, count, &covered);
	if (count[VERDICT_FASTER] < TRIALS * 90 / 100 || count[VERDICT_SLOWER])
		fail_msg("faster in %u, slower in %u of %d", count[VERDICT_FASTER],
			count[VERDICT_SLOWER], TRIALS);
}

static void intervals_cover_the_truth(void **state)
{
	(void)state;
	for (int kind = LOGNORMAL; kind <= OUTLIERS; kind++) {
		unsigned count[3], covered;

		simulate(kind, 0.05, 1.3, 12, count, &covered);
		if (covered < TRIALS * 95 / 100)
			fail_msg("noise %d: the truth within %u of %d intervals", kind, covered,
				TRIALS);
	}
}

/* What rounds_for_5_percent promises: with so many rounds 5 % is found nine times out of ten. The
 * ratios asked from are quantiles of the noise, so their spread is the true one. */
static void the_promise_of_rounds_holds(void **state)
{
	static const double sigma[] = {0.01, 0.02, 0.03, 0.05};
	unsigned count[3], covered, need, last = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sigma); i++) {
		struct compare_random r = {99};
		static double ratios[20001];
		double median, lo, hi;

		for (size_t k = 0; k < ARRAY_SIZE(ratios); k++)
			ratios[k] = exp(sigma[i] * (gauss(&r) - gauss(&r)));
		/* many equal ratios show a difference easily: the centre is put to 1 */
		median = median_of(ratios, ARRAY_SIZE(ratios));
		for (size_t k = 0; k < ARRAY_SIZE(ratios); k++)
			ratios[k] /= median;
		assert_int_equal(
			verdict_from_ratios(ratios, ARRAY_SIZE(ratios), &median, &lo, &hi, &need),
			VERDICT_NONE_SHOWN);
		simulate(LOGNORMAL, sigma[i], 1.05, need, count, &covered);
		if (need < last || count[VERDICT_SLOWER] < TRIALS * 89 / 100)
			fail_msg("noise %g: 5 %% found in %u of %d with %u rounds", sigma[i],
				count[VERDICT_SLOWER], TRIALS, need);
		last = need;
	}
	assert_in_range(last, 20, 64);
}

/* ---- order ---- */

static void order_is_reproducible(void **state)
{
	struct compare_random a = {7}, b = {7}, c = {8};
	size_t x[12], y[12], z[12], same = 0;

	(void)state;
	for (int round = 0; round < 50; round++) {
		compare_shuffle(&a, 3, 4, x);
		compare_shuffle(&b, 3, 4, y);
		compare_shuffle(&c, 3, 4, z);
		assert_memory_equal(x, y, sizeof(x));
		same += !memcmp(x, z, sizeof(x));
	}
	assert_true(same < 5);
}

/* Every round holds every cell once, the backends of a workload together. Over many rounds every
 * workload is as often in every block and every backend in every place of its block. */
static void order_is_balanced(void **state)
{
	enum { W = 3, B = 4, N = W * B, ROUNDS = 12000 };
	static unsigned block[W][W], place[W][B][B];
	struct compare_random r = {1};

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		size_t cells[N];
		unsigned seen = 0;

		compare_shuffle(&r, W, B, cells);
		for (size_t i = 0; i < N; i++) {
			assert_in_range(cells[i], 0, N - 1);
			assert_int_equal(cells[i] / B, cells[i / B * B] / B);
			seen |= 1u << cells[i];
			place[cells[i] / B][cells[i] % B][i % B]++;
			block[cells[i] / B][i / B] += i % B == 0;
		}
		assert_int_equal(seen, (1u << N) - 1);
	}
	/* six standard deviations of binomial(12000, 1/3 or 1/4) */
	for (size_t w = 0; w < W; w++) {
		for (size_t i = 0; i < W; i++)
			assert_in_range(block[w][i], ROUNDS / W - 310, ROUNDS / W + 310);
		for (size_t i = 0; i < B * B; i++)
			assert_in_range(place[w][i / B][i % B], ROUNDS / B - 285, ROUNDS / B + 285);
	}
}

static void random_below_is_in_range(void **state)
{
	struct compare_random r = {3};
	unsigned count[7] = {0};

	(void)state;
	for (int i = 0; i < 70000; i++)
		count[compare_random_below(&r, 7)]++;
	for (int i = 0; i < 7; i++)
		assert_in_range(count[i], 9600, 10400);
	assert_int_equal(compare_random_below(&r, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_order_statistics),
		cmocka_unit_test(no_value_has_no_median),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(rounds_needed),
		cmocka_unit_test(same_storage_shows_no_difference),
		cmocka_unit_test(ten_percent_is_found),
		cmocka_unit_test(intervals_cover_the_truth),
		cmocka_unit_test(the_promise_of_rounds_holds),
		cmocka_unit_test(order_is_reproducible),
		cmocka_unit_test(order_is_balanced),
		cmocka_unit_test(random_below_is_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
