/* SPDX-License-Identifier: MIT */
/*
 * Whole frames with a good checksum whose maps claim what cannot be: counts and lengths beyond the
 * payload, wrong types and widths, numbers out of range. Each is refused, with nothing allocated on
 * the strength of the claim; some that must be accepted stand between them.
 */
#include "damage_help.h"

#include <msgpack/pack.h>
#include <msgpack/sbuffer.h>

/* The header, then one frame of this payload: what the reader says. */
static int read_crafted(const void *p, size_t n, int window_log)
{
	int fd = memory_file(), r;
	struct trace_reader *reader;
	struct event ev;

	write_random(fd, 0, 0, 1, false);
	write_frame(fd, p, n, window_log);
	read_anything(fd);
	reader = open_fd(fd);
	while ((r = trace_reader_next(reader, &ev)) == 1)
		;
	trace_reader_close(reader);
	close(fd);
	return r;
}

static void key(msgpack_packer *pk, const char *s)
{
	msgpack_pack_str_with_body(pk, s, strlen(s));
}

/* {n, t0, seq, strings: [], cols: {}} with one column; `name` and `target` follow as told. */
static int read_chunk(uint64_t n, uint64_t seq, const char *col, const void *bin, size_t size,
	const char *ops, size_t n_ops)
{
	msgpack_sbuffer b;
	msgpack_packer pk;
	int r;

	msgpack_sbuffer_init(&b);
	msgpack_packer_init(&pk, &b, msgpack_sbuffer_write);
	msgpack_pack_map(&pk, 5);
	key(&pk, "n");
	msgpack_pack_uint64(&pk, n);
	key(&pk, "t0");
	msgpack_pack_int(&pk, 0);
	key(&pk, "seq");
	msgpack_pack_uint64(&pk, seq);
	key(&pk, "strings");
	msgpack_pack_array(&pk, 1);
	msgpack_pack_bin_with_body(&pk, "mark", 4);
	key(&pk, "cols");
	msgpack_pack_map(&pk, 1 + (col != NULL));
	key(&pk, "op");
	msgpack_pack_bin_with_body(&pk, ops, n_ops);
	if (col) {
		key(&pk, col);
		msgpack_pack_bin_with_body(&pk, bin, size);
	}
	r = read_crafted(b.data, b.size, 0);
	msgpack_sbuffer_destroy(&b);
	return r;
}

static void wrong_columns_are_refused(void **state)
{
	static const char marks[] = {OP_MARK, OP_MARK}, high[] = {OP_MARK, OP_MARK, 0, 4},
			  none[] = {OP_MARK, 0}, beyond[] = {OP_MARK, OP_COUNT};
	static const struct {
		uint64_t n, seq;
		const char *col;
		const char *bin;
		size_t size;
		const char *ops;
		size_t n_ops;
		int want;
	} t[] = {
		{2, 1, NULL, NULL, 0, marks, 2, 0}, {2, 1, "name", "\1\0", 2, marks, 2, 0},
		{2, 1, "name", "\1\2", 2, marks, 2, -EBADMSG},     /* string 2 of 1 */
		{2, 1, "name", "\1\0\1\0", 4, marks, 2, -EBADMSG}, /* string 257 */
		{2, 1, "name", "\1", 1, marks, 2, -EBADMSG},       /* width is no whole number */
		{2, 1, "name", "\1\1\1", 3, marks, 2, -EBADMSG},
		{2, 1, "dur_ns", "aaaaaaaaaaaaaaaaaa", 18, marks, 2, -EBADMSG}, /* width 9 */
		{2, 1, "lane", "aabbccddee", 10, marks, 2, -EBADMSG}, /* 40 bits in a u32 */
		{2, 1, "size", "aa", 2, marks, 2, -EBADMSG},          /* a mark has no size */
		{2, 1, "op", "aa", 2, marks, 2, -EBADMSG},            /* twice */
		{2, 1, "seq", "aa", 2, marks, 2, -EBADMSG},
		{2, 1, "unheard of", "aaa", 3, marks, 2, 0},
		{3, 1, NULL, NULL, 0, marks, 2, -EBADMSG},
		{1, 1, NULL, NULL, 0, marks, 2, -EBADMSG}, /* 256 * OP_MARK + OP_MARK */
		{0, 1, NULL, NULL, 0, "", 0, -EBADMSG},
		{65537, 1, NULL, NULL, 0, marks, 2, -EBADMSG},
		{UINT32_MAX, 1, NULL, NULL, 0, marks, 2, -EBADMSG},
		{UINT64_MAX, 1, NULL, NULL, 0, marks, 2, -EBADMSG},
		{2, 0, NULL, NULL, 0, marks, 2, -EBADMSG},
		{2, UINT64_MAX - 1, NULL, NULL, 0, marks, 2, -EBADMSG},
		{2, 1, NULL, NULL, 0, none, 2, -EBADMSG},
		{2, 1, NULL, NULL, 0, beyond, 2, -EBADMSG},
		{2, 1, NULL, NULL, 0, high, 4, -EBADMSG}, /* operation 1024 + OP_MARK */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int r = read_chunk(
			t[i].n, t[i].seq, t[i].col, t[i].bin, t[i].size, t[i].ops, t[i].n_ops);

		if (r != t[i].want)
			fail_msg("row %zu: %d (%s)", i, r, r ? fail_text() : "");
	}
}

/* Counts and lengths far beyond the payload: refused before anything is allocated for them. */
static void claims_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		int want;
	} t[] = {
		{"\xdf\xff\xff\xff\xff", 5, -EBADMSG},              /* map of 2^32 */
		{"\xdd\xff\xff\xff\xff\x01", 6, -EBADMSG},          /* array of 2^32 */
		{"\x81\xa1x\xc6\xff\xff\xff\xff", 8, -EBADMSG},     /* bin of 4 GiB */
		{"\x81\xa1x\xdb\x7f\xff\xff\xff", 8, -EBADMSG},     /* str of 2 GiB */
		{"\x81\xa1x\xc9\xff\xff\xff\xff\x01", 9, -EBADMSG}, /* ext */
		{"\x81\xa1x\xc1", 4, -EBADMSG},                     /* no such type */
		{"\x81\xa1x", 3, -EBADMSG},                         /* ends early */
		{"\x80\x80", 2, -EBADMSG},                          /* two objects */
		{"\x90", 1, -EBADMSG},                              /* no map */
		{"\x81\x01\x02", 3, -EBADMSG},                      /* key is no string */
		{"\x81\xa1x\x91\x91\x91\x90", 7, -EBADMSG},         /* five deep */
		{"\x81\xa1x\x91\x91\x90", 6, 0},                    /* four deep, unknown kind */
		{"\x81\xa4"
		 "cols\x80",
			7, -EBADMSG}, /* a chunk without the rest */
		{"\x81\xa6"
		 "events\xff",
			8, -EBADMSG}, /* a trailer of -1 events */
		{"\x82\xa6"
		 "events\x01\xa3"
		 "ops\x93\1\2\3",
			17, -EBADMSG}, /* ops is no map */
		{"\x81\xa6"
		 "format\xa6"
		 "iotape",
			15, -EBADMSG}, /* a second header */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int r = read_crafted(t[i].bytes, t[i].n, 0);

		if (r != t[i].want)
			fail_msg("row %zu: %d (%s)", i, r, r ? fail_text() : "");
	}
}

static void deep_nesting_is_refused(void **state)
{
	size_t n = 1 << 20;
	uint8_t *p = malloc(n);

	(void)state;
	assert_non_null(p);
	memset(p, 0x91, n);
	memcpy(p, "\x81\xa1x", 3);
	assert_int_equal(read_crafted(p, n, 0), -EBADMSG);
	assert_non_null(strstr(fail_text(), "nested"));
	free(p);
}

/* 70 MB of zeros in 7 KB, and a window of 16 MiB. */
static void large_frames_are_refused(void **state)
{
	size_t n = 70u << 20;
	uint8_t *p = calloc(1, n);

	(void)state;
	assert_non_null(p);
	assert_int_equal(read_crafted(p, n, 0), -EBADMSG);
	assert_non_null(strstr(fail_text(), "more than the format allows"));
	assert_int_equal(read_crafted(p, 32u << 20, 24), -EBADMSG);
	assert_non_null(strstr(fail_text(), "window"));
	free(p);
}

static int open_header(const void *p, size_t n)
{
	int fd = memory_file(), r;
	struct trace_reader *reader = NULL;

	write_frame(fd, p, n, 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	r = trace_reader_open_fd(&reader, fd, "x");
	trace_reader_close(reader);
	close(fd);
	return r;
}

static void wrong_headers_are_refused(void **state)
{
#define MAGIC                                                                                      \
	"\xa6"                                                                                     \
	"format\xa6"                                                                               \
	"iotape"
#define V1                                                                                         \
	"\xa7"                                                                                     \
	"version\x01"
#define BAD -EBADMSG
	static const struct {
		const char *bytes;
		size_t n;
		int want;
	} t[] = {
		{"\x80", 1, BAD},
		{"\xc0", 1, BAD},
		{"\x82" MAGIC V1, 24, BAD}, /* no schema */
		{"\x82" MAGIC "\xa7"
		 "version\x02",
			24, -EPROTONOSUPPORT},
		{"\x82" MAGIC "\xa7"
		 "version\xff",
			24, BAD},
		{"\x83" MAGIC V1 "\xa6"
		 "schema\x80",
			32, BAD},
		{"\x83" MAGIC V1 "\xa6"
		 "schema\x01",
			32, BAD},
		{"\x83" MAGIC V1 "\xa4"
		 "cpus\xa1x",
			31, BAD},
		{"\x83" MAGIC V1 "\xa4"
		 "cpus\xcf\1\0\0\0\0\0\0\0",
			38, BAD},
		{"\x83" MAGIC V1 "\xa4"
		 "view\x01",
			30, BAD},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int r = open_header(t[i].bytes, t[i].n);

		if (r != t[i].want)
			fail_msg("row %zu: %d (%s)", i, r, r ? fail_text() : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_columns_are_refused),
		cmocka_unit_test(claims_are_refused),
		cmocka_unit_test(deep_nesting_is_refused),
		cmocka_unit_test(large_frames_are_refused),
		cmocka_unit_test(wrong_headers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
