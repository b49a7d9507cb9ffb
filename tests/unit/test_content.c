/* SPDX-License-Identifier: MIT */
/* Generated data: the same in any pieces, different where it must be, as compressible as asked,
 * fast enough not to be what is measured. */
#include "test.h"

#include <math.h>
#include <zstd.h>

#include "iotape/util.h"
#include "../../replay/replay_priv.h"

#define MIB (1u << 20)

static unsigned char whole[MIB], part[MIB], packed[ZSTD_COMPRESSBOUND(MIB)];

static double ratio_at(int level, const void *p, size_t n)
{
	return (double)ZSTD_compress(packed, sizeof(packed), p, n, level) / (double)n;
}

static void pieces_are_the_whole(void **state)
{
	static const struct {
		unsigned kind;
		uint8_t ratio[2];
	} kinds[] = {{EVENT_CONTENT_NONE, {0, 0}}, {EVENT_CONTENT_SAMPLE, {150, 90}},
		{EVENT_CONTENT_LIKE, {30, 30}}, {EVENT_CONTENT_SAMPLE, {255, 120}},
		{EVENT_CONTENT_ZERO, {0, 0}}};
	static const size_t steps[] = {1, 7, 512, 4095, 4096, 4097, 65537};
	struct content c;

	(void)state;
	assert_int_equal(content_init(&c, 42), 0);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		content_fill(&c, whole, MIB, 9, 12345, kinds[k].kind, kinds[k].ratio);
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
			size_t n = MIN(MIB, steps[i] * 300), done = 0;

			/* from the end to the start, so that order cannot matter */
			while (done < n) {
				size_t m = MIN(steps[i], n - done);

				content_fill(&c, part + n - done - m, m, 9, 12345 + n - done - m,
					kinds[k].kind, kinds[k].ratio);
				done += m;
			}
			assert_memory_equal(part, whole, n);
		}
	}
	content_fini(&c);
}

static void differs_by_seed_inode_and_place(void **state)
{
	static const uint8_t r[2] = {0, 0};
	struct content a, b;

	(void)state;
	assert_int_equal(content_init(&a, 1), 0);
	assert_int_equal(content_init(&b, 2), 0);
	content_fill(&a, whole, 4096, 5, 0, EVENT_CONTENT_NONE, r);
	assert_null(memchr(whole, 0, 4096));
	content_fill(&b, part, 4096, 5, 0, EVENT_CONTENT_NONE, r);
	assert_memory_not_equal(whole, part, 4096);
	content_fill(&a, part, 4096, 6, 0, EVENT_CONTENT_NONE, r);
	assert_memory_not_equal(whole, part, 4096);
	content_fill(&a, part, 4096, 5, 4096, EVENT_CONTENT_NONE, r);
	assert_memory_not_equal(whole, part, 4096);
	content_fill(&a, part, 4096, 5, 0, EVENT_CONTENT_NONE, r);
	assert_memory_equal(whole, part, 4096);
	content_fill(&a, part, 4096, 5, 0, EVENT_CONTENT_ZERO, r);
	for (size_t i = 0; i < 4096; i++)
		assert_int_equal(part[i], 0);
	content_fini(&a);
	content_fini(&b);
}

static void as_compressible_as_asked(void **state)
{
	static const uint8_t cases[][2] = {{255, 255}, {255, 200}, {255, 128}, {230, 180},
		{200, 200}, {180, 100}, {150, 90}, {128, 128}, {128, 64}, {100, 40}, {80, 80},
		{60, 30}, {30, 30}, {30, 15}, {10, 8}};
	static const uint8_t unknown[2] = {0, 0};
	struct content c;

	(void)state;
	assert_int_equal(content_init(&c, 3), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double fast, slow;

		content_fill(&c, whole, MIB, 11, 0, EVENT_CONTENT_SAMPLE, cases[i]);
		assert_null(memchr(whole, 0, MIB));
		fast = ratio_at(-5, whole, MIB);
		slow = ratio_at(1, whole, MIB);
		if (fabs(fast - cases[i][0] / 255.0) > 0.03 ||
			fabs(slow - cases[i][1] / 255.0) > 0.03)
			fail_msg("asked for %.3f %.3f, got %.3f %.3f", cases[i][0] / 255.0,
				cases[i][1] / 255.0, fast, slow);
	}
	content_fill(&c, whole, MIB, 11, 0, EVENT_CONTENT_NONE, cases[8]);
	assert_true(ratio_at(1, whole, MIB) > 0.995);
	content_fill(&c, whole, MIB, 11, 0, EVENT_CONTENT_LIKE, unknown);
	assert_true(ratio_at(1, whole, MIB) > 0.995);
	/* two inodes share nothing */
	content_fill(&c, whole, MIB / 2, 11, 0, EVENT_CONTENT_NONE, unknown);
	content_fill(&c, whole + MIB / 2, MIB / 2, 12, 0, EVENT_CONTENT_NONE, unknown);
	assert_true(ratio_at(19, whole, MIB) > 0.995);
	content_fini(&c);
}

static void fast_enough(void **state)
{
	static const uint8_t cases[][2] = {{0, 0}, {255, 128}, {128, 64}};
	struct content c;

	(void)state;
	assert_int_equal(content_init(&c, 3), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t start = util_now_ns(), ns;

		for (uint64_t k = 0; k < 200; k++)
			content_fill(&c, whole, MIB, 11, k * MIB,
				cases[i][0] ? EVENT_CONTENT_SAMPLE : EVENT_CONTENT_NONE, cases[i]);
		ns = util_now_ns() - start;
		printf("content %zu: %.2f GB/s\n", i, 200.0 * MIB / (double)ns);
		/* an order below what an idle machine does: sanitizers and neighbours are slow */
		assert_true(200.0 * MIB / (double)ns > 0.1);
	}
	content_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_the_whole),
		cmocka_unit_test(differs_by_seed_inode_and_place),
		cmocka_unit_test(as_compressible_as_asked),
		cmocka_unit_test(fast_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
