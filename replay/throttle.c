/* SPDX-License-Identifier: MIT */
/*
 * A device of known slowness: the blkio (cgroup v1) throttle of the root group, so that write-back
 * by kernel threads is caught as well. delay= becomes a limit of 1/delay I/Os a second each way.
 * Rules are keyed by device number and outlive the device: the next user of a loop number would
 * meet them. They are reset before a device is let go; after kill -9 a small process that waits for
 * just that resets them, and they are reset again whenever one of ours is attached. cgroup v2 has
 * no limit on its root group; there the request is refused rather than half kept.
 */
#include "tool_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#define GROUP "/sys/fs/cgroup/blkio/blkio.throttle."

static const char *const bps[] = {"read_bps_device", "write_bps_device"};
static const char *const iops[] = {"read_iops_device", "write_iops_device"};

int backend_throttle_need(void)
{
	if (!access(GROUP "read_bps_device", W_OK))
		return 0;
	return fail(-EOPNOTSUPP, "rate= and delay= need root and the blkio controller of cgroup v1 "
				 "at /sys/fs/cgroup/blkio; leave them out here");
}

static int rule(dev_t dev, const char *which, uint64_t value)
{
	char path[128], text[64];
	int n = snprintf(text, sizeof(text), "%u:%u %llu", major(dev), minor(dev),
		(unsigned long long)value);
	_close_ int fd = -1;

	snprintf(path, sizeof(path), GROUP "%s", which);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, n) != n)
		return fail(-errno, "cannot limit device %u:%u by %s: %s", major(dev), minor(dev),
			path, strerror(errno));
	return 0;
}

int backend_throttle_set(dev_t dev, uint64_t rate_bytes, int64_t delay_ns)
{
	int r = 0;

	for (size_t i = 0; !r && rate_bytes && i < ARRAY_SIZE(bps); i++)
		r = rule(dev, bps[i], rate_bytes);
	for (size_t i = 0; !r && delay_ns && i < ARRAY_SIZE(iops); i++)
		r = rule(dev, iops[i], MAX(1000000000 / delay_ns, 1));
	return r;
}

/* Does the group have a rule for the device? Saves four writes that each quiesce its queue. */
static bool has_rule(dev_t dev, const char *which)
{
	char path[128], line[128];
	unsigned ma, mi;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), GROUP "%s", which);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%u:%u", &ma, &mi) == 2 && ma == major(dev) &&
			mi == minor(dev);
	if (f)
		fclose(f);
	return found;
}

void backend_throttle_reset(dev_t dev)
{
	for (size_t i = 0; i < ARRAY_SIZE(bps); i++) {
		if (has_rule(dev, bps[i]))
			rule(dev, bps[i], 0);
		if (has_rule(dev, iops[i]))
			rule(dev, iops[i], 0);
	}
}

/* Waits for the end of its parent, then resets the rules. Holds nothing else of its parent: an open
 * loop device would never be let go. */
static void watch(int fd, const dev_t *devs, size_t n_devs)
{
	char c;
	ssize_t n;

	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			signal(sig, SIG_IGN);
	if (dup2(fd, 0) != 0 || close_range(1, ~0u, 0) < 0)
		_exit(1);
	do
		n = read(0, &c, 1);
	while (n < 0 && errno == EINTR);
	for (size_t i = 0; i < n_devs; i++)
		if (devs[i])
			backend_throttle_reset(devs[i]);
	_exit(0);
}

int backend_throttle_guard(struct throttle_guard *g, const dev_t *devs, size_t n_devs)
{
	int fds[2], r = 0;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail(-errno, "no pipe: %s", strerror(errno));
	g->pid = fork();
	if (!g->pid) {
		close(fds[1]);
		watch(fds[0], devs, n_devs);
	}
	if (g->pid < 0)
		r = fail(-errno, "cannot start a process: %s", strerror(errno));
	close(fds[0]);
	if (r < 0)
		close(fds[1]);
	else
		g->fd = fds[1];
	return r;
}

void backend_throttle_unguard(struct throttle_guard *g)
{
	if (g->fd < 0)
		return;
	kill(g->pid, SIGKILL); /* before it sees the pipe's end */
	close(STEAL_FD(g->fd));
	while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
