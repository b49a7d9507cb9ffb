/* SPDX-License-Identifier: MIT */
/* Building a plan: what names.c and plan*.c do for each other. */
#ifndef PLAN_BUILD_PRIV_H
#define PLAN_BUILD_PRIV_H

#include "plan_priv.h"

#define PLAN_LANES_MAX 131072u

/* plan_arena.c */
void *plan_alloc(struct plan *p, size_t n); /* zeroed; NULL with fail text */
void plan_arena_fini(struct plan_arena *a);
/* Room for one more in a heap array; 0 or -ENOMEM. */
int plan_grow(void *array, uint32_t *cap, uint32_t n, size_t size);
int plan_copy_bytes(struct plan *p, struct bytes *b); /* NUL-terminated copy in the arena */

/* plan.c */
/* plan_read() with the memory that a plan may have; 0: any. */
int plan_read_within(struct plan **out, struct trace_reader *r, enum replay_order order,
	const struct filter *f, uint64_t memory_limit);

/* plan_memory.c */
uint64_t plan_memory_limit(void); /* of this machine, now */
void plan_memory_begin(struct plan *p, uint64_t limit);
/* -ENOMEM when the plan of so many events takes more. */
int plan_memory_check(struct plan *p, uint64_t events);

/* names.c */
struct plan_node *plan_node_get(struct plan *p, uint64_t iid); /* made when new; NULL: no memory */
struct plan_entry *plan_entry_get(struct plan *p, struct plan_node *dir, struct bytes name);
void plan_entry_set(struct plan *p, struct plan_entry *e, struct plan_node *n);
void plan_entry_clear(struct plan *p, struct plan_entry *e);
/* One that no call of the trace opened or closes. */
struct plan_handle *plan_handle_make(struct plan *p, struct plan_node *n);
struct plan_handle *plan_handle_new(struct plan *p, uint64_t oid, struct plan_node *n);
void plan_handle_end(struct plan *p, struct plan_handle *h);
int plan_names_snap(struct plan *p, const struct event *ev);
/* Is there a way to it from the root, of at most PLAN_DEPTH_MAX directories? */
bool plan_node_reachable(struct plan *p, struct plan_node *n);
struct plan_entry *plan_node_entry(struct plan_lane *l, struct plan_node *n);
void plan_lane_looked_up(struct plan_lane *l, struct plan_entry *e);

/* plan_apply.c */
/* What the event leaves behind. s: its step, NULL when folded. */
int plan_apply(struct plan *p, const struct event *ev, struct plan_step *s);

/* plan_step.c */
struct plan_lane *plan_lane_get(struct plan *p, uint32_t id);
/* Makes the event's step, with how it reaches what it works on: its handle, else dir and name; else
 * STEP_SKIP. Before plan_apply(). */
int plan_step_new(struct plan *p, const struct event *ev, struct plan_step **out);

/* plan_pin.c */
/* The node lost a name to s; NULL: to an event that is no step. */
void plan_pin_removed(struct plan_node *n, struct plan_step *s);
/* The descriptor that the remover of the last name left. 1: there is none. */
int plan_pin(struct plan *p, struct plan_node *n, struct plan_step *s, uint32_t *handle);

/* plan_lock.c */
/* What a lock goes through, and what a flush drops; once the step's handle is known. */
int plan_lock_step(struct plan *p, const struct event *ev, struct plan_step *s);
void plan_lock_handle_end(struct plan *p, const struct plan_handle *h);

/* plan_privilege.c */
bool plan_privileged_attr(struct bytes name);
/* Is it left out by a replay without privileges? Once it has what it works on. */
bool plan_privileged_step(struct plan *p, const struct event *ev, const struct plan_step *s);

/* plan_order.c */
int plan_order_step(struct plan *p, const struct event *ev, struct plan_step *s);
void plan_order_forget(struct plan_node *n); /* who used it */
/* s overlaps with what came out before it: only the part of it that starts no earlier counts. */
void plan_step_after(struct plan *p, struct plan_step *s, const struct plan_step *before);
void plan_step_start(struct plan *p, struct plan_step *s, int64_t start_ns); /* its end stays */

/* plan_late.c */
bool plan_steps_overlap(const struct plan_step *a, const struct plan_step *b);
/* first, at hand, came out after then, and goes before it; as far as there is room. */
int plan_order_before(struct plan *p, struct plan_step *first, struct plan_step *then);

/* plan_size.c */
int plan_order_size(struct plan *p, const struct event *ev, struct plan_step *s);

/* plan_finish.c */
/* Lanes in order of start, predecessors as lane and index. */
int plan_order_finish(struct plan *p);
void plan_order_fini(struct plan *p);

#endif
