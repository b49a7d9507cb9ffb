/* SPDX-License-Identifier: MIT */
/*
 * Files whose name is gone when a call on them arrives: the kernel had looked the name up before
 * another thread removed it, and asks for the inode. A replay has only names. So the step that
 * removed the last name opens the file first, by path alone (O_PATH), and the calls that came too
 * late go through that descriptor, as the kernel's went through its inode. Directories need none
 * of it: exec_dir_keep() holds them anyway.
 */
#include "plan_build_priv.h"

#include <errno.h>

void plan_pin_removed(struct plan_node *n, struct plan_step *s)
{
	if (!n || n->links)
		return;
	n->remover = s && !(s->bits & STEP_SKIP) ? s : NULL;
	n->pin = NULL;
}

static struct plan_handle *pin_new(struct plan *p, struct plan_node *n)
{
	struct plan_handle *h = plan_handle_make(p, n);
	struct plan_step *r = n->remover;

	if (!h)
		return NULL;
	if (!r->ext)
		r->ext = plan_alloc(p, sizeof(*r->ext));
	if (!r->ext)
		return NULL;
	r->ext->handle2 = h->index;
	h->maker = r;
	h->uses = 1; /* the remover itself */
	h->path = h->released = true;
	return h;
}

int plan_pin(struct plan *p, struct plan_node *n, struct plan_step *s, uint32_t *handle)
{
	if (!n->remover || n->remover == s)
		return 1;
	if (!n->pin)
		n->pin = pin_new(p, n);
	if (!n->pin)
		return -ENOMEM;
	*handle = n->pin->index;
	n->pin->uses++;
	if (handle == &s->handle)
		s->bits |= STEP_PINNED;
	plan_step_after(p, s, n->remover);
	return 0;
}
