/* SPDX-License-Identifier: MIT */
/* Totals and tables over a small stream of events whose figures are known. */
#include "test.h"

#include "iotape/stats.h"

#define NAME(s)                                                                                    \
	{                                                                                          \
		s, sizeof(s) - 1                                                                   \
	}

static const struct event stream[] = {
	{.op = OP_SNAP, .iid = 1, .mode = 040755},
	{.op = OP_SNAP, .parent = 1, .name = NAME("d"), .iid = 2, .mode = 040755},
	{.op = OP_LANE, .lane = 1, .name = NAME("cp")},
	{.op = OP_CREATE,
		.lane = 1,
		.start_ns = 1000,
		.dur_ns = 100,
		.parent = 2,
		.name = NAME("f"),
		.iid = 3,
		.oid = 1},
	{.op = OP_WRITE,
		.lane = 1,
		.start_ns = 2000,
		.dur_ns = 50,
		.iid = 3,
		.oid = 1,
		.size = 4096,
		.result = 4096,
		.first_touch = 1},
	{.op = OP_MARK, .name = NAME("second")},
	{.op = OP_WRITE,
		.lane = 2,
		.start_ns = 3000,
		.dur_ns = 30,
		.iid = 3,
		.oid = 1,
		.size = 8191,
		.result = 8191},
	{.op = OP_WRITE,
		.lane = 2,
		.start_ns = 3100,
		.dur_ns = 5,
		.iid = 3,
		.oid = 1,
		.size = 10,
		.result = -28},
	{.op = OP_RENAME,
		.lane = 1,
		.start_ns = 4000,
		.dur_ns = 7,
		.parent = 2,
		.name = NAME("f"),
		.iid = 3,
		.parent2 = 1,
		.name2 = NAME("g")},
	{.op = OP_READ,
		.lane = 0,
		.start_ns = 5000,
		.dur_ns = 20,
		.iid = 3,
		.oid = 1,
		.size = 1000,
		.result = 600},
	{.op = OP_GETATTR, .lane = 1, .start_ns = 6000, .dur_ns = 1, .iid = 77},
	{.op = OP_LOOKUP,
		.lane = 1,
		.start_ns = 6100,
		.dur_ns = 2,
		.parent = 2,
		.name = NAME("no"),
		.result = -2},
};

static void totals(void **state)
{
	struct stats s;

	(void)state;
	assert_int_equal(stats_init(&s), 0);
	for (size_t i = 0; i < ARRAY_SIZE(stream); i++)
		assert_int_equal(stats_put(&s, &stream[i]), 0);
	assert_int_equal(s.all.lat.count, 8);
	assert_int_equal(s.all.errors, 2);
	assert_int_equal(s.all.bytes, 4096 + 8191 + 600);
	assert_int_equal(s.all.lat.sum, 100 + 50 + 30 + 5 + 7 + 20 + 1 + 2);
	assert_int_equal(s.op[OP_WRITE]->lat.count, 3);
	assert_int_equal(s.op[OP_WRITE]->errors, 1);
	assert_null(s.op[OP_SNAP]);
	assert_null(s.op[OP_MARK]);
	assert_int_equal(s.first_touch.count, 1);
	assert_int_equal(s.first_touch.sum, 50);
	assert_int_equal(s.overwrite.count, 1);
	assert_int_equal(s.overwrite.sum, 30);
	assert_int_equal(s.reads, 1);
	assert_int_equal(s.writes, 3);
	assert_int_equal(s.read_bytes, 600);
	assert_int_equal(s.write_bytes, 4096 + 8191);
	assert_int_equal(s.lanes, 2);
	assert_int_equal(s.first_start_ns, 1000);
	assert_int_equal(s.last_end_ns, 6102);
	stats_fini(&s);
}

static void tables(void **state)
{
	static const struct {
		enum stats_key by;
		size_t n;
		struct {
			const char *key;
			uint64_t count, sum, bytes;
		} row[8];
	} cases[] = {
		{STATS_BY_OP, 6,
			{{"create", 1, 100, 0}, {"write", 3, 85, 12287}, {"read", 1, 20, 600},
				{"rename", 1, 7, 0}, {"lookup", 1, 2, 0}, {"getattr", 1, 1, 0}}},
		{STATS_BY_PATH, 4,
			{{"/d/f", 5, 192, 12287}, {"/g", 1, 20, 600}, {"/d/no", 1, 2, 0},
				{"<iid 77>", 1, 1, 0}}},
		{STATS_BY_SIZE, 3,
			{{"[4K, 8K)", 2, 80, 12287}, {"[512, 1K)", 1, 20, 600},
				{"[8, 16)", 1, 5, 0}}},
		{STATS_BY_THREAD, 3,
			{{"1 (cp)", 5, 160, 4096}, {"2", 2, 35, 8191}, {"0 (kernel)", 1, 20, 600}}},
		{STATS_BY_PHASE, 2,
			{{"(before the first mark)", 2, 150, 4096}, {"second", 6, 65, 8791}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct stats_row **rows;
		struct stats_table *t;
		size_t n;

		assert_int_equal(stats_table_new(&t, cases[i].by), 0);
		for (size_t k = 0; k < ARRAY_SIZE(stream); k++)
			assert_int_equal(stats_table_put(t, &stream[k]), 0);
		/* asking twice changes nothing */
		assert_int_equal(stats_table_rows(t, &rows, &n), 0);
		assert_int_equal(stats_table_rows(t, &rows, &n), 0);
		assert_int_equal(n, cases[i].n);
		for (size_t k = 0; k < n; k++) {
			if (!bytes_equal(rows[k]->key, BYTES_STR(cases[i].row[k].key)))
				fail_msg("row %zu is %.*s, not %s", k, (int)rows[k]->key.n,
					rows[k]->key.p, cases[i].row[k].key);
			assert_int_equal(rows[k]->s.lat.count, cases[i].row[k].count);
			assert_int_equal(rows[k]->s.lat.sum, cases[i].row[k].sum);
			assert_int_equal(rows[k]->s.bytes, cases[i].row[k].bytes);
		}
		stats_table_free(t);
	}
}

/* Beyond its bound a table keeps the heavy rows and loses no count. */
static void many_paths_stay_bounded(void **state)
{
	const struct stats_row **rows;
	struct stats_table *t;
	uint64_t count = 0;
	char name[16];
	size_t n;

	(void)state;
	assert_int_equal(stats_table_new(&t, STATS_BY_PATH), 0);
	for (uint64_t i = 2; i < 40002; i++) {
		struct event ev = {.op = OP_MKNOD, .parent = 1, .iid = i, .dur_ns = 1};

		snprintf(name, sizeof(name), "f%llu", (unsigned long long)i);
		ev.name = BYTES_STR(name);
		if (i == 3 || i == 39999)
			ev.dur_ns = 1000000;
		assert_int_equal(stats_table_put(t, &ev), 0);
	}
	assert_int_equal(stats_table_rows(t, &rows, &n), 0);
	assert_in_range(n, 4000, 8193);
	for (size_t i = 0; i < n; i++)
		count += rows[i]->s.lat.count;
	assert_int_equal(count, 40000);
	assert_true(bytes_equal(rows[0]->key, BYTES_STR("/f3")));
	assert_true(bytes_equal(rows[1]->key, BYTES_STR("/f39999")));
	stats_table_free(t);
}

/* Directories in a circle and one inode below itself end somewhere. */
static void circles_end(void **state)
{
	static const struct event evil[] = {
		{.op = OP_LOOKUP, .parent = 5, .name = NAME("a"), .iid = 4, .dur_ns = 1},
		{.op = OP_LOOKUP, .parent = 4, .name = NAME("b"), .iid = 5, .dur_ns = 1},
		{.op = OP_LOOKUP, .parent = 6, .name = NAME("c"), .iid = 6, .dur_ns = 1},
		{.op = OP_READ, .iid = 6, .oid = 1, .dur_ns = 1},
	};
	const struct stats_row **rows;
	struct stats_table *t;
	size_t n;

	(void)state;
	assert_int_equal(stats_table_new(&t, STATS_BY_PATH), 0);
	for (size_t k = 0; k < ARRAY_SIZE(evil); k++)
		assert_int_equal(stats_table_put(t, &evil[k]), 0);
	assert_int_equal(stats_table_rows(t, &rows, &n), 0);
	assert_int_equal(n, 3);
	stats_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals),
		cmocka_unit_test(tables),
		cmocka_unit_test(many_paths_stay_bounded),
		cmocka_unit_test(circles_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
