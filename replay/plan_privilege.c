/* SPDX-License-Identifier: MIT */
/*
 * Steps that only a privileged replay issues: those that make device nodes, those that need such a
 * node to be there, and attributes that give rights or are the administrator's own. Without
 * --privileged all of them are skipped together, so that none of them is a mismatch because another
 * one was left out. Set-id bits need no more than being left out of modes: no result tells of them.
 */
#include "plan_build_priv.h"

#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

bool plan_privileged_attr(struct bytes name)
{
	static const char trusted[] = "trusted.", capability[] = "security.capability";

	return (name.n >= sizeof(trusted) - 1 && !memcmp(name.p, trusted, sizeof(trusted) - 1)) ||
	       bytes_equal(name, BYTES_STR(capability));
}

static bool withheld(struct plan *p, uint32_t dir, const struct plan_name *name)
{
	struct plan_entry *e =
		dir && name ? plan_entry_get(p, p->nodes[dir], (struct bytes){name->s, name->n})
			    : NULL;

	return e && e->node && p->nodes[e->node]->withheld;
}

static bool on_withheld(struct plan *p, const struct plan_step *s)
{
	const struct plan_ext *x = s->ext;

	if (!p->withheld)
		return false;
	if (p->nodes[s->node] && p->nodes[s->node]->withheld)
		return true;
	/* a rename over it is one over nothing */
	return withheld(p, s->dir, s->name) ||
	       (s->op == OP_RENAME && s->flags && withheld(p, x->dir2, x->name2));
}

bool plan_privileged_step(struct plan *p, const struct event *ev, const struct plan_step *s)
{
	switch (ev->op) {
	case OP_SETXATTR:
		return plan_privileged_attr(ev->name);
	case OP_GETXATTR:
	case OP_REMOVEXATTR: /* what is not there is not there with or without */
		return ev->result >= 0 && plan_privileged_attr(ev->name);
	case OP_MKNOD:
		if (S_ISCHR(ev->mode) || S_ISBLK(ev->mode))
			return true;
	}
	return on_withheld(p, s);
}
