/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of directories below a root, without one open for each: a few stay open, the others
 * are opened again from the nearest open ancestor, one component at a time and never through a
 * symlink. So a tree of any size needs TREE_FDS descriptors and nothing outside it can be reached.
 */
#include "tree_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "iotape/event.h"

void tree_dirs_init(struct tree_dirs *t, int root_fd)
{
	memset(t, 0, sizeof(*t));
	t->root_fd = root_fd;
	for (size_t i = 0; i < TREE_FDS; i++)
		t->slot[i].fd = -1;
}

void tree_dirs_fini(struct tree_dirs *t)
{
	for (size_t i = 0; i < TREE_FDS; i++)
		if (t->slot[i].fd >= 0)
			close(t->slot[i].fd);
	tree_dirs_init(t, t->root_fd);
}

const char *tree_name(char buf[TREE_NAME_CAP], struct bytes name)
{
	if (!name.n || name.n >= TREE_NAME_CAP || memchr(name.p, '/', name.n) ||
		memchr(name.p, '\0', name.n))
		return NULL;
	memcpy(buf, name.p, name.n);
	buf[name.n] = '\0';
	return strcmp(buf, ".") && strcmp(buf, "..") ? buf : NULL;
}

uint64_t tree_entry_hash(uint64_t parent, struct bytes name)
{
	return bytes_hash(name, parent);
}

static struct tree_fd *slot_of(struct tree_dirs *t, const struct tree_dir *d)
{
	return &t->slot[d->depth % TREE_FDS];
}

int tree_dirs_fd(struct tree_dirs *t, const struct tree_dir *d)
{
	const struct tree_dir *up = d;
	int fd;

	if (!d->parent)
		return t->root_fd;
	if (d->depth > TREE_DEPTH_MAX)
		return -ENAMETOOLONG;
	while (up->parent && slot_of(t, up)->dir != up)
		up = up->parent;
	fd = up->parent ? slot_of(t, up)->fd : t->root_fd;
	/* down again: the ancestor of d that is one below up */
	while (up != d) {
		const struct tree_dir *next = d;
		char name[TREE_NAME_CAP];
		struct tree_fd *slot;

		while (next->parent != up)
			next = next->parent;
		if (!tree_name(name, next->name))
			return -EINVAL;
		fd = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		slot = slot_of(t, next);
		if (slot->fd >= 0)
			close(slot->fd);
		*slot = (struct tree_fd){next, fd};
		up = next;
	}
	return fd;
}
