/* SPDX-License-Identifier: MIT */
/* Filter expressions: which events they select, and which expressions mean nothing. */
#include "test.h"

#include <errno.h>

#include "iotape/filter.h"

static const struct event write_ev = {.seq = 10,
	.op = OP_WRITE,
	.lane = 3,
	.start_ns = 1500000000,
	.dur_ns = 6000000,
	.iid = 5,
	.oid = 2,
	.offset = 65536,
	.size = 8192,
	.result = 8192,
	.content = EVENT_CONTENT_ZERO};
static const struct event create_ev = {.seq = 11,
	.op = OP_CREATE,
	.lane = 1,
	.parent = 1,
	.name = {"a,b;c.db", 8},
	.mode = 0100644,
	.flags = 0x8041,
	.result = -17};
static const struct event chown_ev = {.op = OP_SETATTR, .mtime_ns = -5, .uid = UINT32_MAX};

static void selects(void **state)
{
	static const struct {
		const char *expr;
		bool write, create, chown;
	} t[] = {
		{"op=write", 1, 0, 0},
		{"op=write,create", 1, 1, 0},
		{"op!=write", 0, 1, 1},
		{"op!=write,create", 0, 0, 1},
		{"op==write", 1, 0, 0},
		{" op = write , create ; lane = 3 ", 1, 0, 0},
		{"lane=3;;", 1, 0, 0},
		{"lane>=1", 1, 1, 0},
		{"lane<3; lane>0", 0, 1, 0},
		{"size>=4096", 1, 0, 0},
		{"size>=8K", 1, 0, 0},
		{"size>8K", 0, 0, 0},
		{"size<=8K", 1, 0, 1}, /* setattr has a size, create has none */
		{"offset=64K", 1, 0, 0},
		{"offset=0x10000", 1, 0, 0},
		{"dur_ns>5ms", 1, 0, 0},
		{"dur_ns>5000000", 1, 0, 0},
		{"dur_ns<5ms", 0, 1, 1},
		{"start_ns<2s", 1, 1, 1},
		{"start_ns>=1.5s", 1, 0, 0},
		{"start_ns>-1", 1, 1, 1},
		{"mtime_ns<0", 0, 0, 1},
		{"mtime_ns=-5", 0, 0, 1},
		{"name~*.db", 0, 1, 0},
		{"name!~*.db", 0, 0, 0}, /* write and setattr have no name */
		{"name!~*.txt,*.c", 0, 1, 0},
		{"name~*.txt,*.d?", 0, 1, 0},
		{"name=\"a,b;c.db\"", 0, 1, 0},
		{"name=a", 0, 0, 0},
		{"name=a,\"a\\x2cb;c.db\"", 0, 1, 0},
		{"name!=a", 0, 1, 0},
		{"name~\"a,*\"", 0, 1, 0},
		{"errno=EEXIST", 0, 1, 0},
		{"errno=17", 0, 1, 0},
		{"errno=0", 1, 0, 1},
		{"errno!=0", 0, 1, 0},
		{"result=EEXIST", 0, 1, 0},
		{"result<0", 0, 1, 0},
		{"result=-17", 0, 1, 0},
		{"result>=8K", 1, 0, 0},
		{"class=data", 1, 0, 0},
		{"class=attr,handle", 0, 1, 1},
		{"content=zero", 1, 0, 0},
		{"content!=zero", 0, 0, 0},
		{"mode=0100644", 0, 1, 0},
		{"mode=33188", 0, 1, 0},
		{"flags=0x8041", 0, 1, 0},
		{"uid=4294967295", 0, 0, 1},
		{"uid<18446744073709551615", 0, 1, 1},
		{"seq=10", 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct filter *f = NULL;

		if (filter_parse(&f, t[i].expr))
			fail_msg("'%s': %s", t[i].expr, fail_text());
		if (filter_match(f, &write_ev) != t[i].write ||
			filter_match(f, &create_ev) != t[i].create ||
			filter_match(f, &chown_ev) != t[i].chown)
			fail_msg("'%s' selects other events", t[i].expr);
		filter_free(f);
	}
	assert_true(filter_match(NULL, &write_ev));
	filter_free(NULL);
}

static void refuses(void **state)
{
	static const struct {
		const char *expr, *text;
	} t[] = {
		{"", "empty"},
		{" ; ", "empty"},
		{"colour=3", "'colour' is no field"},
		{"a_very_long_key_that_is_none=3", "is no field"},
		{"=3", "is no field"},
		{"ratio=3", "is no field"},
		{"size", "no operator"},
		{"size 4", "no operator"},
		{"size=", "no value"},
		{"size=1,", "no value"},
		{"size=1e9", "'1e9' is no size"},
		{"size=99999999999999999999", "99999999999999999999"},
		{"dur_ns>5 parsecs", "is no duration"},
		{"op=wirte", "'wirte' is no operation; did you mean write?"},
		{"opp=write", "errno and class; did you mean op?"},
		{"clas=data", "did you mean class?"},
		{"class=dta", "'dta' is none of its names; did you mean data?"},
		{"op<write", "takes = and !="},
		{"op=none", "'none' is no operation"},
		{"class=foo", "'foo'"},
		{"name<a", "takes = != ~ !~"},
		{"lane~3", "takes = != < <= > >="},
		{"lane=x", "'x'"},
		{"mode=0888", "octal"},
		{"name=\"a", "no end"},
		{"name=\"a\"b", "behind a"},
		{"name=\"\\q\"", "escape"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct filter *f = NULL;

		if (filter_parse(&f, t[i].expr) != -EINVAL || f)
			fail_msg("'%s' was taken", t[i].expr);
		if (strncmp(fail_text(), "filter: ", 8) || !strstr(fail_text(), t[i].text))
			fail_msg("'%s': %s", t[i].expr, fail_text());
	}
}

static void byte_names(void **state)
{
	char name[255];
	struct event ev = {.op = OP_LOOKUP, .name = {name, sizeof(name)}};
	struct filter *f = NULL;

	(void)state;
	memset(name, 0xff, sizeof(name));
	assert_int_equal(filter_parse(&f, "name~\"\\xff*\""), 0);
	assert_true(filter_match(f, &ev));
	name[100] = 0; /* no pattern can say NUL */
	assert_false(filter_match(f, &ev));
	filter_free(f);
	assert_int_equal(filter_parse(&f, "name=\"a\\x00b\""), 0);
	ev.name = (struct bytes){"a\0b", 3};
	assert_true(filter_match(f, &ev));
	ev.name.n = 1;
	assert_false(filter_match(f, &ev));
	filter_free(f);
}

static void limits(void **state)
{
	char expr[65 * 8 + 1] = "";
	struct filter *f = NULL;

	(void)state;
	for (int i = 0; i < 64; i++)
		strcat(expr, "lane=1;");
	assert_int_equal(filter_parse(&f, expr), 0);
	filter_free(f);
	f = NULL;
	strcat(expr, "lane=1;");
	assert_int_equal(filter_parse(&f, expr), -EINVAL);
	assert_null(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(selects),
		cmocka_unit_test(refuses),
		cmocka_unit_test(byte_names),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
