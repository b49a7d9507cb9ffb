/* SPDX-License-Identifier: MIT */
/* Who used a resource last. */
#ifndef PLAN_USE_PRIV_H
#define PLAN_USE_PRIV_H

#include <stdint.h>

/* Two uses of a resource keep their order unless they do not conflict (plan_order.c). */
enum use_class {
	USE_HOLD, /* needs it to exist */
	USE_GET,  /* reads its attributes, or file data */
	USE_SET,  /* changes them */
	USE_LIST, /* reads a directory's entries */
	USE_MOD,  /* changes one of them */
	USE_LIFE, /* makes or ends it */
	USE_COUNT
};
struct plan_use {
	uint32_t lane;           /* index */
	uint32_t pos[USE_COUNT]; /* 1 + place in the lane's order of completion; 0: never */
};
struct plan_res {
	struct plan_use one, *many; /* many: from the second lane on */
	uint32_t n, cap;
};

#endif
