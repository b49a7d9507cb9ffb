/* SPDX-License-Identifier: MIT */
/* Steps of a plan and what each waits for. */
#ifndef PLAN_STEP_PRIV_H
#define PLAN_STEP_PRIV_H

#include "iotape/util.h"

struct plan_name;

enum step_bit {
	STEP_AWAITED = 1,      /* another lane waits for it */
	STEP_CLOSES = 2,       /* flush or release that ends the handle */
	STEP_SKIP = 4,         /* nothing that it could be issued on is known */
	STEP_EXTRA = 8,        /* ext is set */
	STEP_TOUCH = 16,       /* first_touch */
	STEP_DROPS = 32,       /* flush that drops locks, of handle2 or of its own handle */
	STEP_PINNED = 64,      /* its handle is one of plan_pin.c */
	STEP_PRIVILEGED = 256, /* skipped by a replay without privileges */
	STEP_COVERS = 128,     /* stands in for steps that it waits for (plan_use.c) */
};
struct plan_ext { /* fields that few operations have */
	uint64_t iid2, oid2, offset2, rdev, arg;
	int64_t atime_ns, mtime_ns;
	struct bytes attr, target; /* attr: extended attribute's name; NUL-terminated */
	const struct plan_name *name2;
	uint32_t dir2, node2, handle2, uid, gid;
};
struct plan_step {
	uint64_t seq;
	int64_t start_ns;
	uint64_t dur_ns;
	int64_t result;
	uint64_t offset, size, iid, oid;
	const struct plan_name *name; /* NULL: the directory `dir` itself */
	struct plan_ext *ext;
	uint32_t dir, node, handle; /* indices, 0: none; a step uses its handle, else dir and name
				     */
	uint32_t lane, index;       /* index in the lane's order of start */
	int64_t before_ns; /* while building: start of the earliest step that waits for it */
	uint32_t hi;       /* scratch: place of the latest start among this and what
			      completed before it in the lane; order_by_trace() */
	uint32_t preds, n_preds;
	uint32_t flags, mode;
	uint16_t op, bits;
	uint8_t content, ratio[2];
};
struct plan_pred {
	uint32_t lane, index;
};

#endif
