/* SPDX-License-Identifier: MIT */
/* What the two halves of the preparation share: what is to be made, and making it. */
#ifndef PREPARE_PRIV_H
#define PREPARE_PRIV_H

#include "iotape/map.h"
#include "plan_build_priv.h"
#include "replay_priv.h"
#include "tree_priv.h"

struct prepare_item {              /* one entry of the initial tree */
	struct tree_dir dir;       /* its place; children of a directory point to it */
	const struct event *entry; /* parent, name */
	const struct event *snap; /* attributes; of another entry of the inode if that knows more */
	bool made;
};
struct prepare {
	const struct event *events;
	size_t n_events;
	struct prepare_item *items; /* parents first */
	size_t n_items;
	struct u64map first; /* iid -> item that its first entry was made as (index + 1) */
	struct u64map data;  /* iid -> first snap_data (index + 1); next in chain[] */
	struct u64map xattr;
	uint32_t *chain; /* next event of the same iid and kind (index + 1) */
	uint64_t bytes;  /* to be written */
	const struct event *root;
	struct tree_dir root_dir;
	struct tree_dirs dirs;
	struct content content;
	void *buf;
	const struct replay_opts *o;
	struct prepare_report *rep;
};

/* prepare.c */
int prepare_stopped(const struct prepare *p); /* -EINTR when it is to end */

/* prepare_make.c */
#define PREPARE_BUF (1u << 20)
/* Makes the item; 0 also when it had to be skipped (counted). */
int prepare_make(struct prepare *p, struct prepare_item *it);
/* Attributes of a directory, once all is made below it. */
int prepare_finish_dir(struct prepare *p, const struct tree_dir *dir, const struct event *snap);

#endif
