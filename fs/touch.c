/* SPDX-License-Identifier: MIT */
/*
 * Which blocks of a file are allocated, so that a write can be told to be a first touch or an
 * overwrite. A dense beginning is one number; what is allocated beyond it is a sorted list of
 * bitmaps, one for each 32 MiB that holds anything. Blocks are taken as 4 KiB: a write allocates
 * every block that it touches, a punched hole frees the whole blocks in it. What a file held when
 * it is first written is asked from the file system (SEEK_DATA: unwritten extents are holes). If
 * memory runs out a block counts as not allocated; nothing fails.
 */
#include "inode_priv.h"

#include <errno.h>
#include <string.h>

#define CHUNK_BLOCKS UINT64_C(8192)

struct chunk {
	uint64_t index; /* first block / CHUNK_BLOCKS */
	uint64_t *bits;
};

struct touch {
	uint64_t dense; /* blocks from the start that are allocated, none missing */
	struct chunk *chunk;
	size_t n, cap;
};

struct touch *touch_new(void)
{
	return calloc(1, sizeof(struct touch));
}

static void drop_chunks(struct touch *t, size_t from)
{
	for (size_t i = from; i < t->n; i++)
		free(t->chunk[i].bits);
	t->n = MIN(t->n, from);
}

void touch_free(struct touch *t)
{
	if (!t)
		return;
	drop_chunks(t, 0);
	free(t->chunk);
	free(t);
}

/* Position of the first chunk with at least this index. */
static size_t lower(const struct touch *t, uint64_t index)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->chunk[mid].index < index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint64_t *chunk_bits(struct touch *t, uint64_t index, bool make)
{
	size_t at = lower(t, index);
	uint64_t *bits;

	if (at < t->n && t->chunk[at].index == index)
		return t->chunk[at].bits;
	if (!make)
		return NULL;
	if (t->n == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 4;
		struct chunk *c = realloc(t->chunk, cap * sizeof(*c));

		if (!c)
			return NULL;
		t->chunk = c;
		t->cap = cap;
	}
	bits = calloc(CHUNK_BLOCKS / 64, sizeof(*bits));
	if (!bits)
		return NULL;
	memmove(&t->chunk[at + 1], &t->chunk[at], (t->n - at) * sizeof(*t->chunk));
	t->chunk[at] = (struct chunk){index, bits};
	t->n++;
	return bits;
}

/* Sets or clears blocks [from, to) of one chunk's bitmap; true if any was not so before. */
static bool paint(uint64_t *bits, uint64_t from, uint64_t to, bool set)
{
	bool changed = false;

	while (from < to) {
		uint64_t n = MIN(to - from, 64 - from % 64);
		uint64_t mask = (n == 64 ? ~UINT64_C(0) : ((UINT64_C(1) << n) - 1)) << from % 64;
		uint64_t *w = &bits[from / 64];

		if ((set ? ~*w : *w) & mask)
			changed = true;
		*w = set ? *w | mask : *w & ~mask;
		from += n;
	}
	return changed;
}

static bool add_blocks(struct touch *t, uint64_t from, uint64_t to)
{
	bool first = false;

	while (from < to) {
		uint64_t index = from / CHUNK_BLOCKS, base = index * CHUNK_BLOCKS;
		uint64_t end = MIN(to, base + CHUNK_BLOCKS);
		uint64_t *bits = chunk_bits(t, index, true);

		first |= bits ? paint(bits, from - base, end - base, true) : true;
		from = end;
	}
	return first;
}

static bool block_set(const struct touch *t, uint64_t block)
{
	size_t at = lower(t, block / CHUNK_BLOCKS);
	uint64_t b = block % CHUNK_BLOCKS;

	return at < t->n && t->chunk[at].index == block / CHUNK_BLOCKS &&
	       (t->chunk[at].bits[b / 64] >> b % 64 & 1);
}

bool touch_add(struct touch *t, uint64_t from, uint64_t to)
{
	uint64_t first_block = from / TOUCH_BLOCK, end;
	bool first = false;

	if (from >= to)
		return false;
	end = (to - 1) / TOUCH_BLOCK + 1;
	if (end <= t->dense)
		return false;
	if (first_block > t->dense)
		return add_blocks(t, first_block, end);
	if (!t->n) {
		t->dense = end;
		return true;
	}
	for (uint64_t b = t->dense; b < end && !first; b++)
		first = !block_set(t, b);
	t->dense = end;
	while (block_set(t, t->dense))
		t->dense++;
	if (t->n && (t->chunk[t->n - 1].index + 1) * CHUNK_BLOCKS <= t->dense)
		drop_chunks(t, 0);
	return first;
}

void touch_del(struct touch *t, uint64_t from, uint64_t to)
{
	uint64_t b = (from + TOUCH_BLOCK - 1) / TOUCH_BLOCK, end = to / TOUCH_BLOCK;

	if (b >= end)
		return;
	if (b < t->dense) { /* what stays behind the hole goes to the bitmaps */
		add_blocks(t, end, t->dense);
		t->dense = b;
	}
	for (size_t i = lower(t, b / CHUNK_BLOCKS); i < t->n; i++) {
		uint64_t base = t->chunk[i].index * CHUNK_BLOCKS;

		if (base >= end)
			break;
		paint(t->chunk[i].bits, MAX(b, base) - base, MIN(end, base + CHUNK_BLOCKS) - base,
			false);
	}
}

void touch_cut(struct touch *t, uint64_t size)
{
	uint64_t keep = (size + TOUCH_BLOCK - 1) / TOUCH_BLOCK;
	size_t at;

	t->dense = MIN(t->dense, keep);
	at = lower(t, keep / CHUNK_BLOCKS);
	if (at < t->n && t->chunk[at].index == keep / CHUNK_BLOCKS) {
		paint(t->chunk[at].bits, keep % CHUNK_BLOCKS, CHUNK_BLOCKS, false);
		at++;
	}
	drop_chunks(t, at);
}

int touch_load(struct touch *t, int fd, const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size;
	off_t data, hole = 0;

	drop_chunks(t, 0);
	t->dense = 0;
	if ((uint64_t)st->st_blocks * 512 >= size) {
		t->dense = (size + TOUCH_BLOCK - 1) / TOUCH_BLOCK;
		return 0;
	}
	while ((uint64_t)hole < size) {
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0)
			return errno == ENXIO ? 0 : -errno;
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data)
			return -EIO;
		touch_add(t, (uint64_t)data, (uint64_t)hole);
	}
	return 0;
}

/* ---- on an inode ---- */

bool inode_touch(struct inode *in, int fd, uint64_t from, uint64_t to)
{
	struct stat st;
	bool first = true;

	pthread_mutex_lock(&in->lock);
	if (!in->touch) {
		in->touch = touch_new();
		if (in->touch && fstat(fd, &st) == 0)
			touch_load(in->touch, fd, &st);
	}
	if (in->touch)
		first = touch_add(in->touch, from, to);
	pthread_mutex_unlock(&in->lock);
	return first;
}

void inode_untouch(struct inode *in, uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&in->lock);
	if (in->touch)
		touch_del(in->touch, from, to);
	pthread_mutex_unlock(&in->lock);
}

void inode_touch_cut(struct inode *in, uint64_t size)
{
	pthread_mutex_lock(&in->lock);
	if (in->touch)
		touch_cut(in->touch, size);
	pthread_mutex_unlock(&in->lock);
}

void inode_touch_drop(struct inode *in)
{
	struct touch *t;

	pthread_mutex_lock(&in->lock);
	t = STEAL(in->touch);
	pthread_mutex_unlock(&in->lock);
	touch_free(t);
}
