/* SPDX-License-Identifier: MIT */
/*
 * Traces that are not what they should be: cut at every byte, flipped bits, lost frames, crafted
 * maps that claim too much. The reader gives what is whole and then an answer, never a crash; the
 * repaired trace is good.
 */
#include "damage_help.h"

#include <errno.h>
#include <stdio.h>
#include <zstd.h>

static void set_file(int fd, const void *p, size_t n)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(util_write_all(fd, p, n), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
}

/* Ends of the frames: where a compressed frame of the file ends, the index left out. */
static size_t frame_ends(const uint8_t *p, size_t n, size_t *ends, size_t cap)
{
	size_t count = 0, at = 0;

	while (count < cap && n - at > 4 && p[at] == 0x28) {
		size_t size = ZSTD_findFrameCompressedSize(p + at, n - at);

		assert_false(ZSTD_isError(size));
		ends[count++] = at += size;
	}
	return count;
}

/* What a cut trace of whole frames up to `n` bytes must give. */
static void read_cut(int fd, size_t n, const size_t *ends, size_t n_ends, unsigned chunk)
{
	struct trace_reader *r = NULL;
	size_t whole = 0;
	struct trace_damage d;
	struct event ev;
	uint64_t got = 0;
	int err = trace_reader_open_fd(&r, fd, "cut");

	while (whole < n_ends && ends[whole] <= n)
		whole++;
	if (!whole) {
		assert_int_equal(err, -ENODATA);
		assert_int_equal(check_fd(fd, &d, -1), -ENODATA);
		return;
	}
	assert_int_equal(err, 0);
	while ((err = trace_reader_next(r, &ev)) == 1)
		assert_int_equal(ev.seq, ++got);
	assert_int_equal(err, 0);
	assert_int_equal(got, (MIN(whole, n_ends - 1) - 1) * chunk);
	assert_int_equal(trace_reader_cut(r), whole < n_ends);
	trace_reader_close(r);
	assert_int_equal(check_fd(fd, &d, -1), 0);
	assert_int_equal(d.events, got);
	assert_int_equal(d.frames, whole);
	assert_int_equal(d.bad_frames, 0);
	assert_int_equal(d.has_trailer, whole == n_ends);
	assert_int_equal(d.good_bytes, ends[whole - 1]);
	assert_true(d.first_bad[0]); /* the index is missing at the least */
}

static void every_cut_is_read(void **state)
{
	int fd = memory_file(), cut = memory_file();
	size_t n, ends[16], n_ends;
	struct trace_damage d;
	uint8_t *p;

	(void)state;
	write_random(fd, 11, 120, 40, true);
	p = file_bytes(fd, &n);
	n_ends = frame_ends(p, n, ends, 16);
	assert_int_equal(n_ends, 5);
	for (size_t i = 0; i < n; i++) {
		set_file(cut, p, i);
		read_cut(cut, i, ends, n_ends, 40);
	}
	assert_int_equal(check_fd(fd, &d, -1), 0);
	assert_string_equal(d.first_bad, "");
	assert_int_equal(d.good_bytes, n);
	free(p);
	close(fd);
	close(cut);
}

static void same_events(int a, int b)
{
	struct trace_reader *ra = open_fd(a), *rb = open_fd(b);
	struct event ea, eb;
	int r;

	do {
		r = trace_reader_next(ra, &ea);
		assert_int_equal(trace_reader_next(rb, &eb), r);
		if (r == 1)
			assert_event_equal(&ea, &eb);
	} while (r == 1);
	assert_int_equal(r, 0);
	trace_reader_close(ra);
	trace_reader_close(rb);
}

static void flipped_bits_are_found(void **state)
{
	int fd = memory_file(), bad = memory_file(), good = memory_file();
	uint8_t *p;
	size_t n;

	(void)state;
	write_random(fd, 12, 900, 300, true);
	p = file_bytes(fd, &n);
	for (uint64_t seed = 0; seed < 600; seed++) {
		struct rng r = {seed};
		uint64_t bit = rng_next(&r) % (8 * n);
		struct trace_damage d;

		p[bit / 8] ^= 1 << bit % 8;
		set_file(bad, p, n);
		p[bit / 8] ^= 1 << bit % 8;
		read_anything(bad);
		set_file(good, "", 0);
		if (check_fd(bad, &d, good)) /* the header */
			continue;
		if (!d.first_bad[0]) { /* a bit that zstd does not look at */
			same_events(fd, bad);
			continue;
		}
		assert_in_range(d.bad_frames, 0, 1);
		assert_true(d.events >= 600);
		assert_int_equal(check_fd(good, &d, -1), 0);
		assert_int_equal(d.bad_frames, 0);
		assert_true(d.has_trailer && d.index_good);
		assert_true(d.events >= 600);
	}
	free(p);
	close(fd);
	close(bad);
	close(good);
}

static void noise_is_no_trace(void **state)
{
	int fd = memory_file();
	uint8_t buf[3000];

	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct rng r = {seed};
		struct trace_reader *reader = NULL;

		for (size_t i = 0; i < sizeof(buf); i++)
			buf[i] = rng_next(&r);
		if (seed % 2)
			memcpy(buf, "\x28\xb5\x2f\xfd", 4);
		if (seed % 4 == 3)
			buf[4] = 0x64;
		set_file(fd, buf, rng_next(&r) % sizeof(buf) + 1);
		assert_true(trace_reader_open_fd(&reader, fd, "noise") < 0);
		read_anything(fd);
	}
	close(fd);
}

static void what_cannot_be_read_is_named(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		int err;
		const char *text;
	} t[] = {{"", 0, -ENODATA, "x: empty"},
		{"PK\3\4 and so on", 14, -EBADMSG, "x: not an iotape trace"},
		{"#!/bin/sh\n", 10, -EBADMSG, "x: not an iotape trace"},
		{"\x28\xb5", 2, -ENODATA, "x: cut inside its header: nothing can be read"}};
	int fd = memory_file();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct trace_reader *r = NULL;

		set_file(fd, t[i].bytes, t[i].n);
		assert_int_equal(trace_reader_open_fd(&r, fd, "x"), t[i].err);
		assert_string_equal(fail_text(), t[i].text);
	}
	close(fd);
}

/* Cuts frame `bad` out of, or damages it in, a trace of 10 chunks: only its events are lost. */
static void repair_one(const uint8_t *p, size_t n, const size_t *ends, size_t bad, bool remove)
{
	int fd = memory_file(), good = memory_file();
	uint8_t *q = malloc(n);
	size_t at = ends[bad - 1], size = ends[bad] - at, m = n;
	struct trace_damage d;
	struct trace_reader *r;
	struct event ev;
	unsigned got = 0;

	assert_non_null(q);
	memcpy(q, p, n);
	if (remove) {
		memmove(q + at, q + at + size, n - at - size);
		m -= size;
	} else {
		memset(q + at + 8, 0xff, size - 12); /* block heads too */
	}
	set_file(fd, q, m);
	assert_int_equal(check_fd(fd, &d, good), 0);
	assert_int_equal(d.bad_frames, !remove);
	assert_int_equal(d.lost_events, 100);
	assert_int_equal(d.events, 900);
	assert_int_equal(d.index_good, false);
	assert_true(remove || d.good_bytes == at);
	assert_true(d.first_bad[0]);
	assert_int_equal(check_fd(good, &d, -1), 0);
	assert_int_equal(d.bad_frames, 0);
	assert_int_equal(d.lost_events, 100); /* by its drops */
	assert_true(d.index_good && !d.first_bad[0]);
	r = open_fd(good);
	while (trace_reader_next(r, &ev) == 1) {
		assert_false(ev.seq > 100 * (bad - 1) && ev.seq <= 100 * bad);
		got++;
	}
	assert_int_equal(got, 900);
	assert_int_equal(trace_reader_trailer(r)->drops, 100);
	trace_reader_close(r);
	free(q);
	close(fd);
	close(good);
}

static void one_bad_frame_loses_only_itself(void **state)
{
	int fd = memory_file(), again = memory_file();
	size_t n, m, ends[16];
	uint8_t *p, *q;
	struct trace_damage d;

	(void)state;
	write_random(fd, 13, 1000, 100, true);
	p = file_bytes(fd, &n);
	assert_int_equal(frame_ends(p, n, ends, 16), 12);
	for (size_t bad = 1; bad <= 10; bad++) {
		repair_one(p, n, ends, bad, false);
		repair_one(p, n, ends, bad, true);
	}
	/* repairing what is whole changes nothing */
	assert_int_equal(check_fd(fd, &d, again), 0);
	q = file_bytes(again, &m);
	assert_int_equal(m, n);
	assert_memory_equal(p, q, n);
	free(p);
	free(q);
	close(fd);
	close(again);
}

/* A frame that was written twice is read once. */
static void repeated_chunk_is_read_once(void **state)
{
	int fd = memory_file(), twice = memory_file();
	size_t n, ends[16];
	struct trace_reader *r;
	struct event ev;
	uint64_t got = 0;
	uint8_t *p;

	(void)state;
	write_random(fd, 14, 300, 100, true);
	p = file_bytes(fd, &n);
	frame_ends(p, n, ends, 16);
	set_file(twice, p, ends[2]);
	assert_int_equal(lseek(twice, ends[2], SEEK_SET), ends[2]);
	assert_int_equal(util_write_all(twice, p + ends[1], n - ends[1]), 0);
	r = open_fd(twice);
	while (trace_reader_next(r, &ev) == 1)
		assert_int_equal(ev.seq, ++got);
	assert_int_equal(got, 300);
	assert_false(trace_reader_cut(r));
	trace_reader_close(r);
	free(p);
	close(fd);
	close(twice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cut_is_read),
		cmocka_unit_test(flipped_bits_are_found),
		cmocka_unit_test(noise_is_no_trace),
		cmocka_unit_test(what_cannot_be_read_is_named),
		cmocka_unit_test(one_bad_frame_loses_only_itself),
		cmocka_unit_test(repeated_chunk_is_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
