/* SPDX-License-Identifier: MIT */
/* What of a file has space on the storage. */
#ifndef PLAN_SPACE_PRIV_H
#define PLAN_SPACE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct plan;
struct plan_node;
__extension__ typedef __int128 plan_bytes; /* sums of what a made-up trace says */

struct plan_extent {
	uint64_t from, to; /* whole blocks */
};
struct plan_extents {
	struct plan_extent one, *many; /* many: from the second on; in order, apart */
	uint32_t n, cap;
	uint64_t gap; /* holes of this size and less count as full */
};

/* plan_space.c */
/* [from, to) is written. initial: by the preparation. 0 or -ENOMEM. */
int plan_space_add(struct plan *p, struct plan_node *n, uint64_t from, uint64_t to, bool initial);
/* [from, to) is given back; to UINT64_MAX: all behind from. */
int plan_space_cut(struct plan *p, struct plan_node *n, uint64_t from, uint64_t to);
/* [at, at + size) is taken out, what lies behind moves up; or is put in, and it moves down. */
int plan_space_collapse(struct plan *p, struct plan_node *n, uint64_t at, uint64_t size);
int plan_space_insert(struct plan *p, struct plan_node *n, uint64_t at, uint64_t size);
void plan_space_fini(struct plan_node *n);
/* The most that the tree and the workload take at any time. */
uint64_t plan_space_peak(const struct plan *p);

#endif
