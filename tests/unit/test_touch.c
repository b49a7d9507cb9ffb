/* SPDX-License-Identifier: MIT */
/*
 * First touch or overwrite: tables of steps on one file, and random steps against a plain array of
 * blocks.
 */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../../fs/inode_priv.h"

#define B ((uint64_t)TOUCH_BLOCK)
enum step_kind { ADD, DEL, CUT };
struct step {
	enum step_kind kind;
	uint64_t from, to;
	bool first; /* of ADD */
};

static void run_steps(const struct step *s, size_t n)
{
	struct touch *t = touch_new();

	assert_non_null(t);
	for (size_t i = 0; i < n; i++) {
		if (s[i].kind == DEL)
			touch_del(t, s[i].from, s[i].to);
		else if (s[i].kind == CUT)
			touch_cut(t, s[i].from);
		else if (touch_add(t, s[i].from, s[i].to) != s[i].first)
			fail_msg("step %zu: first touch is not %d", i, s[i].first);
	}
	touch_free(t);
}

static void test_sequential(void **state)
{
	static const struct step s[] = {
		{ADD, 0, 100, true},
		{ADD, 100, 200, false}, /* in the same block */
		{ADD, 200, B + 1, true},
		{ADD, 0, 2 * B, false},
		{ADD, 5, 5, false}, /* no byte */
		{ADD, 2 * B, 300 * B, true},
		{ADD, B, 299 * B, false},
	};

	(void)state;
	run_steps(s, ARRAY_SIZE(s));
}

static void test_holes(void **state)
{
	static const struct step s[] = {
		{ADD, 100 * B, 101 * B, true},
		{ADD, 100 * B + 7, 100 * B + 8, false},
		{ADD, 99 * B, 101 * B, true},
		{ADD, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1, true},
		{ADD, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 1, false},
		{ADD, 0, 99 * B, true},
		{ADD, 0, 101 * B, false},
		{ADD, 0, 102 * B, true},
		{DEL, 10 * B + 1, 13 * B - 1, false}, /* only blocks 11 is whole in it */
		{ADD, 10 * B, 11 * B, false},
		{ADD, 12 * B, 13 * B, false},
		{ADD, 11 * B, 11 * B + 1, true},
		{ADD, 0, 102 * B, false},
		{DEL, 0, 102 * B, false},
		{ADD, 50 * B, 51 * B, true},
	};

	(void)state;
	run_steps(s, ARRAY_SIZE(s));
}

static void test_cut(void **state)
{
	static const struct step s[] = {
		{ADD, 0, 10 * B, true},
		{CUT, 5 * B + 1, 0, false}, /* the block with the last byte stays */
		{ADD, 5 * B + 1, 6 * B, false},
		{ADD, 6 * B, 6 * B + 1, true},
		{ADD, 9000 * B, 9001 * B, true},
		{CUT, 0, 0, false},
		{ADD, 9000 * B, 9001 * B, true},
		{ADD, 0, 1, true},
	};

	(void)state;
	run_steps(s, ARRAY_SIZE(s));
}

#define MODEL_BLOCKS 20000u

static void test_random(void **state)
{
	static bool model[MODEL_BLOCKS + 1];
	struct touch *t = touch_new();
	unsigned seed = 7;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t from = (uint64_t)rand_r(&seed) % (MODEL_BLOCKS * B - 600 * B);
		uint64_t to = from + 1 + (uint64_t)rand_r(&seed) % (500 * B), b;
		unsigned kind = (unsigned)rand_r(&seed) % 20;
		bool first = false;

		if (kind == 0) {
			touch_cut(t, to);
			for (b = (to + B - 1) / B; b < MODEL_BLOCKS; b++)
				model[b] = false;
		} else if (kind < 6) {
			touch_del(t, from, to);
			for (b = (from + B - 1) / B; b < to / B; b++)
				model[b] = false;
		} else {
			if (kind < 10)
				from = 0;
			for (b = from / B; b <= (to - 1) / B; b++) {
				first |= !model[b];
				model[b] = true;
			}
			if (touch_add(t, from, to) != first)
				fail_msg("step %u: [%llu, %llu)", i, (unsigned long long)from,
					(unsigned long long)to);
		}
	}
	touch_free(t);
}

/* Of a file that was there: data counts as touched, holes and unwritten extents do not. */
static void test_load(void **state)
{
	char path[] = "/var/tmp/iotape-touch-XXXXXX";
	int fd = mkstemp(path);
	struct touch *t = touch_new();
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(pwrite(fd, "x", 1, 64 * 4096), 1);
	fsync(fd);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(touch_load(t, fd, &st), 0);
	assert_false(touch_add(t, 64 * B, 64 * B + 10));
	assert_true(touch_add(t, 0, 1));
	assert_true(touch_add(t, 128 * B, 129 * B));
	touch_free(t);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequential),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
