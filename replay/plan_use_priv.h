/* SPDX-License-Identifier: MIT */
/* Who used a resource last, and what of it a new step has to wait for. */
#ifndef PLAN_USE_PRIV_H
#define PLAN_USE_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct plan;
struct plan_step;
struct plan_shared; /* uses by several lanes */

/* Two uses of a resource keep their order unless they do not conflict (plan_use.c). */
enum use_class {
	USE_HOLD, /* needs it to exist */
	USE_GET,  /* reads its attributes, or file data */
	USE_SET,  /* changes them */
	USE_LIST, /* reads a directory's entries */
	USE_MOD,  /* changes one of them */
	USE_LIFE, /* makes or ends it */
	USE_COUNT
};
struct plan_res {
	struct plan_shared *shared; /* from the second lane on */
	uint32_t lane;              /* index of the only one */
	uint32_t pos[USE_COUNT];    /* 1 + place in the lane's order of completion; 0: never */
	bool used;
};

/* plan_use.c */
/* Before the first wait of a step. */
int plan_use_begin(struct plan *p);
/* s waits for what conflicts with its use, and is remembered as a user. 0 or -ENOMEM. */
int plan_use(struct plan *p, struct plan_res *r, struct plan_step *s, enum use_class class);
int plan_use_wait(struct plan *p, struct plan_res *r, struct plan_step *s, enum use_class class);
int plan_use_note(struct plan_res *r, uint32_t lane, uint32_t pos, enum use_class class);
/* The same for a directory entry. Who finds a name and who does not is told by results: also calls
 * that overlap keep the order in which they came out. */
int plan_use_entry(struct plan *p, struct plan_res *r, struct plan_step *s, bool change);
bool plan_use_alone(const struct plan_res *r, uint32_t lane); /* no other lane used it so far */
/* For the steps of a lane up to place pos (from 1) that had ended before s started. */
bool plan_use_wait_lane(struct plan *p, uint32_t lane, uint32_t pos, const struct plan_step *s);
/* For what made a thing that s uses, also when the two overlap in the recording. */
void plan_use_wait_maker(struct plan *p, struct plan_step *maker, const struct plan_step *s);
/* What s waits for becomes its list of predecessors. */
int plan_use_end(struct plan *p, struct plan_step *s);
/* s, at hand, waits for one that came out before it, also when they overlap. */
void plan_order_after(struct plan *p, struct plan_step *s, struct plan_step *before);
/* then, which has its edges, waits for first as well; first starts earlier. */
int plan_order_late(struct plan *p, struct plan_step *first, struct plan_step *then);
void plan_use_fini(struct plan_res *r);

#endif
