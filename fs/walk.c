/* SPDX-License-Identifier: MIT */
/*
 * All of the source as snap events before the workload begins (--snapshot=full): a walk that
 * enters each entry as a lookup would, and lets go of it again. Does not leave the file system of
 * the source and does not follow links; what cannot be read is left out, as everywhere in a
 * snapshot.
 */
#include "inode_priv.h"
#include "record_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define DEPTH_MAX 2048 /* each level holds a descriptor */

static void walk(struct fs *fs, uint64_t parent, int fd, int depth);

static void enter(struct fs *fs, uint64_t parent, int dir, const char *name, int depth)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct inode *in;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st)) {
		close(fd);
		return;
	}
	in = inode_enter(fs, parent, name, fd, &st, false); /* takes fd */
	if (!in)
		return;
	snap_xattrs(fs, in);
	if (S_ISDIR(st.st_mode) && st.st_dev == fs->dev && depth < DEPTH_MAX)
		walk(fs, in->iid,
			openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			depth + 1);
	inode_put(fs, in, 1);
}

static void walk(struct fs *fs, uint64_t parent, int fd, int depth)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			enter(fs, parent, dirfd(d), e->d_name, depth);
	closedir(d);
}

int record_snapshot(struct fs *fs)
{
	int fd = openat(fs->source_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail(
			-errno, "the source cannot be read for its snapshot: %s", strerror(errno));
	snap_xattrs(fs, fs->root_inode);
	walk(fs, EVENT_ROOT_IID, fd, 0);
	return 0;
}
