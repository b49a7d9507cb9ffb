/* SPDX-License-Identifier: MIT */
/* Hash table from a 64-bit number to a 64-bit value (open addressing, robin hood). Embedded:
 * init/fini. Not thread-safe. */
#ifndef IOTAPE_MAP_H
#define IOTAPE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct u64map {
	struct u64map_slot *slots;
	size_t cap, used; /* cap is a power of two or 0 */
};

void u64map_init(struct u64map *m);
void u64map_fini(struct u64map *m);
/* 0, or -ENOMEM. Replaces the value of a key that is there. */
int u64map_put(struct u64map *m, uint64_t key, uint64_t value);
bool u64map_get(const struct u64map *m, uint64_t key, uint64_t *value);
bool u64map_del(struct u64map *m, uint64_t key);
/* Iteration in no particular order: start with *pos = 0; false at the end. The map must not change
 * meanwhile. */
bool u64map_next(const struct u64map *m, size_t *pos, uint64_t *key, uint64_t *value);

/* Pointers as values. NULL when absent. */
static inline void *u64map_ptr(const struct u64map *m, uint64_t key)
{
	uint64_t v;

	return u64map_get(m, key, &v) ? (void *)(uintptr_t)v : NULL;
}
static inline int u64map_put_ptr(struct u64map *m, uint64_t key, void *p)
{
	return u64map_put(m, key, (uint64_t)(uintptr_t)p);
}

#endif
