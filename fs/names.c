/* SPDX-License-Identifier: MIT */
/*
 * Names: which directory entries are known to stand for an inode, and what the trace has to be told
 * when one is met. An entry that the workload did not make was there before: it is snapped, once,
 * under the lock of the inode's stripe, so that nobody refers to it before the trace knows it.
 *
 * Whether the workload made it is known only when no change of names in that directory is under
 * way: between the system call and the table's learning of it, what is found looks as if it had
 * been there. So changes hold the directory's lock and count; a lookup takes no lock, but before it
 * tells of an entry it sees whether the count is what it was, and if not looks again, with the
 * lock. What the inode table itself is, is inode.c's.
 */
#include "inode_priv.h"

#include <errno.h>
#include <fcntl.h>
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

/* True when the trace must be told that the entry was there. */
static bool news(struct inode *in, uint64_t parent, uint64_t hash, const struct stat *st)
{
	if (!in || in->listed)
		return true;
	if (S_ISDIR(st->st_mode) || entry_known(in, parent, hash))
		return false;
	if (st->st_nlink < 2 && in->entry.parent && !in->entry.next) {
		in->entry.parent = parent; /* renamed behind the mount */
		in->entry.hash = hash;
		return false;
	}
	return true;
}

/* A name as it was met by one who does not keep others from changing it. */
struct glance {
	const struct inode *dir;
	uint32_t changes;
	bool stale; /* out: not told of, as names in dir changed meanwhile: look again */
};

static struct glance glance_begin(const struct inode *dir)
{
	return (struct glance){dir, atomic_load(&dir->changes), false};
}

static bool glance_stale(struct glance *g)
{
	g->stale = g->changes & 1 || atomic_load(&g->dir->changes) != g->changes;
	return g->stale;
}

/* The inode of a name that was met, under its stripe's lock; at: where it is, for the snap. NULL:
 * no memory, or stale. */
static struct inode *meet(struct fs *fs, struct inode_stripe *s, uint64_t parent, const char *name,
	int fd, int pfd, const struct stat *st, bool made, struct glance *g)
{
	struct inode *in = inode_find(s, st->st_dev, st->st_ino);
	uint64_t hash = name_hash(name);
	bool tell = parent && !made && news(in, parent, hash, st);

	if (tell && g && glance_stale(g))
		return NULL;
	if (!in)
		in = inode_add(fs, s, st->st_dev, st->st_ino, st->st_mode);
	if (!in)
		return NULL;
	if (made)
		in->made = true;
	if (parent && (made || tell))
		entry_add(in, parent, hash);
	if (tell) {
		in->listed = false;
		in->type = st->st_mode & S_IFMT;
		snap_inode(fs, parent, name, in->iid, fd, pfd, st);
	}
	return in;
}

static struct inode *enter(struct fs *fs, uint64_t parent, const char *name, int fd,
	const struct stat *st, bool made, struct glance *g)
{
	struct inode_stripe *s = inode_lock(fs, st->st_dev, st->st_ino);
	struct inode *in = meet(fs, s, parent, name, fd, -1, st, made, g);

	if (in) {
		atomic_fetch_add(&in->refs, 1);
		if (in->fd < 0)
			in->fd = STEAL_FD(fd);
	}
	inode_unlock(s);
	if (fd >= 0)
		close(fd);
	return in;
}

struct inode *inode_enter(
	struct fs *fs, uint64_t parent, const char *name, int fd, const struct stat *st, bool made)
{
	return enter(fs, parent, name, fd, st, made, NULL);
}

uint64_t inode_name(
	struct fs *fs, uint64_t parent, int pfd, const char *name, const struct stat *st, bool made)
{
	struct inode_stripe *s = inode_lock(fs, st->st_dev, st->st_ino);
	struct inode *in = meet(fs, s, parent, name, -1, pfd, st, made, NULL);
	uint64_t iid = in ? in->iid : 0;

	inode_unlock(s);
	return iid;
}

/* O_PATH descriptor of the entry, or -errno. */
static int look(const struct inode *dir, const char *name, struct stat *st)
{
	int fd = openat(inode_fd(dir), name, O_PATH | O_NOFOLLOW | O_CLOEXEC), err;

	if (fd < 0 || !fstat(fd, st))
		return fd < 0 ? -errno : fd;
	err = errno;
	close(fd);
	return -err;
}

int inode_look(struct fs *fs, struct inode *dir, const char *name, struct probe *p, struct stat *st,
	struct inode **out)
{
	struct glance g = glance_begin(dir);
	int fd = look(dir, name, st);

	if (p)
		probe_done(p, MIN(fd, 0));
	if (fd < 0)
		return fd;
	*out = enter(fs, dir->iid, name, fd, st, false, &g);
	if (!g.stale)
		return *out ? 0 : -ENOMEM;
	pthread_mutex_lock(&dir->lock);
	fd = look(dir, name, st);
	if (p)
		probe_done(p, MIN(fd, 0));
	if (fd >= 0)
		*out = enter(fs, dir->iid, name, fd, st, false, NULL);
	pthread_mutex_unlock(&dir->lock);
	return fd < 0 ? fd : *out ? 0 : -ENOMEM;
}

void inode_change_begin(struct inode *dir, struct inode *dir2)
{
	struct inode *first = dir2 && dir2->iid < dir->iid ? dir2 : dir;
	struct inode *second = first == dir ? dir2 : dir;

	pthread_mutex_lock(&first->lock);
	atomic_fetch_add(&first->changes, 1);
	if (!second || second == first)
		return;
	pthread_mutex_lock(&second->lock);
	atomic_fetch_add(&second->changes, 1);
}

void inode_change_end(struct inode *dir, struct inode *dir2)
{
	atomic_fetch_add(&dir->changes, 1);
	pthread_mutex_unlock(&dir->lock);
	if (!dir2 || dir2 == dir)
		return;
	atomic_fetch_add(&dir2->changes, 1);
	pthread_mutex_unlock(&dir2->lock);
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
	struct stat now;
	bool gone = false;

	in = inode_find(s, st->st_dev, st->st_ino);
	if (in) {
		entry_del(in, parent, name_hash(name));
		/* as it is now: names in other directories come and go meanwhile */
		if (in->fd < 0 || fstat(in->fd, &now) < 0)
			now.st_nlink = st->st_nlink - 1;
		if (S_ISDIR(st->st_mode) || !now.st_nlink)
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
