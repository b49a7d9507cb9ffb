/* SPDX-License-Identifier: MIT */
/* Directories of a tree below one descriptor: shared by what prepares a tree and what checks it. */
#ifndef TREE_PRIV_H
#define TREE_PRIV_H

#include "iotape/util.h"

/* tree_dirs.c */
#define TREE_DEPTH_MAX 4096u
#define TREE_FDS       64u
struct tree_dir {                      /* owned by the caller, at a fixed address */
	const struct tree_dir *parent; /* NULL: the root */
	struct bytes name;
	uint32_t depth;
};
struct tree_dirs {
	int root_fd; /* borrowed */
	struct tree_fd {
		const struct tree_dir *dir;
		int fd;
	} slot[TREE_FDS];
};
void tree_dirs_init(struct tree_dirs *t, int root_fd);
void tree_dirs_fini(struct tree_dirs *t);
/* A descriptor of the directory, open for reading, valid until the next call; or -errno without
 * fail text. Every component is opened by itself and is no symlink. */
int tree_dirs_fd(struct tree_dirs *t, const struct tree_dir *d);
/* The name with a NUL; NULL when no file system takes it (empty, ".", "..", '/', too long). */
#define TREE_NAME_CAP 256u
const char *tree_name(char buf[TREE_NAME_CAP], struct bytes name);
/* Key of a directory entry in a u64map; different entries may share it. */
uint64_t tree_entry_hash(uint64_t parent, struct bytes name);

#endif
