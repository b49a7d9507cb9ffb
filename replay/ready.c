/* SPDX-License-Identifier: MIT */
/*
 * From a backend that is up to one that a workload can start on, and what a recorder of all that is
 * told. The one idea: what was prepared is on the storage and out of memory before anything is
 * measured. Whether there is room for it is the caller's question.
 */
#include "iotape/replay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "iotape/backend.h"
#include "iotape/record.h"

bool replay_mark(int fd, const char *name)
{
	struct record_mark m = {{0}};

	snprintf(m.name, sizeof(m.name), "%s", name);
	/* nobody records: ENOTTY, and no harm */
	return fd >= 0 && !ioctl(fd, RECORD_IOC_MARK, &m);
}

int replay_ready(const struct plan *p, struct backend *b, const struct replay_ready *how,
	struct prepare_report *made, bool *cached)
{
	const volatile int *stop = how->replay->stop;
	int root = backend_root_fd(b), r = 0;

	*cached = false;
	if (root < 0)
		return 0;
	if (!how->no_prepare)
		r = prepare_tree(p, root, how->replay, made);
	if (r)
		return r;
	if (stop && *stop)
		return fail(-EINTR, "interrupted");
	/* else it would be written back while the workload is measured */
	if (syncfs(root) < 0)
		return fail(-errno, "sync of the prepared tree: %s", strerror(errno));
	*cached = how->cold && backend_cold(b);
	return 0;
}
