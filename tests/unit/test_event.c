/* SPDX-License-Identifier: MIT */
/* The tables of operations and fields, and what event_check() lets pass. */
#include "test.h"

#include <errno.h>

#include "iotape/event.h"

static void tables(void **state)
{
	(void)state;
	for (unsigned i = 1; i < OP_COUNT; i++) {
		const char *name = op_info[i].name;

		assert_non_null(name);
		assert_int_equal(op_by_name(name, strlen(name)), i);
		assert_int_equal(op_info[i].fields & FIELDS_COMMON, FIELDS_COMMON);
		/* a name2 has a parent2, and whoever makes or needs a name has one */
		assert_int_equal(!!(op_info[i].fields & FIELD_BIT(FIELD_NAME2)),
			!!(op_info[i].fields & FIELD_BIT(FIELD_PARENT2)));
		if (op_info[i].effects & (EFF_NAME_NEED | EFF_NAME_MAKE | EFF_NAME_KILL))
			assert_true(op_info[i].fields & FIELD_BIT(FIELD_NAME) &&
				    op_info[i].fields & FIELD_BIT(FIELD_PARENT));
	}
	assert_int_equal(op_by_name("", 0), OP_NONE);
	assert_int_equal(op_by_name("none", 4), OP_NONE);
	assert_int_equal(op_by_name("reads", 5), OP_NONE);
	assert_int_equal(op_by_name("rea", 3), OP_NONE);
	for (unsigned f = 0; f < FIELD_COUNT; f++)
		for (unsigned g = 0; g < f; g++) {
			assert_string_not_equal(field_info[f].key, field_info[g].key);
			assert_int_not_equal(field_info[f].offset, field_info[g].offset);
		}
}

static char long_name[70000];

#define NAME(s) .name = {s, sizeof(s) - 1}

static void checks(void **state)
{
	const struct {
		const char *what;
		bool good;
		struct event ev;
	} t[] = {
		{"write", true, {.op = OP_WRITE, .size = 10, .result = 10}},
		{"no operation", false, {.op = OP_NONE}},
		{"operation beyond", false, {.op = OP_COUNT}},
		{"operation far beyond", false, {.op = 65535}},
		{"name", true, {.op = OP_CREATE, .parent = 1, NAME("a b\n\xff")}},
		{"three dots", true, {.op = OP_CREATE, NAME("...")}},
		{"dot file", true, {.op = OP_CREATE, NAME(".a")}},
		{"empty name", false, {.op = OP_LOOKUP}},
		{"dot", false, {.op = OP_MKDIR, NAME(".")}},
		{"dot dot", false, {.op = OP_UNLINK, NAME("..")}},
		{"slash", false, {.op = OP_SYMLINK, NAME("a/b")}},
		{"absolute", false, {.op = OP_CREATE, NAME("/")}},
		{"NUL", false, {.op = OP_CREATE, NAME("a\0b")}},
		{"255 bytes of 0xff", true, {.op = OP_CREATE, .name = {long_name, 255}}},
		{"longer than a path", false, {.op = OP_CREATE, .name = {long_name, 4096}}},
		{"rename", true, {.op = OP_RENAME, NAME("a"), .name2 = {"b", 1}}},
		{"rename to nothing", false, {.op = OP_RENAME, NAME("a")}},
		{"rename out", false, {.op = OP_RENAME, NAME("a"), .name2 = {"..", 2}}},
		{"attribute name", true, {.op = OP_SETXATTR, .iid = 2, NAME("user.a/b")}},
		{"no attribute name", false, {.op = OP_GETXATTR, .iid = 2}},
		{"attribute NUL", false, {.op = OP_REMOVEXATTR, NAME("user.\0")}},
		{"snap of the root", true, {.op = OP_SNAP, .iid = EVENT_ROOT_IID}},
		{"snap of nothing", false, {.op = OP_SNAP, .iid = 2}},
		{"snap in the root", true, {.op = OP_SNAP, .iid = 2, .parent = 1, NAME("x")}},
		{"target", true, {.op = OP_SYMLINK, NAME("l"), .target = {"../../x", 7}}},
		{"target NUL", false, {.op = OP_SYMLINK, NAME("l"), .target = {"a\0", 2}}},
		{"target too long", false,
			{.op = OP_SNAP, .parent = 1, NAME("l"), .target = {long_name, 4096}}},
		{"xattr value", true, {.op = OP_SETXATTR, NAME("u"), .target = {"a\0", 2}}},
		{"string too long", false,
			{.op = OP_SETXATTR, NAME("u"), .target = {long_name, 65536}}},
		{"mark", true, {.op = OP_MARK, NAME("phase /1")}},
		{"lane", true, {.op = OP_LANE, .size = 1234, .arg = 1235, NAME("kworker/0:1")}},
		{"offset", false, {.op = OP_READ, .offset = UINT64_C(1) << 63}},
		{"offset2", false, {.op = OP_COPY_FILE_RANGE, .offset2 = UINT64_MAX}},
		{"size", false, {.op = OP_FALLOCATE, .size = UINT64_C(1) << 63}},
		{"largest offset", true, {.op = OP_READ, .offset = INT64_MAX}},
		{"cookie", true, {.op = OP_READDIR, .offset = UINT64_MAX}},
		{"lseek before 0", true, {.op = OP_LSEEK, .offset = UINT64_MAX, .result = -22}},
		{"errno", true, {.op = OP_READ, .result = -4095}},
		{"no errno", false, {.op = OP_READ, .result = -4096}},
		{"far from an errno", false, {.op = OP_LSEEK, .result = INT64_MIN}},
		{"lseek far", true, {.op = OP_LSEEK, .result = INT64_MAX}},
		{"read more than asked", false, {.op = OP_READ, .size = 4, .result = 5}},
		{"readdir entries", true, {.op = OP_READDIR, .size = 4, .result = 5}},
		{"content", false, {.op = OP_WRITE, .content = EVENT_CONTENT_COUNT}},
		{"first touch", false, {.op = OP_WRITE, .first_touch = 2}},
		{"start", false, {.op = OP_FLUSH, .start_ns = INT64_MAX}},
		{"start before", true, {.op = OP_FLUSH, .start_ns = -5}},
		{"start far before", false, {.op = OP_FLUSH, .start_ns = INT64_MIN}},
		{"duration", false, {.op = OP_FLUSH, .dur_ns = UINT64_MAX}},
		{"queue", false, {.op = OP_FLUSH, .queue_ns = UINT64_C(1) << 62}},
	};

	(void)state;
	memset(long_name, 0xff, sizeof(long_name));
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int r = event_check(&t[i].ev);

		if (r != (t[i].good ? 0 : -EBADMSG))
			fail_msg("%s: %d (%s)", t[i].what, r, fail_text());
		if (r < 0)
			assert_non_null(strstr(fail_text(), "event 0"));
	}
}

static void bytes_moved(void **state)
{
	struct event ev = {.op = OP_READ, .size = 9, .result = 7};

	(void)state;
	assert_int_equal(event_bytes(&ev), 7);
	ev.op = OP_WRITE;
	assert_int_equal(event_bytes(&ev), 7);
	ev.op = OP_COPY_FILE_RANGE;
	assert_int_equal(event_bytes(&ev), 7);
	ev.result = -5;
	assert_int_equal(event_bytes(&ev), 0);
	ev = (struct event){.op = OP_READDIR, .size = 9, .result = 7};
	assert_int_equal(event_bytes(&ev), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(checks),
		cmocka_unit_test(bytes_moved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
