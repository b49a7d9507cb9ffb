/* SPDX-License-Identifier: MIT */
/* Random but valid events, traces in memory, and comparison field by field, for the log's tests. */
#ifndef LOG_HELP_H
#define LOG_HELP_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <cmocka.h>
#include <zstd.h>
/* ours is a function */
#undef fail
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#include "iotape/trace.h"

struct rng {
	uint64_t s;
};

/* splitmix64 (S. Vigna, public domain algorithm) */
static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->s += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

/* Of any magnitude, often 0 or the largest. */
static inline uint64_t rng_wild(struct rng *r, uint64_t most)
{
	uint64_t v = rng_next(r), kind = rng_next(r) % 16;

	if (kind == 0)
		return 0;
	if (kind == 1)
		return most;
	v >>= rng_next(r) % 64;
	return most == UINT64_MAX ? v : v % (most + 1);
}

static inline bool event_has(const struct event *ev, enum field f)
{
	return op_info[ev->op].fields & FIELD_BIT(f);
}

/* Text of 1 to 40 bytes without '/' and NUL, one of a few hundred, in a caller's buffer. */
static inline struct bytes random_name(struct rng *r, char buf[64])
{
	struct rng own = {rng_next(r) % 300};
	uint32_t n = 1 + rng_next(&own) % 40;

	for (uint32_t i = 0; i < n; i++) {
		buf[i] = 1 + rng_next(&own) % 255;
		if (buf[i] == '/' || buf[i] == '.')
			buf[i] = '_';
	}
	return (struct bytes){buf, n};
}

#define TIME_LIMIT (INT64_C(1) << 61)

static inline void random_scalar(struct rng *r, struct event *ev, int f)
{
	char *p = (char *)ev + field_info[f].offset;

	switch (field_info[f].type) {
	case FIELD_U8:
		*(uint8_t *)p = rng_next(r) % (f == FIELD_CONTENT ? EVENT_CONTENT_COUNT : 2);
		break;
	case FIELD_U16:
		break;
	case FIELD_U32:
		*(uint32_t *)p = rng_wild(r, UINT32_MAX);
		break;
	case FIELD_U8X2:
		p[0] = rng_next(r);
		p[1] = rng_next(r);
		break;
	case FIELD_U64:
		*(uint64_t *)p = rng_wild(r,
			f == FIELD_DUR_NS || f == FIELD_QUEUE_NS ? (uint64_t)TIME_LIMIT
			: f == FIELD_OFFSET || f == FIELD_OFFSET2 || f == FIELD_SIZE ? INT64_MAX
										     : UINT64_MAX);
		break;
	case FIELD_I64:
		*(int64_t *)p = rng_wild(r, UINT64_MAX);
		if (f == FIELD_START_NS)
			*(int64_t *)p %= TIME_LIMIT + 1;
		break;
	case FIELD_BYTES:
		break;
	}
}

/* Every field that the operation has is wild, within what event_check() allows. */
static inline void random_event(struct rng *r, unsigned op, struct event *ev, char text[3][64])
{
	*ev = (struct event){.op = op};
	for (int f = 0; f < FIELD_COUNT; f++)
		if (event_has(ev, f) && f != FIELD_SEQ && f != FIELD_OP)
			random_scalar(r, ev, f);
	if (event_has(ev, FIELD_NAME))
		ev->name = random_name(r, text[0]);
	if (event_has(ev, FIELD_NAME2))
		ev->name2 = random_name(r, text[1]);
	if (event_has(ev, FIELD_TARGET) && rng_next(r) % 2)
		ev->target = random_name(r, text[2]);
	if (ev->result < 0)
		ev->result = -(int64_t)(rng_next(r) % 4096);
	else if (event_has(ev, FIELD_SIZE) && (uint64_t)ev->result > ev->size)
		ev->result = ev->size;
}

static inline void assert_event_equal(const struct event *a, const struct event *b)
{
	for (int f = 0; f < FIELD_COUNT; f++) {
		static const size_t size[] = {[FIELD_U8] = 1,
			[FIELD_U16] = 2,
			[FIELD_U32] = 4,
			[FIELD_U64] = 8,
			[FIELD_I64] = 8,
			[FIELD_U8X2] = 2};
		const char *pa = (const char *)a + field_info[f].offset;
		const char *pb = (const char *)b + field_info[f].offset;

		if (field_info[f].type == FIELD_BYTES) {
			if (!bytes_equal(*(const struct bytes *)pa, *(const struct bytes *)pb))
				fail_msg("event %llu: %s differs", (unsigned long long)a->seq,
					field_info[f].key);
		} else if (memcmp(pa, pb, size[field_info[f].type]) != 0) {
			fail_msg("event %llu (%s): %s differs", (unsigned long long)a->seq,
				op_info[a->op].name, field_info[f].key);
		}
	}
}

static inline int memory_file(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline const struct trace_header *some_header(void)
{
	static char recorder[] = "iotape test", view[] = "app", kernel[] = "6.1",
		    odd[] = "a \xff b";
	static struct trace_header h;

	h = (struct trace_header){.recorder = recorder,
		.view = view,
		.host_kernel = kernel,
		.command = odd,
		.page_size = 4096,
		.cpus = 2,
		.fs_free_bytes = UINT64_MAX,
		.start_mono_ns = INT64_MIN,
		.start_wall_ns = INT64_C(1700000000123456789)};
	return &h;
}

/* n events over all operations by turns, flushed every `chunk` events. */
static inline void write_random(int fd, uint64_t seed, unsigned n, unsigned chunk, bool finish)
{
	struct trace_writer *w = NULL;
	struct rng r = {seed};

	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	for (unsigned i = 0; i < n; i++) {
		char text[3][64];
		struct event ev;

		random_event(&r, 1 + i % (OP_COUNT - 1), &ev, text);
		if (trace_writer_put(w, &ev))
			fail_msg("put: %s", fail_text());
		if (i % chunk == chunk - 1)
			assert_int_equal(trace_writer_flush(w), 0);
	}
	if (finish)
		assert_int_equal(trace_writer_finish(w, NULL), 0);
	else
		assert_int_equal(trace_writer_flush(w), 0);
	trace_writer_close(w);
}

static inline struct trace_reader *open_fd(int fd)
{
	struct trace_reader *r = NULL;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	if (trace_reader_open_fd(&r, fd, "test.tape"))
		fail_msg("open: %s", fail_text());
	return r;
}

static inline size_t file_size(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/* The whole file; the caller frees. */
static inline uint8_t *file_bytes(int fd, size_t *n)
{
	uint8_t *p;

	*n = file_size(fd);
	p = malloc(*n + 1);
	assert_non_null(p);
	assert_int_equal(util_pread_all(fd, p, *n, 0), *n);
	return p;
}

static inline int check_fd(int fd, struct trace_damage *d, int repair)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return trace_check(path, d, repair);
}

/* Reads to the end whatever it is; events must count up and be sound. */
static inline void read_anything(int fd)
{
	struct trace_reader *r = NULL;
	struct trace_damage d;
	struct event ev;
	uint64_t last = 0, got = 0;
	int err;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	err = trace_reader_open_fd(&r, fd, "damaged");
	if (!err) {
		while ((err = trace_reader_next(r, &ev)) == 1) {
			assert_true(ev.seq > last);
			assert_int_equal(event_check(&ev), 0);
			last = ev.seq;
			got++;
		}
		if (err < 0)
			assert_int_equal(trace_reader_next(r, &ev), err);
		trace_reader_close(r);
	}
	if (err < 0) {
		assert_true(err == -EBADMSG || err == -ENODATA || err == -EPROTONOSUPPORT);
		assert_true(fail_text()[0]);
	}
	if (check_fd(fd, &d, -1) == 0)
		assert_true(d.events >= got);
}

/* One frame as the format wants it; window_log 0: zstd's choice. */
static inline void write_frame(int fd, const void *p, size_t size, int window_log)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t cap = ZSTD_compressBound(size), n;
	char *out = malloc(cap);

	assert_non_null(out);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window_log);
	n = ZSTD_compress2(c, out, cap, p, size);
	assert_false(ZSTD_isError(n));
	assert_int_equal(util_write_all(fd, out, n), 0);
	ZSTD_freeCCtx(c);
	free(out);
}

#endif
