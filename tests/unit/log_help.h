/* SPDX-License-Identifier: MIT */
/* Traces in memory, for the log's tests. */
#ifndef LOG_HELP_H
#define LOG_HELP_H

#include "event_help.h"

#include <sys/mman.h>
#include <sys/stat.h>

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

#endif
