/* SPDX-License-Identifier: MIT */
/*
 * The inode table: which inode generation (iid) a (device, inode number) is. An inode that the
 * kernel has looked up holds an O_PATH descriptor, so its number cannot be recycled meanwhile.
 * After FORGET the descriptor is closed but the identity stays, and so do the directory entries
 * that are known to stand for it: that is how a second name that existed before is told from one
 * that the workload made. When the last name goes, the identity leaves the table at once: whoever
 * gets the number next is a new generation. Stripes of the table are locked briefly, and longer
 * only to put a snap before anybody else can refer to the inode.
 */
#include "fs_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define STRIPES 64u

struct stripe {
	_Alignas(64) pthread_mutex_t lock;
	struct inode **bucket;
	size_t n, cap;      /* cap is a power of two */
	struct inode *gone; /* without a name, but still in use */
};

struct inode_table {
	struct stripe stripe[STRIPES];
};

static uint64_t mix(dev_t dev, ino_t ino)
{
	uint64_t h = (uint64_t)ino ^ ((uint64_t)dev << 48) ^ ((uint64_t)dev >> 16);

	h ^= h >> 33;
	h *= UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ (h >> 33);
}

static uint64_t name_hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return h;
}

static struct stripe *stripe_of(struct fs *fs, dev_t dev, ino_t ino)
{
	return &fs->table->stripe[mix(dev, ino) % STRIPES];
}

static struct inode **bucket_of(struct stripe *s, dev_t dev, ino_t ino)
{
	return &s->bucket[(mix(dev, ino) / STRIPES) & (s->cap - 1)];
}

static struct inode *find(struct stripe *s, dev_t dev, ino_t ino)
{
	struct inode *in = *bucket_of(s, dev, ino);

	while (in && (in->ino != ino || in->dev != dev))
		in = in->next;
	return in;
}

static void chain(struct inode **at, struct inode *in)
{
	in->next = *at;
	in->at = at;
	if (in->next)
		in->next->at = &in->next;
	*at = in;
}

static void unchain(struct inode *in)
{
	*in->at = in->next;
	if (in->next)
		in->next->at = in->at;
}

static void grow(struct stripe *s)
{
	struct inode **old = s->bucket, *in, *next;
	size_t i, old_cap = s->cap;
	struct inode **b = calloc(old_cap * 2, sizeof(*b));

	if (!b)
		return; /* longer chains, no harm */
	s->bucket = b;
	s->cap = old_cap * 2;
	for (i = 0; i < old_cap; i++)
		for (in = old[i]; in; in = next) {
			next = in->next;
			chain(bucket_of(s, in->dev, in->ino), in);
		}
	free(old);
}

static struct inode *add(struct fs *fs, struct stripe *s, dev_t dev, ino_t ino, mode_t type)
{
	struct inode *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	if (s->n >= s->cap)
		grow(s);
	in->dev = dev;
	in->ino = ino;
	in->type = type & S_IFMT;
	in->iid = atomic_fetch_add(&fs->next_iid, 1);
	in->fd = -1;
	in->unsampled = UINT64_MAX / 2; /* the first write gives a sample */
	in->hashed = true;
	pthread_mutex_init(&in->lock, NULL);
	chain(bucket_of(s, dev, ino), in);
	s->n++;
	return in;
}

static void unhash(struct stripe *s, struct inode *in)
{
	unchain(in);
	s->n--;
	in->hashed = false;
	chain(&s->gone, in);
}

static void destroy(struct inode *in)
{
	struct inode_entry *e, *next;

	for (e = in->entry.next; e; e = next) {
		next = e->next;
		free(e);
	}
	lock_drop_all(in);
	touch_free(in->touch);
	handle_drop_all(in);
	if (in->fd >= 0)
		close(in->fd);
	pthread_mutex_destroy(&in->lock);
	free(in);
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

/* ---- what the operations call ---- */

int inode_table_new(struct fs *fs)
{
	struct inode_table *t = aligned_alloc(64, sizeof(*t));

	if (!t)
		return fail(-ENOMEM, "no memory for the inode table");
	memset(t, 0, sizeof(*t));
	for (unsigned i = 0; i < STRIPES; i++) {
		pthread_mutex_init(&t->stripe[i].lock, NULL);
		t->stripe[i].cap = 64;
		t->stripe[i].bucket = calloc(64, sizeof(*t->stripe[i].bucket));
		if (!t->stripe[i].bucket) {
			while (i--)
				free(t->stripe[i].bucket);
			free(t);
			return fail(-ENOMEM, "no memory for the inode table");
		}
	}
	fs->table = t;
	return 0;
}

void inode_table_free(struct fs *fs)
{
	struct inode *in, *next;

	if (!fs->table)
		return;
	for (unsigned i = 0; i < STRIPES; i++) {
		struct stripe *s = &fs->table->stripe[i];

		for (size_t b = 0; b < s->cap; b++)
			for (in = s->bucket[b]; in; in = next) {
				next = in->next;
				destroy(in);
			}
		for (in = s->gone; in; in = next) {
			next = in->next;
			destroy(in);
		}
		free(s->bucket);
		pthread_mutex_destroy(&s->lock);
	}
	free(fs->table);
	fs->table = NULL;
}

struct inode *inode_of(struct fs *fs, fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? fs->root_inode : (struct inode *)(uintptr_t)ino;
}

fuse_ino_t inode_number(struct fs *fs, const struct inode *in)
{
	return in == fs->root_inode ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)in;
}

void inode_path(const struct inode *in, struct inode_path *out)
{
	snprintf(out->s, sizeof(out->s), "/proc/self/fd/%d", inode_fd(in));
}

struct inode *inode_enter(
	struct fs *fs, uint64_t parent, const char *name, int fd, const struct stat *st, bool made)
{
	struct stripe *s = stripe_of(fs, st->st_dev, st->st_ino);
	struct inode *in;
	bool fresh = false;

	pthread_mutex_lock(&s->lock);
	in = find(s, st->st_dev, st->st_ino);
	if (!in) {
		in = add(fs, s, st->st_dev, st->st_ino, st->st_mode);
		fresh = true;
	}
	if (in) {
		atomic_fetch_add(&in->refs, 1);
		if (in->fd < 0)
			in->fd = STEAL_FD(fd);
		if (parent)
			know(fs, in, parent, name, in->fd, -1, st, fresh, made);
	}
	pthread_mutex_unlock(&s->lock);
	if (fd >= 0)
		close(fd);
	return in;
}

uint64_t inode_name(
	struct fs *fs, uint64_t parent, int pfd, const char *name, const struct stat *st, bool made)
{
	struct stripe *s = stripe_of(fs, st->st_dev, st->st_ino);
	struct inode *in;
	uint64_t iid = 0;
	bool fresh = false;

	pthread_mutex_lock(&s->lock);
	in = find(s, st->st_dev, st->st_ino);
	if (!in) {
		in = add(fs, s, st->st_dev, st->st_ino, st->st_mode);
		fresh = true;
	}
	if (in) {
		know(fs, in, parent, name, in->fd, pfd, st, fresh, made);
		iid = in->iid;
	}
	pthread_mutex_unlock(&s->lock);
	return iid;
}

uint64_t inode_listed(
	struct fs *fs, uint64_t parent, const char *name, dev_t dev, ino_t ino, mode_t type)
{
	struct stripe *s = stripe_of(fs, dev, ino);
	uint64_t hash = name_hash(name), iid = 0;
	struct inode *in;

	pthread_mutex_lock(&s->lock);
	in = find(s, dev, ino);
	if (!in) {
		in = add(fs, s, dev, ino, type);
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
	pthread_mutex_unlock(&s->lock);
	return iid;
}

void inode_ref(struct inode *in)
{
	atomic_fetch_add(&in->refs, 1);
}

void inode_put(struct fs *fs, struct inode *in, uint64_t n)
{
	struct stripe *s = stripe_of(fs, in->dev, in->ino);
	struct touch *touch = NULL;
	bool gone = false;
	int fd = -1;

	if (in == fs->root_inode)
		return;
	pthread_mutex_lock(&s->lock);
	if (atomic_fetch_sub(&in->refs, n) == n) {
		fd = STEAL_FD(in->fd);
		touch = STEAL(in->touch);
		gone = !in->hashed;
		if (gone)
			unchain(in);
	}
	pthread_mutex_unlock(&s->lock);
	if (fd >= 0)
		close(fd);
	touch_free(touch);
	if (gone)
		destroy(in);
}

void inode_unlinked(struct fs *fs, uint64_t parent, const char *name, const struct stat *st)
{
	struct stripe *s = stripe_of(fs, st->st_dev, st->st_ino);
	struct inode *in;
	bool gone = false;

	pthread_mutex_lock(&s->lock);
	in = find(s, st->st_dev, st->st_ino);
	if (in) {
		entry_del(in, parent, name_hash(name));
		if (S_ISDIR(st->st_mode) || st->st_nlink < 2) {
			unhash(s, in);
			gone = !atomic_load(&in->refs);
			if (gone)
				unchain(in);
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (gone)
		destroy(in);
}

void inode_moved(struct fs *fs, const struct stat *st, uint64_t parent, const char *name,
	uint64_t parent2, const char *name2)
{
	struct stripe *s = stripe_of(fs, st->st_dev, st->st_ino);
	struct inode *in;

	pthread_mutex_lock(&s->lock);
	in = find(s, st->st_dev, st->st_ino);
	if (in) {
		entry_del(in, parent, name_hash(name));
		entry_add(in, parent2, name_hash(name2));
	}
	pthread_mutex_unlock(&s->lock);
}

void inode_linked(struct fs *fs, struct inode *in, uint64_t parent, const char *name)
{
	struct stripe *s = stripe_of(fs, in->dev, in->ino);

	pthread_mutex_lock(&s->lock);
	entry_add(in, parent, name_hash(name));
	if (!in->hashed) { /* an O_TMPFILE file gets its first name */
		unchain(in);
		chain(bucket_of(s, in->dev, in->ino), in);
		in->hashed = true;
		s->n++;
	}
	pthread_mutex_unlock(&s->lock);
}
