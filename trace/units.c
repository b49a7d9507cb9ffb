/* SPDX-License-Identifier: MIT */
/*
 * Numbers as people write them: sizes, durations, fractions. Decimal digits are read by hand into
 * integers, so that a value is exact or refused: no exponent, no sign, no locale, no rounding by a
 * double, no silent overflow.
 */
#include "iotape/util.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* whole.frac / 10^digits */
struct decimal {
	uint64_t whole, frac, scale;
	bool has_point;
};

/* Reads digits[.digits] and returns what follows, NULL if there is no number or it is too large.
 * Digits beyond the 12th behind the point are below anything that counts. */
static const char *read_decimal(const char *s, struct decimal *d)
{
	bool any = false;

	*d = (struct decimal){.scale = 1};
	for (; *s >= '0' && *s <= '9'; s++, any = true)
		if (__builtin_mul_overflow(d->whole, UINT64_C(10), &d->whole) ||
			__builtin_add_overflow(d->whole, (uint64_t)(*s - '0'), &d->whole))
			return NULL;
	if (*s == '.') {
		d->has_point = true;
		for (s++; *s >= '0' && *s <= '9'; s++, any = true)
			if (d->scale < UINT64_C(1000000000000)) {
				d->frac = d->frac * 10 + (uint64_t)(*s - '0');
				d->scale *= 10;
			}
	}
	return any ? s : NULL;
}

/* d * unit, rounded to nearest; false beyond INT64_MAX. */
static bool scale_decimal(const struct decimal *d, uint64_t unit, uint64_t *out)
{
	unsigned __int128 v = (unsigned __int128)d->whole * unit;

	v += ((unsigned __int128)d->frac * unit + d->scale / 2) / d->scale;
	if (v > INT64_MAX)
		return false;
	*out = (uint64_t)v;
	return true;
}

int util_parse_size(const char *s, uint64_t *bytes)
{
	static const char letters[] = "kmgt";
	struct decimal d;
	const char *p = read_decimal(s, &d), *letter;
	uint64_t unit = 1;

	if (!p)
		return fail(-EINVAL, "'%s' is no size: write a number of bytes, or 64K, 1.5G", s);
	letter = strchr(letters, *p | 0x20);
	if (letter) {
		unit = UINT64_C(1024) << 10 * (letter - letters);
		p++;
	}
	if (*p && strcasecmp(p, "B") && (unit == 1 || strcasecmp(p, "iB")))
		return fail(-EINVAL, "'%s' is no size: the suffixes are K, M, G and T (1024)", s);
	if (d.has_point && unit == 1)
		return fail(-EINVAL, "'%s' is no size: there are no parts of a byte", s);
	if (!scale_decimal(&d, unit, bytes))
		return fail(-EINVAL, "'%s' is too large for a size", s);
	return 0;
}

int util_parse_duration(const char *s, int64_t *ns)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = {
		{"ns", 1},
		{"us", 1000},
		{"\xc2\xb5s", 1000},
		{"ms", 1000000},
		{"s", UINT64_C(1000000000)},
		{"m", UINT64_C(60000000000)},
		{"min", UINT64_C(60000000000)},
		{"h", UINT64_C(3600000000000)},
	};
	struct decimal d;
	const char *p = read_decimal(s, &d);
	uint64_t v, unit = 0;

	if (!p)
		return fail(-EINVAL, "'%s' is no duration: write 10ms, 5us, 2s, 1m", s);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(p, units[i].suffix))
			unit = units[i].ns;
	if (!*p && !d.whole && !d.frac)
		unit = 1; /* 0 needs no unit */
	if (!unit)
		return fail(
			-EINVAL, "'%s' is no duration: the units are ns, us, ms, s, m and h", s);
	if (!scale_decimal(&d, unit, &v))
		return fail(-EINVAL, "'%s' is too long for a duration", s);
	*ns = (int64_t)v;
	return 0;
}

int util_parse_fraction(const char *s, double *fraction)
{
	struct decimal d;
	const char *p = read_decimal(s, &d);
	double v;

	if (!p || (*p && strcmp(p, "%")))
		return fail(-EINVAL, "'%s' is no fraction: write 10%% or 0.1", s);
	v = (double)d.whole + (double)d.frac / (double)d.scale;
	if (!*p && v > 1)
		return fail(
			-EINVAL, "'%s' is more than the whole; write %s%% if that is meant", s, s);
	*fraction = *p ? v / 100 : v;
	return 0;
}

int util_parse_u64(const char *s, uint64_t *v)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	uint64_t base = hex ? 16 : 10, n = 0;
	const char *p = hex ? s + 2 : s;

	if (!*p)
		return fail(-EINVAL, "'%s' is no number", s);
	for (; *p; p++) {
		int c = *p | 0x20;
		uint64_t digit = *p >= '0' && *p <= '9' ? (uint64_t)(*p - '0')
				 : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a' + 10)
							: 99;

		if (digit >= base)
			return fail(-EINVAL, "'%s' is no whole number", s);
		if (__builtin_mul_overflow(n, base, &n) || __builtin_add_overflow(n, digit, &n))
			return fail(-EINVAL, "'%s' is too large", s);
	}
	*v = n;
	return 0;
}
