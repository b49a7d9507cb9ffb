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

/* P(B = 0), P(B = 1), ... for B ~ binomial(n, p), one a call, by logarithms: large n does not
 * underflow. */
struct binomial {
	size_t n, k;
	double log_odds, log_term;
};

static struct binomial binomial_begin(size_t n, double p)
{
	return (struct binomial){n, 0, log(p) - log1p(-p), (double)n * log1p(-p)};
}

static double binomial_next(struct binomial *b)
{
	double term = exp(b->log_term);

	b->log_term += log((double)(b->n - b->k) / (double)(b->k + 1)) + b->log_odds;
	b->k++;
	return term;
}

/* Largest k, from 1, with 1 - 2 P(B < k) >= level for B ~ binomial(n, 1/2); 0: none. */
static size_t rank_for(size_t n, double level)
{
	struct binomial b = binomial_begin(n, 0.5);
	double below = 0;
	size_t k = 0;

	while (2 * k < n) {
		below += binomial_next(&b);
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

/* Chance that n ratios, each below 1 with probability q, are shown to be above it. */
static double power(size_t n, double q)
{
	struct binomial b = binomial_begin(n, q);
	size_t k = rank_for(n, 0.95);
	double p = 0;

	while (k--)
		p += binomial_next(&b);
	return p;
}

/*
 * The least number of rounds that shows a true difference of 5 % nine times out of ten, when log
 * ratios scatter normally with the deviation s seen here: the least n for which fewer than k of
 * the n ratios fall on the wrong side of 1 with a chance of 0.9, each doing so with
 * q = Phi(-ln 1.05 / s), and x_k being the lower end of the interval. Beyond EXACT_ROUNDS the
 * normal limit of the same: n = ((z_0.975 + z_0.90) sqrt(pi / 2) s / ln 1.05)^2.
 */
static unsigned rounds_to_see_5_percent(double *ratios, size_t n)
{
	enum { LEAST = 6, EXACT_ROUNDS = 300, NEVER = 1000000 };
	double s, q, limit;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		ratios[i] = log(ratios[i]);
	s = robust_sd(ratios, n);
	if (!(s > 0))
		return LEAST;
	limit = (1.959964 + 1.281552) * sqrt(M_PI / 2) * s / log(1.05);
	limit *= limit;
	if (!(limit < NEVER))
		return NEVER;
	if (limit > EXACT_ROUNDS)
		return (unsigned)ceil(limit);
	q = erfc(log(1.05) / s / M_SQRT2) / 2;
	/* what is far below the limit is not enough either */
	for (n = MAX(LEAST, (size_t)(limit * 0.7)); n < 2 * EXACT_ROUNDS && power(n, q) < 0.9; n++)
		;
	return (unsigned)n;
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
