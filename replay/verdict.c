/* SPDX-License-Identifier: MIT */
/*
 * What may be said of a handful of timings. The one idea: order statistics. Whatever the noise
 * looks like, the number of values below the true median is binomial(n, 1/2), so [x_k, x_(n+1-k)]
 * covers it with probability 1 - 2 P(B < k), and nothing has to be normal. Ratios are taken pair
 * by pair within a round, so what drifts between rounds cancels. The order of a round is drawn
 * here too, because chance in it is what makes the pairs comparable. Nothing here knows of replays.
 */
#include "iotape/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double middle(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double median_of(double *values, size_t n)
{
	if (!n)
		return NAN;
	qsort(values, n, sizeof(*values), by_value);
	return middle(values, n);
}

/* Largest k, from 1, with 1 - 2 P(B < k) >= level for B ~ binomial(n, 1/2); 0: none. The terms are
 * summed from exact logarithms, so that large n does not underflow. */
static size_t rank_for(size_t n, double level)
{
	double below = 0;
	size_t k = 0;

	while (2 * k < n) {
		below += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) -
			     (double)n * M_LN2);
		if (1 - 2 * below < level)
			break;
		k++;
	}
	return k;
}

int median_ci(double *values, size_t n, double level, double *median, double *lo, double *hi)
{
	size_t k;

	*lo = *hi = NAN;
	*median = median_of(values, n);
	if (!n)
		return fail(-EINVAL, "the median of no value does not exist");
	k = rank_for(n, level);
	if (!k)
		return fail(-ERANGE, "%zu values are too few for an interval of their median at %g",
			n, level);
	*lo = values[k - 1];
	*hi = values[n - k];
	return 0;
}

/* Standard deviation from the median absolute deviation, with the small-sample factors of Croux
 * and Rousseeuw (1992): one wild round must not say that a thousand are needed. */
static double robust_sd(double *values, size_t n)
{
	static const double small[] = {
		0, 0, 1.196, 1.495, 1.363, 1.206, 1.200, 1.140, 1.129, 1.107};
	double m = median_of(values, n);

	for (size_t i = 0; i < n; i++)
		values[i] = fabs(values[i] - m);
	return 1.4826 * median_of(values, n) *
	       (n < ARRAY_SIZE(small) ? small[n] : (double)n / ((double)n - 0.8));
}

/*
 * Rounds after which a true difference of 5 % is shown nine times out of ten:
 * n = ((z_0.975 + z_0.90) * sqrt(pi / 2) * sd(log ratio) / log 1.05)^2, at least 6;
 * sqrt(pi / 2) is what a median costs against a mean.
 */
static unsigned rounds_to_see_5_percent(double *ratios, size_t n)
{
	double need;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		ratios[i] = log(ratios[i]);
	need = (1.959964 + 1.281552) * sqrt(M_PI / 2) * robust_sd(ratios, n) / log(1.05);
	need = ceil(need * need);
	if (!isfinite(need) || need > 1e6)
		return 1000000;
	return (unsigned)MAX(need, 6.0);
}

enum verdict verdict_from_ratios(double *ratios, size_t n, double *median, double *lo, double *hi,
	unsigned *rounds_for_5_percent)
{
	*rounds_for_5_percent = 0;
	if (!median_ci(ratios, n, 0.95, median, lo, hi)) {
		if (*lo > 1)
			return VERDICT_SLOWER;
		if (*hi < 1)
			return VERDICT_FASTER;
	}
	*rounds_for_5_percent = rounds_to_see_5_percent(ratios, n);
	return VERDICT_NONE_SHOWN;
}

const char *verdict_name(enum verdict v)
{
	return v == VERDICT_SLOWER   ? "slower"
	       : v == VERDICT_FASTER ? "faster"
				     : "no difference shown";
}

static uint64_t random_next(struct compare_random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t compare_random_below(struct compare_random *r, uint64_t n)
{
	uint64_t unfair = -n % n, v; /* 2^64 mod n values at the bottom would be drawn too often */

	do {
		v = random_next(r);
	} while (v < unfair);
	return v % n;
}

static void shuffle(struct compare_random *r, size_t *items, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = compare_random_below(r, i), t = items[i - 1];

		items[i - 1] = items[j];
		items[j] = t;
	}
}

void compare_shuffle(struct compare_random *r, size_t n_workloads, size_t n_backends, size_t *cells)
{
	/* the first cell of each workload's block tells the workload until its block is filled:
	 * going backwards never overwrites one that is still needed */
	for (size_t w = 0; w < n_workloads; w++)
		cells[w] = w;
	shuffle(r, cells, n_workloads);
	for (size_t w = n_workloads; w-- > 0;) {
		size_t first = cells[w] * n_backends, *block = cells + w * n_backends;

		for (size_t b = 0; b < n_backends; b++)
			block[b] = first + b;
		shuffle(r, block, n_backends);
	}
}
