/* SPDX-License-Identifier: MIT */
/*
 * Ground shared by every folder: error text, scoped cleanup, byte strings, number parsing, clock.
 * Nothing here allocates behind the caller's back unless the comment says so.
 */
#ifndef IOTAPE_UTIL_H
#define IOTAPE_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)     ((a) < (b) ? (a) : (b))
#define MAX(a, b)     ((a) > (b) ? (a) : (b))

/* Notes the text of a failure for this thread and returns err unchanged (err < 0). Whoever detects
 * a failure calls it once; callers pass the value on; main() prints fail_text() once. */
int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int fail_va(int err, const char *fmt, va_list ap);
/* Puts "context: " before the text already noted; returns err. For callers that know what the
 * callee could not. */
int fail_in(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends "; did you mean WORD?" to the text already noted, when word is not NULL; returns err. */
int fail_hint(int err, const char *word);
/* The last text noted on this thread; "" if none. Valid until the next fail() on the thread. */
const char *fail_text(void);

/* Scoped cleanup: `_free_ char *s = NULL;` `_close_ int fd = -1;` STEAL() hands the value out of
 * the scope. */
static inline void util_freep(void *p)
{
	free(*(void **)p);
}
static inline void util_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define _free_  __attribute__((cleanup(util_freep)))
#define _close_ __attribute__((cleanup(util_closep)))
#define STEAL(p)                                                                                   \
	({                                                                                         \
		__typeof__(p) s_ = (p);                                                            \
		(p) = NULL;                                                                        \
		s_;                                                                                \
	})
#define STEAL_FD(fd)                                                                               \
	({                                                                                         \
		int s_ = (fd);                                                                     \
		(fd) = -1;                                                                         \
		s_;                                                                                \
	})

/* A run of bytes, not NUL-terminated, not UTF-8; never owned by the struct. p may be NULL when n is
 * 0. */
struct bytes {
	const char *p;
	uint32_t n;
};
#define BYTES_STR(s) ((struct bytes){(s), (uint32_t)strlen(s)})
bool bytes_equal(struct bytes a, struct bytes b);
uint64_t bytes_hash(struct bytes b, uint64_t seed); /* XXH3-64 */

/* Escapes of the text twin: printable ASCII but for `"` and `\` stands for itself, all else is
 * \xHH, \n, \t, \", \\. Returns the length written, at most cap - 1, always NUL-terminated; 4 * b.n
 * + 1 bytes always suffice. */
size_t bytes_escape(char *out, size_t cap, struct bytes b);
/* The reverse, in place; returns the length or -EINVAL (with fail text). */
int bytes_unescape(char *s, size_t n);

/* "64K", "1.5G" (1024-based, suffix K M G T, optional B/iB) to bytes; "10ms", "5us", "2s", "1m" to
 * ns; "10%" or "0.1" to a fraction. 0 or -EINVAL with fail text naming what. */
int util_parse_size(const char *s, uint64_t *bytes);
int util_parse_duration(const char *s, int64_t *ns);
int util_parse_fraction(const char *s, double *fraction);
int util_parse_u64(const char *s, uint64_t *v);

/* Nearest right word to a typed one: start with {0}, offer every candidate; word stays NULL when
 * none is near. */
struct util_nearest {
	const char *word;
	unsigned distance;
};
void util_nearest(struct util_nearest *best, const char *typed, const char *candidate);
/* Index of s in the NULL-terminated names, or -EINVAL with a text that begins with `what`, lists
 * the names and tells the nearest. */
int util_choice(const char *what, const char *s, const char *const *names);

int64_t util_now_ns(void); /* CLOCK_MONOTONIC */
/* "ENOENT" for 2 (also for -2); NULL if the number has no name. util_errno_value() is the reverse,
 * 0 if unknown. */
const char *util_errno_name(int err);
int util_errno_value(const char *name);
/* Writes all of it or returns -errno. util_pread_all returns the bytes read (short only at end of
 * file) or -errno. */
int util_write_all(int fd, const void *p, size_t n);
ssize_t util_pread_all(int fd, void *p, size_t n, uint64_t offset);

#endif
