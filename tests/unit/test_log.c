/* SPDX-License-Identifier: MIT */
/*
 * The log as a file: header and trailer, numbering, pipes, rewinding, a full device, the index, and
 * a trace of a later program with fields and operations that are not known here.
 */
#include "damage_help.h"

#include <errno.h>
#include <fcntl.h>
#include <msgpack/pack.h>
#include <msgpack/sbuffer.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <zstd.h>

static void header_and_trailer_come_back(void **state)
{
	char reason[] = "unmounted", empty[] = "";
	struct trace_trailer t = {.drops = 3,
		.end_mono_ns = -5,
		.stalls = 7,
		.stall_ns = UINT64_MAX,
		.reason = reason};
	struct trace_header h = *some_header(), copy;
	const struct trace_header *got;
	struct trace_writer *w = NULL;
	struct trace_reader *r;
	int fd = memory_file();
	struct event ev = {.op = OP_STATFS, .iid = 1};

	(void)state;
	h.mount_options = empty;
	h.level = 3;
	assert_int_equal(trace_writer_open(&w, fd, &h), 0);
	assert_int_equal(trace_writer_put(w, &ev), 0);
	assert_int_equal(trace_writer_events(w), 1);
	assert_int_equal(trace_writer_finish(w, &t), 0);
	assert_int_equal(trace_writer_bytes(w), file_size(fd));
	assert_int_equal(trace_writer_put(w, &ev), -EINVAL);
	trace_writer_close(w);

	r = open_fd(fd);
	assert_null(trace_reader_trailer(r));
	assert_int_equal(trace_header_copy(&copy, trace_reader_header(r)), 0);
	got = &copy;
	assert_string_equal(got->recorder, h.recorder);
	assert_string_equal(got->command, h.command);
	assert_string_equal(got->mount_options, "");
	assert_null(got->libfuse);
	assert_true(got->fs_free_bytes == UINT64_MAX && got->start_mono_ns == INT64_MIN);
	assert_true(got->page_size == 4096 && got->cpus == 2 && got->level == 3);
	assert_true(got->start_wall_ns == h.start_wall_ns);
	trace_header_fini(&copy);
	assert_int_equal(trace_reader_next(r, &ev), 1);
	assert_int_equal(trace_reader_next(r, &ev), 0);
	assert_int_equal(trace_reader_trailer(r)->op_count[OP_STATFS], 1);
	assert_int_equal(trace_reader_trailer(r)->drops, 3);
	assert_int_equal(trace_reader_trailer(r)->end_mono_ns, -5);
	assert_true(trace_reader_trailer(r)->stall_ns == UINT64_MAX);
	assert_string_equal(trace_reader_trailer(r)->reason, reason);
	trace_reader_close(r);
	close(fd);
}

static void numbers_follow_on(void **state)
{
	/* what is put: 0 is numbered by the writer; what comes back; which chunk; 0: refused */
	static const uint64_t rows[][3] = {{0, 1, 0}, {2, 2, 0}, {2, 0, 0}, {10, 10, 1}, {0, 11, 1},
		{9, 0, 0}, {UINT64_MAX, 0, 0}, {UINT64_MAX - 1, UINT64_MAX - 1, 2}};
	struct trace_writer *w = NULL;
	struct trace_reader *r;
	int fd = memory_file();
	struct event ev;

	(void)state;
	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ev = (struct event){.op = OP_STATFS, .seq = rows[i][0]};
		assert_int_equal(trace_writer_put(w, &ev), rows[i][1] ? 0 : -EINVAL);
	}
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	trace_writer_close(w);
	r = open_fd(fd);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			if (!rows[i][1])
				continue;
			assert_int_equal(trace_reader_next(r, &ev), 1);
			assert_true(ev.seq == rows[i][1]);
			assert_int_equal(trace_reader_chunk(r), rows[i][2]);
		}
		assert_int_equal(trace_reader_next(r, &ev), 0);
		assert_int_equal(trace_reader_next(r, &ev), 0);
		assert_int_equal(trace_reader_rewind(r), 0);
	}
	trace_reader_close(r);
	close(fd);
}

static void *feed(void *arg)
{
	int *fd = arg;
	size_t n;
	uint8_t *p = file_bytes(fd[0], &n);

	for (size_t i = 0; i < n; i += 1000) /* in odd pieces */
		if (util_write_all(fd[1], p + i, MIN(1000, n - i)))
			break;
	close(fd[1]);
	free(p);
	return NULL;
}

static void pipes_are_read(void **state)
{
	int fd = memory_file(), ends[2], args[2];
	struct trace_reader *r = NULL;
	struct event ev;
	pthread_t thread;
	unsigned n = 0;

	(void)state;
	write_random(fd, 3, 5000, 900, true);
	assert_int_equal(pipe(ends), 0);
	args[0] = fd;
	args[1] = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, feed, args), 0);
	assert_int_equal(trace_reader_open_fd(&r, ends[0], "pipe"), 0);
	while (trace_reader_next(r, &ev) == 1)
		assert_int_equal(ev.seq, ++n);
	assert_int_equal(n, 5000);
	assert_non_null(trace_reader_trailer(r));
	assert_int_equal(trace_reader_rewind(r), -ESPIPE);
	trace_reader_close(r);
	pthread_join(thread, NULL);
	close(ends[0]);
	close(fd);
}

/* The chunk that does not fit is lost and counted; the file stays a row of whole frames. */
static void full_device_leaves_whole_frames(void **state)
{
	char path[] = "/tmp/iotape-test-log-XXXXXX";
	int fd = mkstemp(path), r = 0;
	struct rlimit was, tight;
	struct trace_writer *w = NULL;
	struct trace_damage d;
	struct rng rng = {1};
	struct trace_reader *reader;
	struct event ev;

	(void)state;
	assert_true(fd >= 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	tight = was;
	tight.rlim_cur = 60000;
	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	for (unsigned i = 0; i < 5000 && !r; i++) {
		char text[3][64];

		random_event(&rng, 1 + i % (OP_COUNT - 1), &ev, text);
		r = trace_writer_put(w, &ev);
		if (!r && i % 100 == 99)
			r = trace_writer_flush(w);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(file_size(fd), trace_writer_bytes(w));
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	assert_int_equal(trace_check(path, &d, -1), 0);
	assert_int_equal(d.bad_frames, 0);
	assert_true(d.has_trailer && d.has_index && d.index_good);
	assert_int_equal(d.lost_events, 100);
	assert_int_equal(d.events, trace_writer_events(w));
	reader = open_fd(fd);
	while ((r = trace_reader_next(reader, &ev)) == 1)
		;
	assert_int_equal(r, 0);
	assert_int_equal(trace_reader_trailer(reader)->drops, 100);
	trace_reader_close(reader);
	trace_writer_close(w);
	unlink(path);
	close(fd);
}

static uint32_t u32_at(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Entry by entry, the index leads to frames that decompress alone. */
static void index_leads_to_frames(void **state)
{
	int fd = memory_file();
	size_t n, at = 0;
	uint8_t *p, *entry;
	uint32_t frames;

	(void)state;
	write_random(fd, 9, 4000, 500, true);
	p = file_bytes(fd, &n);
	assert_int_equal(u32_at(p + n - 4), 0x8F92EAB1);
	assert_int_equal(p[n - 5], 0);
	frames = u32_at(p + n - 9);
	assert_int_equal(frames, 1 + 8 + 1);
	entry = p + n - 9 - 8 * frames;
	assert_int_equal(u32_at(entry - 8), 0x184D2A5E);
	assert_int_equal(u32_at(entry - 4), 8 * frames + 9);
	for (uint32_t i = 0; i < frames; i++, entry += 8) {
		uint32_t stored = u32_at(entry), plain = u32_at(entry + 4);
		uint8_t *to = malloc(plain);

		assert_non_null(to);
		assert_int_equal(ZSTD_decompress(to, plain, p + at, stored), plain);
		at += stored;
		free(to);
	}
	assert_int_equal(at, n - 9 - 8 * frames - 8);
	free(p);
	close(fd);
}

static void text(msgpack_packer *pk, const char *s)
{
	msgpack_pack_str_with_body(pk, s, strlen(s));
}

static void texts(msgpack_packer *pk, const char *const *s, size_t n)
{
	msgpack_pack_array(pk, n);
	for (size_t i = 0; i < n; i++)
		text(pk, s[i]);
}

static void bin(msgpack_packer *pk, const char *key, const char *p, size_t n)
{
	text(pk, key);
	msgpack_pack_bin_with_body(pk, p, n);
}

static void flush_frame(int fd, msgpack_sbuffer *b)
{
	write_frame(fd, b->data, b->size, 0);
	msgpack_sbuffer_clear(b);
}

/* Other numbers, another order, a field and an operation that are not known here. */
static void later_schema(msgpack_packer *pk)
{
	static const char *const fields[][3] = {{"size", "u64", "plain"}, {"zeta", "u32", "plain"},
		{"op", "u16", "plain"}, {"oid", "u64", "delta"}, {"offset", "u64", "follow"},
		{"seq", "u64", "implied"}, {"uid", "u32", "plain"}};
	static const char *const common[] = {"op", "seq"};

	msgpack_pack_map(pk, 4);
	text(pk, "ops");
	msgpack_pack_map(pk, 2);
	text(pk, "read");
	msgpack_pack_array(pk, 6);
	msgpack_pack_int(pk, 1000);
	for (int i = 0; i < 5; i++)
		text(pk, ((const char *[]){"oid", "offset", "size", "zeta", "uid"})[i]);
	text(pk, "warp");
	msgpack_pack_array(pk, 2);
	msgpack_pack_int(pk, 3);
	text(pk, "zeta");
	text(pk, "fields");
	msgpack_pack_map(pk, ARRAY_SIZE(fields));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		text(pk, fields[i][0]);
		texts(pk, &fields[i][1], 2);
	}
	text(pk, "later");
	msgpack_pack_nil(pk);
	text(pk, "common");
	texts(pk, common, 2);
}

static void later_trace_is_read(void **state)
{
	struct trace_reader *r;
	msgpack_sbuffer b;
	msgpack_packer pk;
	int fd = memory_file();
	struct event ev;

	(void)state;
	msgpack_sbuffer_init(&b);
	msgpack_packer_init(&pk, &b, msgpack_sbuffer_write);
	msgpack_pack_map(&pk, 4);
	text(&pk, "format");
	text(&pk, "iotape");
	text(&pk, "version");
	msgpack_pack_int(&pk, 1);
	text(&pk, "moon phase");
	msgpack_pack_double(&pk, 0.5);
	text(&pk, "schema");
	later_schema(&pk);
	flush_frame(fd, &b);
	msgpack_pack_map(&pk, 6);
	text(&pk, "n");
	msgpack_pack_int(&pk, 3);
	text(&pk, "t0");
	msgpack_pack_int(&pk, -4);
	text(&pk, "seq");
	msgpack_pack_int(&pk, 1);
	text(&pk, "strings");
	msgpack_pack_array(&pk, 0);
	text(&pk, "tides");
	msgpack_pack_true(&pk);
	text(&pk, "cols");
	msgpack_pack_map(&pk, 6);
	bin(&pk, "op", "\xe8\x03\xe8\x03\x00\x03", 6); /* planes of 1000, 3, 1000 */
	bin(&pk, "zeta", "abc", 3);
	bin(&pk, "size", "\x08\x10", 2);
	bin(&pk, "uid", "\x01\x02", 2);
	bin(&pk, "oid", "\x0e\x00", 2); /* 7, 7 */
	bin(&pk, "glow", "xyz", 3);
	flush_frame(fd, &b);
	msgpack_pack_map(&pk, 1); /* a frame of a kind that is not known */
	text(&pk, "weather");
	msgpack_pack_nil(&pk);
	flush_frame(fd, &b);

	r = open_fd(fd);
	assert_int_equal(trace_reader_next(r, &ev), 1);
	assert_true(ev.op == OP_READ && ev.seq == 1 && ev.oid == 7 && ev.offset == 0 &&
		    ev.size == 8 && ev.uid == 0);
	assert_int_equal(trace_reader_next(r, &ev), 1);
	assert_true(ev.op == OP_READ && ev.seq == 3 && ev.oid == 7 && ev.offset == 8 &&
		    ev.size == 16 && ev.uid == 0 && ev.start_ns == 0);
	assert_int_equal(trace_reader_next(r, &ev), 0);
	assert_int_equal(trace_reader_skipped(r), 1);
	assert_true(trace_reader_cut(r));
	trace_reader_close(r);
	msgpack_sbuffer_destroy(&b);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_and_trailer_come_back),
		cmocka_unit_test(numbers_follow_on),
		cmocka_unit_test(pipes_are_read),
		cmocka_unit_test(full_device_leaves_whole_frames),
		cmocka_unit_test(index_leads_to_frames),
		cmocka_unit_test(later_trace_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
