/* SPDX-License-Identifier: MIT */
/*
 * Memory of a plan: blocks that are only ever freed together. Everything that lives as long as the
 * plan (steps, names, nodes, entries) comes from here, so nothing in it needs an owner of its own.
 * Arrays that grow are ordinary heap memory.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)1 << 20)

struct plan_block {
	struct plan_block *next;
	max_align_t data[];
};

static struct plan_block *block_new(struct plan_arena *a, size_t n)
{
	struct plan_block *b = calloc(1, sizeof(*b) + n);

	if (!b) {
		fail(-ENOMEM, "out of memory for the plan of this trace");
		return NULL;
	}
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *plan_alloc(struct plan *p, size_t n)
{
	struct plan_arena *a = &p->arena;
	void *r;

	n = (n + 7) & ~(size_t)7;
	if (n > BLOCK_BYTES / 8) {
		struct plan_block *b = block_new(a, n);

		return b ? b->data : NULL;
	}
	if (a->left < n) {
		struct plan_block *b = block_new(a, BLOCK_BYTES);

		if (!b)
			return NULL;
		a->at = (char *)b->data;
		a->left = BLOCK_BYTES;
	}
	r = a->at;
	a->at += n;
	a->left -= n;
	return r;
}

void plan_arena_fini(struct plan_arena *a)
{
	while (a->blocks) {
		struct plan_block *b = a->blocks;

		a->blocks = b->next;
		free(b);
	}
}

int plan_grow(void *array, uint32_t *cap, uint32_t n, size_t size)
{
	void **at = array;
	uint32_t want;
	void *bigger;

	if (n < *cap)
		return 0;
	want = *cap ? *cap * 2 : 16;
	if (want <= *cap)
		return fail(-EFBIG, "the trace has more than %u things of one kind", *cap);
	bigger = realloc(*at, (size_t)want * size);
	if (!bigger)
		return fail(-ENOMEM, "out of memory for the plan of this trace");
	memset((char *)bigger + (size_t)*cap * size, 0, (size_t)(want - *cap) * size);
	*at = bigger;
	*cap = want;
	return 0;
}

int plan_copy_bytes(struct plan *p, struct bytes *b)
{
	char *to;

	if (!b->n) {
		b->p = "";
		return 0;
	}
	to = plan_alloc(p, (size_t)b->n + 1);
	if (!to)
		return -ENOMEM;
	memcpy(to, b->p, b->n);
	b->p = to;
	return 0;
}
