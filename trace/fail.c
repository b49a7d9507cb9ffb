/* SPDX-License-Identifier: MIT */
/*
 * The text of the last failure, kept per thread. Whoever detects a failure notes what, where and
 * what to do; the number travels up as the return value, the text waits here until main() prints
 * it. Nothing is printed and nothing allocated.
 */
#include "iotape/util.h"

#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024

static _Thread_local char text[TEXT_MAX];

int fail_va(int err, const char *fmt, va_list ap)
{
	vsnprintf(text, sizeof(text), fmt, ap);
	return err;
}

int fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail_va(err, fmt, ap);
	va_end(ap);
	return err;
}

int fail_in(int err, const char *fmt, ...)
{
	char was[TEXT_MAX];
	va_list ap;
	int n;

	memcpy(was, text, sizeof(was));
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - n, ": %s", was);
	return err;
}

int fail_hint(int err, const char *word)
{
	size_t n = strlen(text);

	if (word)
		snprintf(text + n, sizeof(text) - n, "; did you mean %s?", word);
	return err;
}

const char *fail_text(void)
{
	return text;
}
