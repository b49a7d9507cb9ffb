/* SPDX-License-Identifier: MIT */
/*
 * Events through the log and back: every operation with wild values in every field, the extremes of
 * every delta, strings, chunks of every size, and that the same events give the same bytes.
 */
#include "log_help.h"

#include <errno.h>

static void round_trip(uint64_t seed, unsigned n, unsigned chunk)
{
	int fd = memory_file();
	struct trace_reader *reader;
	struct rng r = {seed};
	struct event got;

	write_random(fd, seed, n, chunk, true);
	reader = open_fd(fd);
	for (unsigned i = 0; i < n; i++) {
		char text[3][64];
		struct event ev;

		random_event(&r, 1 + i % (OP_COUNT - 1), &ev, text);
		ev.seq = i + 1;
		if (trace_reader_next(reader, &got) != 1)
			fail_msg("event %u: %s", i, fail_text());
		assert_event_equal(&ev, &got);
	}
	assert_int_equal(trace_reader_next(reader, &got), 0);
	assert_false(trace_reader_cut(reader));
	assert_int_equal(trace_reader_trailer(reader)->events, n);
	assert_int_equal(trace_reader_skipped(reader), 0);
	trace_reader_close(reader);
	close(fd);
}

static void every_operation_comes_back(void **state)
{
	static const unsigned sizes[][2] = {{0, 1}, {1, 1}, {44, 7}, {255, 1000}, {256, 1000},
		{257, 1000}, {3000, 999}, {8192, 99999}, {8193, 99999}, {20000, 99999}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		round_trip(1000 + i, sizes[i][0], sizes[i][1]);
	for (uint64_t seed = 0; seed < 100; seed++)
		round_trip(seed, 500, 1 + seed * 7);
}

/* One event of each value after another, so that each difference of extremes occurs. */
static void extremes_come_back(void **state)
{
	static const uint64_t v[] = {0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN, 1, 0,
		UINT64_MAX - 1, 0x80, 0xff, 0x100, 0};
	struct trace_writer *w = NULL;
	struct trace_reader *r;
	int fd = memory_file();
	struct event ev;

	(void)state;
	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		ev = (struct event){.op = OP_SETATTR,
			.iid = v[i],
			.oid = ~v[i],
			.atime_ns = v[i],
			.mtime_ns = -v[i],
			.arg = v[i],
			.result = v[i] & INT64_MAX,
			.uid = v[i],
			.start_ns = (int64_t)v[i] >> 2};
		assert_int_equal(trace_writer_put(w, &ev), 0);
		ev = (struct event){.op = OP_LSEEK, .oid = 7, .offset = v[i], .result = -38};
		assert_int_equal(trace_writer_put(w, &ev), 0);
	}
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	trace_writer_close(w);
	r = open_fd(fd);
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(trace_reader_next(r, &ev), 1);
		assert_true(ev.iid == v[i] && ev.oid == ~v[i] && ev.arg == v[i]);
		assert_true(ev.atime_ns == (int64_t)v[i] && ev.mtime_ns == (int64_t)-v[i]);
		assert_true(ev.result == (int64_t)(v[i] & INT64_MAX) && ev.uid == (uint32_t)v[i]);
		assert_true(ev.start_ns == (int64_t)v[i] >> 2);
		assert_int_equal(trace_reader_next(r, &ev), 1);
		assert_true(ev.offset == v[i] && ev.oid == 7 && ev.result == -38);
	}
	trace_reader_close(r);
	close(fd);
}

/* What an event does not have by its operation is neither stored nor trusted. */
static void fields_not_had_are_dropped(void **state)
{
	struct trace_writer *w = NULL;
	struct trace_reader *r;
	int fd = memory_file();
	struct event ev = {.op = OP_SNAP_DATA, .iid = 3, .oid = 9, .offset = 4096, .size = 512};

	(void)state;
	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	assert_int_equal(trace_writer_put(w, &ev), 0);
	ev = (struct event){.op = OP_LSEEK, .iid = 3, .oid = 9, .offset = 10, .size = 77};
	assert_int_equal(trace_writer_put(w, &ev), 0);
	ev = (struct event){.op = OP_READ, .iid = 3, .oid = 9, .offset = 20, .size = 30};
	assert_int_equal(trace_writer_put(w, &ev), 0);
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	trace_writer_close(w);
	r = open_fd(fd);
	assert_int_equal(trace_reader_next(r, &ev), 1);
	assert_true(ev.oid == 0 && ev.offset == 4096 && ev.size == 512);
	assert_int_equal(trace_reader_next(r, &ev), 1);
	assert_true(ev.oid == 9 && ev.offset == 10 && ev.size == 0);
	assert_int_equal(trace_reader_next(r, &ev), 1);
	assert_true(ev.oid == 9 && ev.offset == 20 && ev.size == 30);
	trace_reader_close(r);
	close(fd);
}

/* A sequential copy: offsets follow, ids stay, so that hardly a byte remains. */
static void sequential_io_is_small(void **state)
{
	struct trace_writer *w = NULL;
	struct trace_reader *r;
	int fd = memory_file();
	struct event ev;
	unsigned n = 0;

	(void)state;
	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	for (uint64_t i = 0; i < 8192; i++) {
		ev = (struct event){.op = OP_WRITE,
			.lane = 1,
			.iid = 5,
			.oid = 6,
			.offset = i * 131072,
			.size = 131072,
			.result = 131072,
			.start_ns = i * 1000};
		assert_int_equal(trace_writer_put(w, &ev), 0);
	}
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	trace_writer_close(w);
	assert_in_range(file_size(fd), 200, 3000);
	r = open_fd(fd);
	while (trace_reader_next(r, &ev) == 1) {
		assert_int_equal(ev.offset, (uint64_t)n * 131072);
		n++;
	}
	assert_int_equal(n, 8192);
	trace_reader_close(r);
	close(fd);
}

static void same_events_same_bytes(void **state)
{
	int a = memory_file(), b = memory_file();
	size_t na, nb;
	uint8_t *pa, *pb;

	(void)state;
	write_random(a, 5, 9000, 4000, true);
	write_random(b, 5, 9000, 4000, true);
	pa = file_bytes(a, &na);
	pb = file_bytes(b, &nb);
	assert_int_equal(na, nb);
	assert_memory_equal(pa, pb, na);
	free(pa);
	free(pb);
	close(a);
	close(b);
}

/* Strings up to the limit, and so many of them that a chunk must end early. */
static void long_strings_come_back(void **state)
{
	static char text[65536];
	struct trace_writer *w = NULL;
	struct trace_reader *r;
	int fd = memory_file();
	struct event ev;

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	for (uint32_t i = 0; i < 600; i++) {
		memcpy(text, &i, sizeof(i));
		ev = (struct event){.op = OP_MARK, .name = {text, 65535 - i % 3}};
		assert_int_equal(trace_writer_put(w, &ev), 0);
	}
	ev.name.n = 65536;
	assert_true(trace_writer_put(w, &ev) < 0);
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	trace_writer_close(w);
	r = open_fd(fd);
	for (uint32_t i = 0; i < 600; i++) {
		assert_int_equal(trace_reader_next(r, &ev), 1);
		assert_int_equal(ev.name.n, 65535 - i % 3);
		assert_memory_equal(ev.name.p, &i, sizeof(i));
	}
	assert_int_equal(trace_reader_next(r, &ev), 0);
	assert_true(trace_reader_chunk(r) > 1);
	trace_reader_close(r);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_comes_back),
		cmocka_unit_test(extremes_come_back),
		cmocka_unit_test(fields_not_had_are_dropped),
		cmocka_unit_test(sequential_io_is_small),
		cmocka_unit_test(same_events_same_bytes),
		cmocka_unit_test(long_strings_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
