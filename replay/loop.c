/* SPDX-License-Identifier: MIT */
/*
 * Loop devices by ioctl. The one idea: a device is configured with AUTOCLEAR in the same call that
 * attaches it, and our descriptor (later the mount) is what holds it. So it goes away by itself
 * when the holder does, also after kill -9. A number is never chosen by us and never detached by
 * number: other loops on the machine are not ours.
 */
#include "tool_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

#define ATTACH_TRIES 64
#define DETACH_MS    3000

/* 1: attached, 0: someone was faster, or -errno */
static int try_attach(struct loop *l, int ctl, const struct loop_config *cfg, const char *name)
{
	char node[32];
	int r, number = ioctl(ctl, LOOP_CTL_GET_FREE);
	_close_ int fd = -1;

	if (number < 0)
		return fail(-errno, "no free loop device: %s", strerror(errno));
	snprintf(node, sizeof(node), "/dev/loop%d", number);
	fd = open(node, O_RDWR | O_CLOEXEC);
	if (fd < 0 && (errno == EBUSY || errno == ENXIO))
		return 0;
	if (fd < 0)
		return fail(-errno, "%s: %s", node, strerror(errno));
	if (ioctl(fd, LOOP_CONFIGURE, cfg) < 0) {
		r = -errno;
		if (r == -EBUSY)
			return 0;
		return fail(r, "%s over %s: %s", node, name, strerror(-r));
	}
	l->fd = STEAL_FD(fd);
	l->number = number;
	return 1;
}

int loop_attach(struct loop *l, int file_fd, const char *name, uint64_t offset, uint64_t size)
{
	struct loop_config cfg = {.fd = (uint32_t)file_fd};
	struct loop_info64 info;
	int r = 0;
	_close_ int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (ctl < 0)
		return fail(-errno, "/dev/loop-control: %s", strerror(errno));
	cfg.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
	cfg.info.lo_offset = offset;
	cfg.info.lo_sizelimit = size;
	snprintf((char *)cfg.info.lo_file_name, LO_NAME_SIZE, "%s", name);
	for (int i = 0; !r && i < ATTACH_TRIES; i++)
		r = try_attach(l, ctl, &cfg, name);
	if (r < 0)
		return r;
	if (!r)
		return fail(-EBUSY, "no loop device for %s: others took them %d times", name,
			ATTACH_TRIES);
	l->direct = !ioctl(l->fd, LOOP_GET_STATUS64, &info) && info.lo_flags & LO_FLAGS_DIRECT_IO;
	return 0;
}

static bool backing_file(int number, char *buf, size_t cap)
{
	char path[64];
	ssize_t n;
	_close_ int fd = -1;

	snprintf(path, sizeof(path), "/sys/block/loop%d/loop/backing_file", number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, cap - 1);
	if (n < 0)
		return false;
	if (n > 0 && buf[n - 1] == '\n') /* one of a name's own stays */
		n--;
	buf[n] = '\0';
	return true;
}

int loop_detach(struct loop *l)
{
	const struct timespec nap = {.tv_nsec = 10 * 1000 * 1000};
	char was[4096] = "", now[4096];
	int number = l->number;
	bool held = number >= 0 && backing_file(number, was, sizeof(was));

	if (l->fd >= 0)
		close(l->fd);
	*l = LOOP_NONE;
	if (!held)
		return 0;
	for (int ms = 0; ms < DETACH_MS; ms += 10) {
		if (!backing_file(number, now, sizeof(now)) || strcmp(was, now))
			return 0;
		nanosleep(&nap, NULL);
	}
	return fail(-EBUSY,
		"/dev/loop%d over %s is still held by someone; it detaches when they "
		"let go",
		number, was);
}

/* By whatever name: a loop device over a hard link to a file is over that file. */
static bool is_over(const char *back, const char *path, const struct stat *st)
{
	struct stat other;

	if (!strcmp(back, path))
		return true;
	if (!st || stat(back, &other) < 0)
		return false;
	if (S_ISBLK(st->st_mode))
		return S_ISBLK(other.st_mode) && other.st_rdev == st->st_rdev;
	return other.st_dev == st->st_dev && other.st_ino == st->st_ino;
}

int loop_of_file(const char *path)
{
	char back[4096];
	struct stat st;
	bool there = !stat(path, &st);
	struct dirent *e;
	int n, found = -1;
	DIR *d = opendir("/sys/block");

	while (d && found < 0 && (e = readdir(d)))
		if (sscanf(e->d_name, "loop%d", &n) == 1 && backing_file(n, back, sizeof(back)) &&
			is_over(back, path, there ? &st : NULL))
			found = n;
	if (d)
		closedir(d);
	return found;
}

bool loop_is_over(int number, const char *path)
{
	static const char gone[] = " (deleted)";
	char back[4096];
	size_t n = strlen(path);

	if (!backing_file(number, back, sizeof(back)) || strncmp(back, path, n))
		return false;
	return !back[n] || !strcmp(back + n, gone);
}
