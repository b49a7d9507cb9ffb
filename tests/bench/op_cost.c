/* SPDX-License-Identifier: MIT */
/*
 * The calls of op-cost.py: each operation many times in the directory DIR, its mean time in ns as a
 * line "NAME NS". One thread, nothing synced: what is measured is the way to the storage.
 * usage: op_cost DIR COUNT
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DATA_BYTES (64 << 20)

static int64_t from_ns;
static char *buf;
static int n;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void must(int64_t r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "op_cost: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void begin(void)
{
	from_ns = now();
}

static void end(const char *name, int count)
{
	printf("%s %.1f\n", name, (double)(now() - from_ns) / count);
}

static const char *name(const char *prefix, int i)
{
	static char s[2][32];
	static int k;

	k = !k;
	snprintf(s[k], sizeof(s[k]), "%s%d", prefix, i);
	return s[k];
}

static void names(void)
{
	struct stat st;

	begin();
	for (int i = 0; i < n; i++) {
		int fd = open(name("c", i), O_CREAT | O_EXCL | O_WRONLY, 0644);
		must(fd, "create");
		close(fd);
	}
	end("create", n);
	begin();
	for (int i = 0; i < n; i++) {
		int fd = open(name("c", i), O_RDONLY);
		must(fd, "open");
		close(fd);
	}
	end("open-close", n);
	begin();
	for (int i = 0; i < n; i++)
		must(stat(name("c", i), &st), "stat");
	end("stat", n);
	begin();
	for (int i = 0; i < n; i++)
		must(rename(name("c", i), name("r", i)), "rename");
	end("rename", n);
	begin();
	for (int i = 0; i < n; i++)
		must(unlink(name("r", i)), "unlink");
	end("unlink", n);
	begin();
	for (int i = 0; i < n; i++) {
		int fd = open(name("w", i), O_CREAT | O_EXCL | O_WRONLY, 0644);
		must(fd, "create");
		must(write(fd, buf, 4096), "write");
		close(fd);
	}
	end("file-4k", n);
	for (int i = 0; i < n; i++)
		must(unlink(name("w", i)), "unlink");
}

/* count calls of size, one behind the other, over at most DATA_BYTES; nan where they are refused:
 * some mirrors cannot do direct I/O */
static void data(const char *what, size_t size, int flags, int count)
{
	int fd = open("data", O_CREAT | flags, 0644);
	int64_t slots = DATA_BYTES / (int64_t)size;
	ssize_t r = (ssize_t)size;

	if (fd < 0)
		r = -1;
	begin();
	for (int i = 0; i < count && r == (ssize_t)size; i++) {
		int64_t at = i % slots * (int64_t)size;
		if ((flags & O_ACCMODE) == O_RDONLY)
			r = pread(fd, buf, size, at);
		else
			r = pwrite(fd, buf, size, at);
	}
	if (r == (ssize_t)size)
		end(what, count);
	else if (flags & O_DIRECT)
		printf("%s nan\n", what);
	else
		must(-1, what);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 3 || chdir(argv[1]) || (n = atoi(argv[2])) < 1) {
		fprintf(stderr, "usage: op_cost DIR COUNT\n");
		return 2;
	}
	if (posix_memalign((void **)&buf, 4096, 1 << 20))
		return 1;
	srandom(1);
	for (int i = 0; i < 1 << 18; i++)
		((uint32_t *)(void *)buf)[i] = (uint32_t)random();
	names();
	data("allocate", 1 << 20, O_WRONLY, DATA_BYTES >> 20);
	data("write-8k", 8 << 10, O_WRONLY, n);
	data("write-128k", 128 << 10, O_WRONLY, n / 4);
	data("write-1m", 1 << 20, O_WRONLY, n / 16);
	data("read-128k", 128 << 10, O_RDONLY, n / 4);
	data("direct-read-8k", 8 << 10, O_RDONLY | O_DIRECT, n);
	data("direct-write-8k", 8 << 10, O_WRONLY | O_DIRECT, n);
	must(unlink("data"), "unlink");
	return 0;
}
