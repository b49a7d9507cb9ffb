/* SPDX-License-Identifier: MIT */
/*
 * The right word for a mistyped one, whatever it is a word of: a command, an option, a key, a kind
 * of storage. Near is what a slip of the fingers makes: a few wrong, missing, doubled or swapped
 * letters, or an end that is missing.
 */
#include "iotape/util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 32

/* Levenshtein distance with neighbours swapped counted once (optimal string alignment); words
 * beyond WORD_MAX are far from everything. */
static unsigned edit_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];

	if (n > WORD_MAX || m > WORD_MAX)
		return WORD_MAX;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = (unsigned)i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++)
		for (size_t j = 1; j <= m; j++) {
			unsigned c = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			c = MIN(c, MIN(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				c = MIN(c, d[i - 2][j - 2] + 1);
			d[i][j] = c;
		}
	return d[n][m];
}

void util_nearest(struct util_nearest *best, const char *typed, const char *candidate)
{
	size_t n = strlen(typed);
	/* the start of a right word is as near as one wrong letter */
	unsigned d = n > 1 && !strncmp(typed, candidate, n) ? 1 : edit_distance(typed, candidate);

	if (d <= (n + 2) / 3 + 1 && d < strlen(candidate) && (!best->word || d < best->distance)) {
		best->word = candidate;
		best->distance = d;
	}
}

int util_choice(const char *what, const char *s, const char *const *names)
{
	struct util_nearest best = {0};
	char list[256] = "";
	size_t len = 0;

	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], s))
			return i;
		util_nearest(&best, s, names[i]);
		len += (size_t)snprintf(
			list + len, sizeof(list) - len, "%s%s", i ? ", " : "", names[i]);
		len = MIN(len, sizeof(list) - 1);
	}
	return fail_hint(fail(-EINVAL, "%s: '%s' is none of %s", what, s, list), best.word);
}
