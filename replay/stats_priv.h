/* SPDX-License-Identifier: MIT */
/* Names of inodes, for tables by path. */
#ifndef STATS_PRIV_H
#define STATS_PRIV_H

#include "iotape/map.h"
#include "iotape/stats.h"

/* stats_names.c */
#define STATS_PATH_MAX 4096u /* longer paths lose their front */
struct stats_name {          /* last known name of an inode */
	uint64_t parent;
	uint32_t n;
	char name[];
};
/* names: id -> struct stats_name, of heap memory; 0 or -ENOMEM. */
int stats_names_put(struct u64map *names, uint64_t id, uint64_t parent, struct bytes name);
/* What the event tells about the name of its inode. */
int stats_names_learn(struct u64map *names, const struct event *ev);
/* The path of iid, then "/name" if name is not empty, in buf[.. STATS_PATH_MAX) from the returned
 * offset on. */
size_t stats_names_path(const struct u64map *names, char *buf, uint64_t iid, struct bytes name);

#endif
