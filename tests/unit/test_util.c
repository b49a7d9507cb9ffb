/* SPDX-License-Identifier: MIT */
/* Byte strings, escapes, numbers as people write them, names of errors, I/O that finishes. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>

#include "iotape/util.h"

static void sizes(void **state)
{
	static const struct {
		const char *s;
		int r;
		uint64_t v;
	} t[] = {
		{"0", 0, 0},
		{"1", 0, 1},
		{"4096", 0, 4096},
		{"64K", 0, 65536},
		{"64k", 0, 65536},
		{"64KB", 0, 65536},
		{"64KiB", 0, 65536},
		{"1.5G", 0, UINT64_C(1610612736)},
		{"0.5K", 0, 512},
		{".5K", 0, 512},
		{"2T", 0, UINT64_C(2199023255552)},
		{"10B", 0, 10},
		{"9223372036854775807", 0, INT64_MAX},
		{"8388607T", 0, UINT64_C(8388607) << 40},
		{"9223372036854775808", -EINVAL, 0},
		{"8388608T", -EINVAL, 0},
		{"99999999999999999999", -EINVAL, 0},
		{"18446744073709551616", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1e9", -EINVAL, 0},
		{"1.5", -EINVAL, 0},
		{"1.5.5K", -EINVAL, 0},
		{"K", -EINVAL, 0},
		{".", -EINVAL, 0},
		{"4iB", -EINVAL, 0},
		{"4KK", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1P", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		uint64_t v = 0;
		int r = util_parse_size(t[i].s, &v);

		if (r != t[i].r || v != t[i].v)
			fail_msg("'%s': %d %llu", t[i].s, r, (unsigned long long)v);
		if (r < 0)
			assert_non_null(strstr(fail_text(), t[i].s));
	}
}

static void durations(void **state)
{
	static const struct {
		const char *s;
		int r;
		int64_t v;
	} t[] = {
		{"10ms", 0, 10000000},
		{"5us", 0, 5000},
		{"5\xc2\xb5s", 0, 5000},
		{"2s", 0, INT64_C(2000000000)},
		{"1m", 0, INT64_C(60000000000)},
		{"2h", 0, INT64_C(7200000000000)},
		{"1.000000001s", 0, 1000000001},
		{"17ns", 0, 17},
		{"0", 0, 0},
		{"0.4ns", 0, 0},
		{"9223372036854775807ns", 0, INT64_MAX},
		{"9223372036854775808ns", -EINVAL, 0},
		{"9223372037s", -EINVAL, 0},
		{"10", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"1e9ns", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"s", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int64_t v = 0;
		int r = util_parse_duration(t[i].s, &v);

		if (r != t[i].r || v != t[i].v)
			fail_msg("'%s': %d %lld", t[i].s, r, (long long)v);
	}
}

static void fractions(void **state)
{
	static const struct {
		const char *s;
		int r;
		double v;
	} t[] = {
		{"10%", 0, 0.1},
		{"0.1", 0, 0.1},
		{"0", 0, 0},
		{"1", 0, 1},
		{"100%", 0, 1},
		{"150%", 0, 1.5},
		{"0.5%", 0, 0.005},
		{"10", -EINVAL, 0},
		{"-1%", -EINVAL, 0},
		{"1e-1", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"%", -EINVAL, 0},
		{"5%%", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		double v = 0;
		int r = util_parse_fraction(t[i].s, &v);

		if (r != t[i].r || v - t[i].v > 1e-12 || t[i].v - v > 1e-12)
			fail_msg("'%s': %d %g", t[i].s, r, v);
	}
}

static void numbers(void **state)
{
	static const struct {
		const char *s;
		int r;
		uint64_t v;
	} t[] = {
		{"0", 0, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -EINVAL, 0},
		{"0xffffffffffffffff", 0, UINT64_MAX},
		{"0x10000000000000000", -EINVAL, 0},
		{"0xFf", 0, 255},
		{"0644", 0, 644},
		{"0x", -EINVAL, 0},
		{"12a", -EINVAL, 0},
		{"0xg", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"1e9", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		uint64_t v = 0;
		int r = util_parse_u64(t[i].s, &v);

		if (r != t[i].r || v != t[i].v)
			fail_msg("'%s': %d %llu", t[i].s, r, (unsigned long long)v);
	}
}

static void escapes(void **state)
{
	static const struct {
		const char *raw;
		uint32_t n;
		const char *text;
	} t[] = {
		{"", 0, ""},
		{"abc def", 7, "abc def"},
		{"a\"b\\c", 5, "a\\\"b\\\\c"},
		{"\n\t\r", 3, "\\n\\t\\x0d"},
		{"a\0b", 3, "a\\x00b"},
		{"\xff\x7f\x80~", 4, "\\xff\\x7f\\x80~"},
		{"\xc3\xa4", 2, "\\xc3\\xa4"},
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		size_t n = bytes_escape(out, sizeof(out), (struct bytes){t[i].raw, t[i].n});

		assert_string_equal(out, t[i].text);
		assert_int_equal(n, strlen(t[i].text));
		assert_int_equal(bytes_unescape(out, n), t[i].n);
		assert_memory_equal(out, t[i].raw, t[i].n);
	}
	/* every byte, both ways, in exactly the room that is promised to suffice */
	{
		char raw[255], all[4 * 255 + 1];
		size_t n;

		memset(raw, 0xff, sizeof(raw));
		n = bytes_escape(all, sizeof(all), (struct bytes){raw, 255});
		assert_int_equal(n, 4 * 255);
		assert_int_equal(bytes_unescape(all, n), 255);
		assert_memory_equal(all, raw, 255);
		for (int i = 0; i < 255; i++)
			raw[i] = (char)i;
		n = bytes_escape(all, sizeof(all), (struct bytes){raw, 255});
		assert_int_equal(bytes_unescape(all, n), 255);
		assert_memory_equal(all, raw, 255);
	}
	/* too little room: whole escapes only, always terminated */
	assert_int_equal(bytes_escape(out, 4, (struct bytes){"a\xff", 2}), 1);
	assert_string_equal(out, "a");
	assert_int_equal(bytes_escape(out, 1, (struct bytes){"a", 1}), 0);
	assert_string_equal(out, "");
	assert_int_equal(bytes_escape(NULL, 0, (struct bytes){"a", 1}), 0);
}

static void bad_escapes(void **state)
{
	static const char *const t[] = {"\\", "a\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x0g", "\\0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char s[8];

		strcpy(s, t[i]);
		if (bytes_unescape(s, strlen(t[i])) != -EINVAL)
			fail_msg("'%s' was taken", t[i]);
	}
}

static void byte_strings(void **state)
{
	struct bytes a = BYTES_STR("abc"), b = {"abcd", 3}, c = {"abd", 3}, none = {NULL, 0};

	(void)state;
	assert_true(bytes_equal(a, b));
	assert_false(bytes_equal(a, c));
	assert_false(bytes_equal(a, none));
	assert_true(bytes_equal(none, (struct bytes){"", 0}));
	assert_true(bytes_hash(a, 1) == bytes_hash(b, 1));
	assert_true(bytes_hash(a, 1) != bytes_hash(a, 2));
	assert_true(bytes_hash(a, 0) != bytes_hash(c, 0));
	/* XXH3-64 of nothing with seed 0, from the specification's reference */
	assert_true(bytes_hash(none, 0) == UINT64_C(0x2d06800538d394c2));
}

static void errnos(void **state)
{
	(void)state;
	assert_string_equal(util_errno_name(2), "ENOENT");
	assert_string_equal(util_errno_name(-2), "ENOENT");
	assert_null(util_errno_name(0));
	assert_null(util_errno_name(-4095));
	assert_null(util_errno_name(99999));
	assert_null(util_errno_name(INT32_MIN));
	assert_int_equal(util_errno_value("ENOSPC"), ENOSPC);
	assert_int_equal(util_errno_value("EWOULDBLOCK"), EAGAIN);
	assert_int_equal(util_errno_value("ENOTSUP"), ENOTSUP);
	assert_int_equal(util_errno_value("EOPNOTSUPP"), EOPNOTSUPP);
	assert_int_equal(util_errno_value("ENONSENSE"), 0);
	assert_int_equal(util_errno_value(""), 0);
	for (int e = 1; e < 134; e++)
		if (util_errno_name(e))
			assert_int_equal(util_errno_value(util_errno_name(e)), e);
}

static void nearest(void **state)
{
	static const char *const words[] = {"record", "replay", "compare", "dump", "stat"};
	static const struct {
		const char *typed, *want;
	} t[] = {
		{"recrod", "record"},
		{"rec", "record"},
		{"reply", "replay"},
		{"compre", "compare"},
		{"stats", "stat"},
		{"sta", "stat"},
		{"dmup", "dump"},
		{"xyzzy", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct util_nearest best = {0};

		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			util_nearest(&best, t[i].typed, words[k]);
		if (t[i].want ? !best.word || strcmp(best.word, t[i].want) : best.word != NULL)
			fail_msg("'%s': %s", t[i].typed, best.word);
	}
}

static void choices(void **state)
{
	static const char *const names[] = {"trace", "resource", "thread", NULL};

	(void)state;
	assert_int_equal(util_choice("--order", "resource", names), 1);
	assert_int_equal(util_choice("--order", "resuorce", names), -EINVAL);
	assert_string_equal(fail_text(), "--order: 'resuorce' is none of trace, resource, thread; "
					 "did you mean resource?");
	assert_int_equal(util_choice("--order", "x", names), -EINVAL);
	assert_string_equal(fail_text(), "--order: 'x' is none of trace, resource, thread");
}

static void failures(void **state)
{
	char path[2000];

	(void)state;
	assert_int_equal(fail(-EIO, "frame %d", 7), -EIO);
	assert_string_equal(fail_text(), "frame 7");
	assert_int_equal(fail_in(-EIO, "x.tape"), -EIO);
	assert_string_equal(fail_text(), "x.tape: frame 7");
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	fail(-EIO, "%s", path);
	fail_in(-EIO, "%s", path);
	assert_true(strlen(fail_text()) < sizeof(path));
}

static void input_output(void **state)
{
	char path[] = "/tmp/iotape-test-XXXXXX", buf[16];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(util_write_all(fd, "0123456789", 10), 0);
	assert_int_equal(util_pread_all(fd, buf, 4, 3), 4);
	assert_memory_equal(buf, "3456", 4);
	assert_int_equal(util_pread_all(fd, buf, 16, 8), 2);
	assert_int_equal(util_pread_all(fd, buf, 16, 100), 0);
	close(fd);
	assert_int_equal(util_write_all(fd, "x", 1), -EBADF);
	assert_int_equal(util_pread_all(fd, buf, 1, 0), -EBADF);
	fd = open("/dev/full", O_WRONLY);
	assert_int_equal(util_write_all(fd, "x", 1), -ENOSPC);
	close(fd);
	{
		int64_t a = util_now_ns(), b = util_now_ns();

		assert_true(a > 0 && b >= a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(fractions),
		cmocka_unit_test(numbers),
		cmocka_unit_test(escapes),
		cmocka_unit_test(bad_escapes),
		cmocka_unit_test(byte_strings),
		cmocka_unit_test(errnos),
		cmocka_unit_test(nearest),
		cmocka_unit_test(choices),
		cmocka_unit_test(failures),
		cmocka_unit_test(input_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
