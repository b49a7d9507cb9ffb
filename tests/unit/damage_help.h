/* SPDX-License-Identifier: MIT */
/* Damaged and made-up traces: read whatever it is, and frames as the format wants them. */
#ifndef DAMAGE_HELP_H
#define DAMAGE_HELP_H

#include "log_help.h"

#include <errno.h>
#include <zstd.h>

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
