/* SPDX-License-Identifier: MIT */
/*
 * Hash table from number to number: open addressing with robin hood displacement (P. Celis, "Robin
 * Hood Hashing", 1986) and deletion by shifting back, so there are no tombstones and a table that
 * lives for weeks does not degrade. Each slot keeps its distance from home, plus one; 0 is empty,
 * so every key is allowed. The order of iteration is the same for the same history.
 */
#include "iotape/map.h"

#include <errno.h>
#include <stdlib.h>

struct u64map_slot {
	uint64_t key, value;
	size_t dist; /* from the home slot, plus 1; 0: empty */
};

#define CAP_FIRST 16

/* Finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood, 2014): neighbouring ids scatter. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

void u64map_init(struct u64map *m)
{
	*m = (struct u64map){0};
}

void u64map_fini(struct u64map *m)
{
	free(m->slots);
	*m = (struct u64map){0};
}

static struct u64map_slot *find(const struct u64map *m, uint64_t key)
{
	size_t mask = m->cap - 1, dist = 1;

	if (!m->cap)
		return NULL;
	for (size_t i = mix(key) & mask;; i = (i + 1) & mask, dist++) {
		struct u64map_slot *s = &m->slots[i];

		if (s->dist < dist)
			return NULL; /* a richer slot: the key would stand here */
		if (s->dist == dist && s->key == key)
			return s;
	}
}

/* The key is not in the table and there is room. */
static void insert(struct u64map *m, uint64_t key, uint64_t value)
{
	struct u64map_slot mine = {key, value, 1};
	size_t mask = m->cap - 1;

	for (size_t i = mix(key) & mask;; i = (i + 1) & mask, mine.dist++) {
		struct u64map_slot *s = &m->slots[i];

		if (!s->dist) {
			*s = mine;
			return;
		}
		if (s->dist < mine.dist) {
			struct u64map_slot other = *s;

			*s = mine;
			mine = other;
		}
	}
}

static int grow(struct u64map *m)
{
	struct u64map bigger = {.cap = m->cap ? m->cap * 2 : CAP_FIRST, .used = m->used};

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].dist)
			insert(&bigger, m->slots[i].key, m->slots[i].value);
	free(m->slots);
	*m = bigger;
	return 0;
}

int u64map_put(struct u64map *m, uint64_t key, uint64_t value)
{
	struct u64map_slot *s = find(m, key);
	int r;

	if (s) {
		s->value = value;
		return 0;
	}
	if ((m->used + 1) * 8 > m->cap * 7) {
		r = grow(m);
		if (r < 0)
			return r;
	}
	insert(m, key, value);
	m->used++;
	return 0;
}

bool u64map_get(const struct u64map *m, uint64_t key, uint64_t *value)
{
	const struct u64map_slot *s = find(m, key);

	if (s && value)
		*value = s->value;
	return s != NULL;
}

bool u64map_del(struct u64map *m, uint64_t key)
{
	struct u64map_slot *s = find(m, key);
	size_t mask = m->cap - 1, i;

	if (!s)
		return false;
	for (i = (size_t)(s - m->slots);; i = (i + 1) & mask) {
		struct u64map_slot *next = &m->slots[(i + 1) & mask];

		if (next->dist <= 1)
			break;
		m->slots[i] = *next;
		m->slots[i].dist--;
	}
	m->slots[i].dist = 0;
	m->used--;
	return true;
}

bool u64map_next(const struct u64map *m, size_t *pos, uint64_t *key, uint64_t *value)
{
	for (; *pos < m->cap; (*pos)++) {
		const struct u64map_slot *s = &m->slots[*pos];

		if (!s->dist)
			continue;
		if (key)
			*key = s->key;
		if (value)
			*value = s->value;
		(*pos)++;
		return true;
	}
	return false;
}
