/* SPDX-License-Identifier: MIT */
/* What the JSON writer puts out, byte for byte. */
#include "test.h"

#include <math.h>

#include "iotape/json.h"

static char *text;
static size_t text_n;

static FILE *begin(struct json *j, int indent)
{
	FILE *f = open_memstream(&text, &text_n);

	assert_non_null(f);
	json_init(j, f, indent);
	return f;
}

static void end(FILE *f, const char *want)
{
	fclose(f);
	assert_string_equal(text, want);
	free(text);
}

static void nesting(void **state)
{
	struct json j;
	FILE *f = begin(&j, 0);

	(void)state;
	json_object(&j, NULL);
	json_u64(&j, "a", UINT64_MAX);
	json_array(&j, "b");
	json_end(&j, ']');
	json_array(&j, "c");
	json_i64(&j, NULL, INT64_MIN);
	json_object(&j, NULL);
	json_end(&j, '}');
	json_bool(&j, NULL, true);
	json_end(&j, ']');
	json_str(&j, "d", NULL);
	json_end(&j, '}');
	end(f, "{\"a\": 18446744073709551615, \"b\": [], \"c\": [-9223372036854775808, {}, true], "
	       "\"d\": null}\n");
}

static void indented(void **state)
{
	struct json j;
	FILE *f = begin(&j, 2);

	(void)state;
	json_object(&j, NULL);
	json_bool(&j, "a", false);
	json_array(&j, "b");
	json_u64(&j, NULL, 1);
	json_u64(&j, NULL, 2);
	json_end(&j, ']');
	json_object(&j, "c");
	json_end(&j, '}');
	json_end(&j, '}');
	end(f, "{\n  \"a\": false,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}\n");
}

static void strings(void **state)
{
	static const struct {
		const char *raw;
		uint32_t n;
		const char *json;
	} t[] = {
		{"", 0, "\"\""},
		{"a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
		{"\n\t\r\0", 4, "\"\\n\\t\\u000d\\u0000\""},
		{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
			"\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"\xff", 1, "\"\\udcff\""},
		{"a\x80z", 3, "\"a\\udc80z\""},
		{"\xc3", 1, "\"\\udcc3\""},            /* cut */
		{"\xc0\xaf", 2, "\"\\udcc0\\udcaf\""}, /* overlong */
		{"\xe0\x80\xaf", 3, "\"\\udce0\\udc80\\udcaf\""},
		{"\xed\xa0\x80", 3, "\"\\udced\\udca0\\udc80\""},            /* surrogate */
		{"\xf4\x90\x80\x80", 4, "\"\\udcf4\\udc90\\udc80\\udc80\""}, /* > 10FFFF */
		{"\x7f", 1, "\"\\u007f\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct json j;
		FILE *f = begin(&j, 0);

		json_bytes(&j, NULL, (struct bytes){t[i].raw, t[i].n});
		end(f, t[i].json);
	}
}

static void floats(void **state)
{
	static const struct {
		double v;
		const char *json;
	} t[] = {
		{0, "0"},
		{0.1, "0.1"},
		{1.0 / 3, "0.3333333333333333"},
		{-2.5, "-2.5"},
		{1e300, "1e+300"},
		{123456789, "123456789"},
		{NAN, "null"},
		{INFINITY, "null"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct json j;
		FILE *f = begin(&j, 0);

		json_f64(&j, NULL, t[i].v);
		fclose(f);
		if (isfinite(t[i].v))
			assert_true(strtod(text, NULL) == t[i].v);
		if (i != 2)
			assert_string_equal(text, t[i].json);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting),
		cmocka_unit_test(indented),
		cmocka_unit_test(strings),
		cmocka_unit_test(floats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
