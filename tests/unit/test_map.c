/* SPDX-License-Identifier: MIT */
/* The number-to-number table against a plain array of the same keys. */
#include "test.h"

#include "iotape/map.h"
#include "iotape/util.h"

static void empty(void **state)
{
	struct u64map m;
	uint64_t v = 7, k;
	size_t pos = 0;

	(void)state;
	u64map_init(&m);
	assert_false(u64map_get(&m, 0, &v));
	assert_int_equal(v, 7);
	assert_false(u64map_del(&m, 0));
	assert_false(u64map_next(&m, &pos, &k, &v));
	assert_null(u64map_ptr(&m, 1));
	u64map_fini(&m);
	u64map_fini(&m);
}

static void edges(void **state)
{
	static const uint64_t keys[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63, 0x80000000u};
	struct u64map m;
	uint64_t v;
	int x;

	(void)state;
	u64map_init(&m);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(u64map_put(&m, keys[i], ~keys[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_true(u64map_get(&m, keys[i], &v));
		assert_true(v == ~keys[i]);
	}
	assert_int_equal(m.used, ARRAY_SIZE(keys));
	assert_int_equal(u64map_put(&m, 0, 5), 0); /* replaces */
	assert_int_equal(m.used, ARRAY_SIZE(keys));
	assert_true(u64map_get(&m, 0, &v));
	assert_int_equal(v, 5);
	assert_int_equal(u64map_put_ptr(&m, 9, &x), 0);
	assert_ptr_equal(u64map_ptr(&m, 9), &x);
	u64map_fini(&m);
}

#define KEYS 5000

/* Random puts and deletes; after each thousand the table holds exactly what the array says. */
static void against_array(void **state)
{
	static uint64_t model[KEYS]; /* 0: absent */
	uint64_t x = 12345, k, v, n;
	struct u64map m;
	size_t pos;

	(void)state;
	u64map_init(&m);
	for (int step = 1; step <= 200000; step++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		k = x % KEYS;
		if (x >> 40 & 1) {
			model[k] = x | 1;
			assert_int_equal(u64map_put(&m, k * 64, model[k]), 0);
		} else {
			assert_int_equal(u64map_del(&m, k * 64), model[k] != 0);
			model[k] = 0;
		}
		if (step % 20000)
			continue;
		n = 0;
		for (k = 0; k < KEYS; k++) {
			assert_int_equal(u64map_get(&m, k * 64, &v), model[k] != 0);
			if (model[k])
				assert_true(v == model[k] && ++n);
		}
		assert_int_equal(m.used, n);
		for (pos = 0; u64map_next(&m, &pos, &k, &v); n--)
			assert_true(k % 64 == 0 && model[k / 64] == v);
		assert_int_equal(n, 0);
	}
	u64map_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(edges),
		cmocka_unit_test(against_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
