/* SPDX-License-Identifier: MIT */
/* The plan from inside: built by names.c and plan*.c (plan_build_priv.h), read by exec*.c. */
#ifndef PLAN_PRIV_H
#define PLAN_PRIV_H

#include "iotape/map.h"
#include "plan_space_priv.h"
#include "plan_step_priv.h"
#include "plan_use_priv.h"
#include "replay_priv.h"

struct plan_arena {
	struct plan_block *blocks;
	char *at;
	size_t left;
};

struct plan_name {
	uint32_t n;
	char s[]; /* NUL-terminated as well */
};

struct plan_ranges; /* ranges of a file that several lanes use */
struct plan_owner;

/* ---- namespace: one node per iid, one entry per (directory, name) ever seen ---- */
struct plan_entry {
	struct plan_entry *hash_next, *prev, *next; /* prev, next: entries of the same node */
	const struct plan_name *name;
	uint32_t dir, node; /* node 0: stands for nothing now */
	bool by_step;       /* changed by the workload, no more as the snapshot says */
	struct plan_step *maker;
	struct plan_res res;
};
struct plan_handle {
	uint64_t oid;             /* 0: of plan_lock.c or plan_pin.c */
	uint64_t owner;           /* that locks through it */
	uint32_t node, uses;      /* steps that need the descriptor */
	uint32_t flags;           /* of its open */
	bool released, dir, path; /* path: of plan_pin.c, O_PATH */
	struct plan_step *maker, *last_flush, *last_use;
	struct plan_handle *prev, *next; /* open handles of the same node */
	uint32_t index;
	struct plan_res res;
};
struct plan_node {
	uint64_t iid;
	uint32_t index;
	uint32_t mode;                      /* 0: not known */
	uint32_t first_dir;                 /* where it was when first seen: how to open it */
	const struct plan_name *first_name; /* NULL: nowhere (root, tmpfile, unknown) */
	uint32_t dir_uses;                  /* steps that need it as a directory descriptor */
	uint32_t links;
	uint64_t size;
	struct plan_extents space;
	bool size_known, reachable;
	bool withheld;    /* a device that a step made */
	bool sparse;      /* its snapshot: ranges with data are told one by one */
	uint32_t depth;   /* below the root, once reachable */
	uint8_t ratio[2]; /* of the last sample */
	struct bytes target;
	struct plan_entry *entries;
	struct plan_handle *handles;
	struct plan_step *maker;
	struct plan_res res, data;
	struct plan_ranges *ranges;
	struct plan_owner *owners; /* of locks */
	struct plan_step *remover; /* of its last name */
	struct plan_handle *pin;   /* opened by it */
};

#define PLAN_RECENT 4
struct plan_lane {
	uint32_t id;
	uint32_t n, cap;
	struct plan_step **steps; /* while building in order of completion, then of start */
	bool unsorted;
	int64_t max_start;
	int64_t *known; /* per lane: 1 + place of its latest step that this lane waited for */
	uint32_t n_known;
	struct plan_entry *recent[PLAN_RECENT]; /* entries looked up last */
	unsigned recent_at;
	uint64_t max_io;
};

#define PLAN_SIZED 32
struct plan {
	struct plan_arena arena;
	enum replay_order order;
	struct plan_info info;
	struct plan_lane *lanes;
	uint32_t n_lanes, cap_lanes;
	struct u64map lane_index; /* id -> index */

	struct plan_node **nodes; /* [0] unused, [1] the root */
	uint32_t n_nodes, cap_nodes;
	struct u64map node_index;     /* iid -> struct plan_node */
	struct u64map entries;        /* hash -> struct plan_entry */
	struct plan_handle **handles; /* [0] unused */
	uint32_t n_handles, cap_handles;
	struct u64map open; /* oid -> struct plan_handle, while open */

	struct event *snaps, *notes; /* notes: lanes and marks */
	size_t n_snaps, cap_snaps, n_notes, cap_notes;

	/* Predecessors: while building, pointers to steps; then lane and index. */
	struct plan_step **pred_steps;
	struct plan_pred *preds;
	size_t n_preds, cap_preds;

	/* scratch of plan_use.c */
	struct plan_step **best; /* per lane: latest predecessor found for the step at hand */
	uint32_t *best_lanes, n_best, cap_best, behind_left;
	struct plan_sized {
		struct plan_step *step;
		uint64_t from, to; /* of a change of size */
		uint32_t node;
		bool change; /* else a read */
	} sized[PLAN_SIZED]; /* the last ones, of plan_size.c */
	unsigned sized_at;
	plan_bytes space_base, space_live, space_peak; /* peak: of live, above base */
	bool withheld;                                 /* some node is */
	bool fifos; /* some name may turn out to be a pipe, whatever the trace says of it */
	uint64_t memory_limit, memory_before; /* bytes; limit 0: none */
	const struct filter *filter;
};

#define PLAN_DEPTH_MAX 1000u /* directories on the way to one */

/* plan_step.c */
/* The step as the event it came from; strings are the plan's. */
void plan_step_event(const struct plan *p, const struct plan_step *s, struct event *ev);

/* plan_order.c */
int64_t plan_step_end(const struct plan_step *s);

#endif
