/* SPDX-License-Identifier: MIT */
/*
 * Paths of inodes from what a trace itself tells: every lookup, creation, rename and snapshot says
 * which name in which directory an inode has. Only the last known name of each is kept. Directories
 * that a made-up trace puts into a circle have a path that ends somewhere.
 */
#include "stats_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 512u

int stats_names_put(struct u64map *names, uint64_t id, uint64_t parent, struct bytes name)
{
	struct stats_name *old = u64map_ptr(names, id), *n;

	if (old && old->parent == parent && old->n == name.n && !memcmp(old->name, name.p, name.n))
		return 0;
	n = malloc(sizeof(*n) + name.n);
	if (!n || u64map_put_ptr(names, id, n)) {
		free(n);
		return fail(-ENOMEM, "out of memory");
	}
	free(old);
	n->parent = parent;
	n->n = name.n;
	if (name.n)
		memcpy(n->name, name.p, name.n);
	return 0;
}

int stats_names_learn(struct u64map *names, const struct event *ev)
{
	int r;

	if (ev->result < 0)
		return 0;
	if (ev->op == OP_RENAME && ev->iid && ev->name2.n) {
		r = stats_names_put(names, ev->iid, ev->parent2, ev->name2);
		if (!r && (ev->flags & 2) && ev->iid2) /* RENAME_EXCHANGE */
			r = stats_names_put(names, ev->iid2, ev->parent, ev->name);
		return r;
	}
	if (ev->op == OP_UNLINK || ev->op == OP_RMDIR || !ev->iid || !ev->parent || !ev->name.n)
		return 0;
	return stats_names_put(names, ev->iid, ev->parent, ev->name);
}

/* Puts s in front of *at; false when the room is used up. */
static bool prepend(char *buf, size_t *at, const char *s, size_t n)
{
	if (n > *at)
		return false;
	*at -= n;
	memcpy(buf + *at, s, n);
	return true;
}

size_t stats_names_path(const struct u64map *names, char *buf, uint64_t iid, struct bytes name)
{
	size_t at = STATS_PATH_MAX;
	unsigned depth = 0;
	char unknown[32];
	struct stats_name *n;

	if (name.n && (!prepend(buf, &at, name.p, name.n) || !prepend(buf, &at, "/", 1)))
		return at;
	while (iid != EVENT_ROOT_IID) {
		n = u64map_ptr(names, iid);
		if (!n || depth++ == DEPTH_MAX) {
			snprintf(unknown, sizeof(unknown), "<iid %" PRIu64 ">", iid);
			prepend(buf, &at, unknown, strlen(unknown));
			return at;
		}
		if (!prepend(buf, &at, n->name, n->n) || !prepend(buf, &at, "/", 1))
			return at;
		iid = n->parent;
	}
	if (at == STATS_PATH_MAX)
		prepend(buf, &at, "/", 1);
	return at;
}
