/* SPDX-License-Identifier: MIT */
/* What the plan, its users and the comparison of traces share. Prototypes are grouped by the file
 * that defines them. Storage is in backend_priv.h, the executor in exec_priv.h. */
#ifndef REPLAY_PRIV_H
#define REPLAY_PRIV_H

#include "iotape/event.h"
#include "iotape/replay.h"

/* fold.c */
/*
 * Tells steps from events that are part of another call: a lookup, getattr or getxattr of
 * security.capability or system.posix_acl_* that the same lane follows up by an operation on the
 * same iid, with that iid as parent, or on the same (parent, name); release and releasedir after a
 * flush of their handle. Events come out in the order in which they went in; what cannot be told
 * yet is held back (copied) together with what follows it, at most FOLD_WINDOW events.
 */
#define FOLD_WINDOW  4096u
#define FOLD_PENDING 64u /* undecided lookups of one lane; the oldest becomes a step beyond it */
struct fold;
typedef int (*fold_fn)(void *ctx, const struct event *ev, bool folded);
int fold_new(struct fold **out, fold_fn fn, void *ctx);
/* 0, -ENOMEM, or what fn returned when not 0. */
int fold_put(struct fold *f, const struct event *ev);
/* What is still held back is decided (as steps) and handed over. */
int fold_end(struct fold *f);
void fold_free(struct fold *f);

/* plan.c */
/* Copies of all OP_SNAP* events in the trace's order; owned by the plan. */
size_t plan_snaps(const struct plan *p, const struct event **out);
/* One directory entry as the trace leaves it. */
struct plan_final {
	uint64_t parent, iid;
	struct bytes name;
	uint32_t mode; /* st_mode; 0: type not known (a name that was only listed or looked up) */
	uint64_t size;
	bool size_known;     /* false: only listed, or never told */
	struct bytes target; /* symlink text; n 0: not known */
	uint32_t links;      /* entries of iid */
};
typedef int (*plan_final_fn)(void *ctx, const struct plan_final *e);
/* Every entry of the final tree but the root, in no particular order. 0 or what fn returned. */
int plan_final(const struct plan *p, plan_final_fn fn, void *ctx);

/* content.c */
/* Generated data: the same (seed, iid, offset, kind, ratio) gives the same bytes, whatever the
 * pieces it is asked for in. Never zeros unless EVENT_CONTENT_ZERO. Read-only once initialised:
 * shared by all lanes. */
struct content {
	uint64_t seed;
	void *priv;
};
int content_init(struct content *c, uint64_t seed);
void content_fini(struct content *c);
/* kind: enum event_content; NONE, and LIKE without a sample (ratio 0, 0), are incompressible. */
void content_fill(const struct content *c, void *buf, size_t n, uint64_t iid, uint64_t offset,
	unsigned kind, const uint8_t ratio[2]);

#endif
