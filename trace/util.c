/* SPDX-License-Identifier: MIT */
/*
 * Small ground under everything: byte strings compared and hashed, the monotonic clock, names of
 * errors, reads and writes that finish. Each function does one thing to what it is given; nothing
 * here allocates or keeps state.
 */
#include "iotape/util.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

/* The last errno of Linux on the common architectures; sparse numbers have no name. */
#define ERRNO_LAST 133

bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

uint64_t bytes_hash(struct bytes b, uint64_t seed)
{
	return XXH3_64bits_withSeed(b.n ? b.p : "", b.n, seed);
}

int64_t util_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

const char *util_errno_name(int err)
{
	if (err < 0 && err >= -ERRNO_LAST)
		err = -err;
	return err > 0 ? strerrorname_np(err) : NULL;
}

int util_errno_value(const char *name)
{
	static const struct {
		const char *name;
		int value;
	} alias[] = {
		{"EWOULDBLOCK", EWOULDBLOCK},
		{"EDEADLOCK", EDEADLOCK},
		{"ENOTSUP", ENOTSUP},
		{"EOPNOTSUPP", EOPNOTSUPP},
	};

	for (int e = 1; e <= ERRNO_LAST; e++) {
		const char *s = strerrorname_np(e);

		if (s && !strcmp(s, name))
			return e;
	}
	for (size_t i = 0; i < ARRAY_SIZE(alias); i++)
		if (!strcmp(alias[i].name, name))
			return alias[i].value;
	return 0;
}

int util_write_all(int fd, const void *p, size_t n)
{
	const char *s = p;

	while (n) {
		ssize_t r = write(fd, s, n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			return -EIO;
		s += r;
		n -= (size_t)r;
	}
	return 0;
}

ssize_t util_pread_all(int fd, void *p, size_t n, uint64_t offset)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = pread(fd, (char *)p + done, n - done, (off_t)(offset + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			break;
		done += (size_t)r;
	}
	return (ssize_t)done;
}
