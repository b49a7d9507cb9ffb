/* SPDX-License-Identifier: MIT */
/*
 * Names: which directory entries are known to stand for an inode, and what the trace has to be told
 * when one is met. An entry that the workload did not make was there before: it is snapped, once,
 * under the lock of the inode's stripe, so that nobody refers to it before the trace knows it. What
 * the inode table itself is, is inode.c's.
 */
#include "inode_priv.h"

#include <string.h>

static uint64_t name_hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h;
}

/* ---- known entries; under the stripe lock ---- */

static bool entry_known(const struct inode *in, uint64_t parent, uint64_t hash)
{
	const struct inode_entry *e;

	for (e = &in->entry; e; e = e->next)
		if (e->parent == parent && e->hash == hash)
			return true;
	return false;
}

static void entry_add(struct inode *in, uint64_t parent, uint64_t hash)
{
	struct inode_entry *e;

	if (entry_known(in, parent, hash))
		return;
	if (!in->entry.parent) {
		in->entry.parent = parent;
		in->entry.hash = hash;
		return;
	}
	e = malloc(sizeof(*e));
	if (!e)
		return;
	*e = (struct inode_entry){parent, hash, in->entry.next};
	in->entry.next = e;
}

static void entry_del(struct inode *in, uint64_t parent, uint64_t hash)
{
	struct inode_entry **at, *e;

	if (in->entry.parent == parent && in->entry.hash == hash) {
		e = in->entry.next;
		if (e) {
			in->entry = *e;
			free(e);
		} else {
			in->entry.parent = 0;
		}
		return;
	}
	for (at = &in->entry.next; (e = *at); at = &e->next)
		if (e->parent == parent && e->hash == hash) {
			*at = e->next;
			free(e);
			return;
		}
}

/* A name was found to stand for in: tells the trace what it does not know yet. */
static void know(struct fs *fs, struct inode *in, uint64_t parent, const char *name, int fd,
	int pfd, const struct stat *st, bool fresh, bool made)
{
	uint64_t hash = name_hash(name);

	if (made) {
		in->made = true;
		entry_add(in, parent, hash);
		return;
	}
	if (!fresh && !in->listed) {
		if (S_ISDIR(st->st_mode) || entry_known(in, parent, hash))
			return;
		if (st->st_nlink < 2 && in->entry.parent && !in->entry.next) {
			in->entry.parent = parent; /* renamed behind the mount */
			in->entry.hash = hash;
			return;
		}
	}
	in->listed = false;
	in->type = st->st_mode & S_IFMT;
	entry_add(in, parent, hash);
	snap_inode(fs, parent, name, in->iid, fd, pfd, st);
}

struct inode *inode_enter(
	struct fs *fs, uint64_t parent, const char *name, int fd, const struct stat *st, bool made)
{
	struct inode_stripe *s = inode_lock(fs, st->st_dev, st->st_ino);
	struct inode *in;
	bool fresh = false;

	in = inode_find(s, st->st_dev, st->st_ino);
	if (!in) {
		in = inode_add(fs, s, st->st_dev, st->st_ino, st->st_mode);
		fresh = true;
	}
	if (in) {
		atomic_fetch_add(&in->refs, 1);
		if (in->fd < 0)
			in->fd = STEAL_FD(fd);
		if (parent)
			know(fs, in, parent, name, in->fd, -1, st, fresh, made);
	}
	inode_unlock(s);
	if (fd >= 0)
		close(fd);
	return in;
}

uint64_t inode_name(
	struct fs *fs, uint64_t parent, int pfd, const char *name, const struct stat *st, bool made)
{
	struct inode_stripe *s = inode_lock(fs, st->st_dev, st->st_ino);
	struct inode *in;
	uint64_t iid = 0;
	bool fresh = false;

	in = inode_find(s, st->st_dev, st->st_ino);
	if (!in) {
		in = inode_add(fs, s, st->st_dev, st->st_ino, st->st_mode);
		fresh = true;
	}
	if (in) {
		know(fs, in, parent, name, in->fd, pfd, st, fresh, made);
		iid = in->iid;
	}
	inode_unlock(s);
	return iid;
}

uint64_t inode_listed(
	struct fs *fs, uint64_t parent, const char *name, dev_t dev, ino_t ino, mode_t type)
{
	struct inode_stripe *s = inode_lock(fs, dev, ino);
	uint64_t hash = name_hash(name), iid = 0;
	struct inode *in;

	in = inode_find(s, dev, ino);
	if (!in) {
		in = inode_add(fs, s, dev, ino, type);
		if (in)
			in->listed = true;
	} else if (entry_known(in, parent, hash) || S_ISDIR(in->type)) {
		iid = in->iid;
		in = NULL;
	}
	if (in) {
		entry_add(in, parent, hash);
		iid = in->iid;
		snap_listed(fs, parent, name, iid, type);
	}
	inode_unlock(s);
	return iid;
}

void inode_unlinked(struct fs *fs, uint64_t parent, const char *name, const struct stat *st)
{
	struct inode_stripe *s = inode_lock(fs, st->st_dev, st->st_ino);
	struct inode *in;
	bool gone = false;

	in = inode_find(s, st->st_dev, st->st_ino);
	if (in) {
		entry_del(in, parent, name_hash(name));
		if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
			gone = inode_unhash(s, in);
	}
	inode_unlock(s);
	if (gone)
		inode_destroy(in);
}

void inode_moved(struct fs *fs, const struct stat *st, uint64_t parent, const char *name,
	uint64_t parent2, const char *name2)
{
	struct inode_stripe *s = inode_lock(fs, st->st_dev, st->st_ino);
	struct inode *in;

	in = inode_find(s, st->st_dev, st->st_ino);
	if (in) {
		entry_del(in, parent, name_hash(name));
		entry_add(in, parent2, name_hash(name2));
	}
	inode_unlock(s);
}

void inode_linked(struct fs *fs, struct inode *in, uint64_t parent, const char *name)
{
	struct inode_stripe *s = inode_lock(fs, in->dev, in->ino);

	entry_add(in, parent, name_hash(name));
	if (!in->hashed) /* an O_TMPFILE file gets its first name */
		inode_rehash(s, in);
	inode_unlock(s);
}
