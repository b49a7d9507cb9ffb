/* SPDX-License-Identifier: MIT */
/*
 * Generated data that any range of can be made in any order: a word is a hash (splitmix64) of seed,
 * inode and position. Compressible data is made in blocks of 4 KiB: the first part is fresh words,
 * the rest repeats it. The share of fresh words answers to the ratio at zstd -5, which finds
 * repeats but codes no literals; how many bits of each fresh byte are random answers to what zstd 1
 * gains on top by coding literals. No byte is zero, so that no piece of data can be taken for a
 * hole. Does not know files or events.
 */
#include "replay_priv.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define BLOCK_BYTES 4096u
#define BLOCK_WORDS (BLOCK_BYTES / 8)
#define MASKS       64u
#define FRESH_MIN   4u  /* words */
#define LEVEL_MIN   77u /* of 255 */
#define ONES        UINT64_C(0x0101010101010101)

/* Of MASKS words in turn, `more` keep bits + 1 bits of each byte, the others bits. */
struct entropy {
	uint8_t bits, more;
};
struct tables {
	struct entropy of[256]; /* by 255 * entropy of a byte / 8 */
};

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static uint64_t word_at(uint64_t key, uint64_t word)
{
	return mix(key + word * UINT64_C(0x9E3779B97F4A7C15));
}

/* Bytes that are zero become 1 (so do a few others that are even). */
static uint64_t no_zeros(uint64_t x)
{
	return x | ((x - ONES) & ~x & ONES << 7) >> 7;
}

/* Entropy of a byte that has bits + 1 random bits with probability f, else bits. */
static double entropy_of(unsigned bits, double f)
{
	double p = f / 2;

	return p > 0 ? bits - p * log2(p) - (1 - p) * log2(1 - p) : bits;
}

int content_init(struct content *c, uint64_t seed)
{
	struct tables *t = calloc(1, sizeof(*t));
	unsigned bits = 1, more = 0;

	if (!t)
		return fail(-ENOMEM, "out of memory");
	for (unsigned i = 0; i < 256; i++) {
		while (bits < 8 && entropy_of(bits, (double)more / MASKS) < i * 8 / 255.0)
			if (++more == MASKS) {
				bits++;
				more = 0;
			}
		t->of[i] = (struct entropy){(uint8_t)bits, (uint8_t)more};
	}
	c->seed = seed;
	c->priv = t;
	return 0;
}

void content_fini(struct content *c)
{
	if (!c)
		return;
	free(c->priv);
	c->priv = NULL;
}

static void fill_random(uint64_t *out, size_t words, uint64_t key, uint64_t word)
{
	for (size_t i = 0; i < words; i++)
		out[i] = no_zeros(word_at(key, word + i));
}

struct shape {
	unsigned fresh; /* words of a block that do not repeat; BLOCK_WORDS: none repeats */
	bool masked;
	uint64_t base;
	uint64_t mask[MASKS];
};

static void shape_init(struct shape *s, const struct tables *t, uint64_t key, unsigned kind,
	const uint8_t ratio[2])
{
	unsigned fast = 255, level = 255;
	struct entropy e;

	if (kind == EVENT_CONTENT_SAMPLE || (kind == EVENT_CONTENT_LIKE && ratio[0])) {
		fast = MAX(ratio[0], 1);
		level = MIN(ratio[1], fast) * 255 / fast;
		/* fewer bits repeat by chance, also for the fast one */
		level = MAX(level, LEVEL_MIN);
	}
	if (fast >= 250)
		fast = 255;
	s->fresh = MAX((fast * BLOCK_WORDS + 127) / 255, FRESH_MIN);
	s->masked = level < 250;
	if (!s->masked)
		return;
	e = t->of[level];
	s->base = mix(key) % 255 * ONES;
	for (unsigned i = 0; i < MASKS; i++) {
		/* spread evenly over the turn */
		bool more = (i + 1) * e.more / MASKS > i * e.more / MASKS;

		s->mask[i] = ((UINT64_C(1) << (e.bits + more)) - 1) * ONES;
	}
}

/* One whole block of compressible data. */
static void fill_block(
	unsigned char *out, const struct shape *s, uint64_t key, uint64_t block, size_t need)
{
	size_t fresh = s->fresh * 8, done;
	uint64_t word = block * BLOCK_WORDS;

	for (size_t i = 0; i < s->fresh; i++) {
		uint64_t w = word_at(key, word + i);

		if (s->masked)
			w = (w & s->mask[i % MASKS]) ^ s->base;
		w = no_zeros(w);
		memcpy(out + i * 8, &w, 8);
	}
	for (done = fresh; done < need; done *= 2)
		memcpy(out + done, out, MIN(done, BLOCK_BYTES - done));
}

static void fill_shaped(
	unsigned char *p, size_t n, uint64_t offset, const struct shape *s, uint64_t key)
{
	unsigned char tmp[BLOCK_BYTES];

	while (n) {
		size_t at = offset % BLOCK_BYTES, k = MIN(n, BLOCK_BYTES - at);

		if (k == BLOCK_BYTES) {
			fill_block(p, s, key, offset / BLOCK_BYTES, BLOCK_BYTES);
		} else {
			fill_block(tmp, s, key, offset / BLOCK_BYTES, at + k);
			memcpy(p, tmp + at, k);
		}
		p += k;
		offset += k;
		n -= k;
	}
}

/* Incompressible: words straight into place, the ends through a buffer. */
static void fill_plain(unsigned char *p, size_t n, uint64_t offset, uint64_t key)
{
	uint64_t tmp[32];

	while (n) {
		size_t at = offset % 8, k = MIN(n, sizeof(tmp) - at);

		if (!at && n >= 8 && (uintptr_t)p % 8 == 0) {
			k = n & ~(size_t)7;
			fill_random((uint64_t *)(void *)p, k / 8, key, offset / 8);
		} else {
			fill_random(tmp, (at + k + 7) / 8, key, offset / 8);
			memcpy(p, (unsigned char *)tmp + at, k);
		}
		p += k;
		offset += k;
		n -= k;
	}
}

void content_fill(const struct content *c, void *buf, size_t n, uint64_t iid, uint64_t offset,
	unsigned kind, const uint8_t ratio[2])
{
	uint64_t key = mix(c->seed ^ mix(iid + 1));
	struct shape s;

	if (kind == EVENT_CONTENT_ZERO) {
		memset(buf, 0, n);
		return;
	}
	shape_init(&s, c->priv, key, kind, ratio);
	if (s.fresh == BLOCK_WORDS && !s.masked)
		fill_plain(buf, n, offset, key);
	else
		fill_shaped(buf, n, offset, &s, key);
}
