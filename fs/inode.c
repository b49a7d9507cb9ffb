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
#include "lock_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define STRIPES 64u

struct inode_stripe {
	_Alignas(64) pthread_mutex_t lock;
	struct inode **bucket;
	size_t n, cap;      /* cap is a power of two */
	struct inode *gone; /* without a name, but still in use */
};

struct inode_table {
	struct inode_stripe stripe[STRIPES];
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

struct inode_stripe *inode_lock(struct fs *fs, dev_t dev, ino_t ino)
{
	struct inode_stripe *s = &fs->table->stripe[mix(dev, ino) % STRIPES];

	pthread_mutex_lock(&s->lock);
	return s;
}

void inode_unlock(struct inode_stripe *s)
{
	pthread_mutex_unlock(&s->lock);
}

static struct inode **bucket_of(struct inode_stripe *s, dev_t dev, ino_t ino)
{
	return &s->bucket[(mix(dev, ino) / STRIPES) & (s->cap - 1)];
}

struct inode *inode_find(struct inode_stripe *s, dev_t dev, ino_t ino)
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

static void grow(struct inode_stripe *s)
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

struct inode *inode_add(struct fs *fs, struct inode_stripe *s, dev_t dev, ino_t ino, mode_t type)
{
	struct inode *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	if (s->n >= s->cap)
		grow(s);
	in->dev = dev;
	in->ino = ino;
	in->shown = inode_shown(fs, dev, ino);
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

bool inode_unhash(struct inode_stripe *s, struct inode *in)
{
	unchain(in);
	s->n--;
	in->hashed = false;
	if (!atomic_load(&in->refs))
		return true;
	chain(&s->gone, in);
	return false;
}

void inode_rehash(struct inode_stripe *s, struct inode *in)
{
	unchain(in);
	chain(bucket_of(s, in->dev, in->ino), in);
	in->hashed = true;
	s->n++;
}

void inode_destroy(struct inode *in)
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

/* ---- life ---- */

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
		struct inode_stripe *s = &fs->table->stripe[i];

		for (size_t b = 0; b < s->cap; b++)
			for (in = s->bucket[b]; in; in = next) {
				next = in->next;
				inode_destroy(in);
			}
		for (in = s->gone; in; in = next) {
			next = in->next;
			inode_destroy(in);
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

ino_t inode_shown(struct fs *fs, dev_t dev, ino_t ino)
{
	const uint64_t other = UINT64_C(1) << 62;
	size_t i = 0;

	if (dev == fs->dev)
		return ino;
	for (; i < ARRAY_SIZE(fs->others); i++) {
		uint64_t d = 0;

		if (atomic_compare_exchange_strong(&fs->others[i], &d, dev) || d == dev)
			break;
	}
	if (i < ARRAY_SIZE(fs->others) && ino < UINT64_C(1) << 48)
		return other | (ino_t)(i + 1) << 48 | ino;
	return other | other >> 1 | mix(dev, ino) >> 3; /* as good as distinct */
}

void inode_path(const struct inode *in, struct inode_path *out)
{
	snprintf(out->s, sizeof(out->s), "/proc/self/fd/%d", inode_fd(in));
}

void inode_ref(struct inode *in)
{
	atomic_fetch_add(&in->refs, 1);
}

void inode_put(struct fs *fs, struct inode *in, uint64_t n)
{
	struct inode_stripe *s;
	struct touch *touch = NULL;
	bool gone = false;
	int fd = -1;

	if (in == fs->root_inode)
		return;
	s = inode_lock(fs, in->dev, in->ino);
	if (atomic_fetch_sub(&in->refs, n) == n) {
		fd = STEAL_FD(in->fd);
		touch = STEAL(in->touch);
		gone = !in->hashed;
		if (gone)
			unchain(in);
	}
	inode_unlock(s);
	if (fd >= 0)
		close(fd);
	touch_free(touch);
	if (gone)
		inode_destroy(in);
}
