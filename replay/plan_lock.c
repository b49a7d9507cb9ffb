/* SPDX-License-Identifier: MIT */
/*
 * Who locks through what. A POSIX lock belongs to an owner (a process) and a file, whatever the
 * descriptor, and goes when the owner closes any descriptor of the file. In the replay it belongs
 * to an open file description. The one idea: an owner locks through the handle that it locked
 * through first; where another owner does so already (after a fork), through a description of its
 * own. A flush that drops locks says whose, so that they go at the same place.
 *
 * Traces that name no owners lock through each handle by itself.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <fcntl.h>

struct plan_owner {
	struct plan_owner *next;
	uint64_t number;
	uint32_t through; /* handle */
};

static struct plan_owner **owner_find(struct plan_node *n, uint64_t number)
{
	struct plan_owner **at = &n->owners;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

static int owner_new(struct plan *p, struct plan_node *n, struct plan_handle *h, uint64_t number,
	struct plan_owner **out)
{
	struct plan_owner *o = plan_alloc(p, sizeof(*o));

	if (!o)
		return -ENOMEM;
	if (h->owner)
		h = plan_handle_make(p, n); /* the executor opens it */
	if (!h)
		return -ENOMEM;
	h->owner = number;
	*o = (struct plan_owner){n->owners, number, h->index};
	n->owners = o;
	*out = o;
	return 0;
}

static bool may_lock(const struct plan_handle *h, uint32_t type)
{
	uint32_t mode = h->flags & O_ACCMODE;

	return type == F_RDLCK ? mode != O_WRONLY : type == F_WRLCK ? mode != O_RDONLY : true;
}

static void lock_through(struct plan *p, struct plan_step *s, uint32_t handle)
{
	if (handle == s->handle)
		return;
	s->ext->handle2 = handle;
	p->handles[handle]->uses++;
	p->handles[handle]->last_use = s;
}

static int plan_lock(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_handle *h = p->handles[s->handle], *through;
	struct plan_node *n = p->nodes[h->node];
	struct plan_owner *o = *owner_find(n, ev->arg);
	uint32_t type = ev->flags & 0xff;

	if (!o && (ev->op == OP_GETLK || type == F_UNLCK))
		return 0;
	if (!o && owner_new(p, n, h, ev->arg, &o))
		return -ENOMEM;
	through = p->handles[o->through];
	if (!through->oid || may_lock(through, type))
		lock_through(p, s, o->through);
	return 0;
}

static void owner_end(struct plan *p, struct plan_owner **at)
{
	struct plan_handle *through = p->handles[(*at)->through];

	through->owner = 0;
	if (!through->oid)
		through->released = true;
	*at = (*at)->next;
}

static void plan_drop(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_owner **at = owner_find(p->nodes[p->handles[s->handle]->node], ev->arg);

	if (!*at)
		return;
	s->bits |= STEP_DROPS;
	lock_through(p, s, (*at)->through);
	owner_end(p, at);
}

int plan_lock_step(struct plan *p, const struct event *ev, struct plan_step *s)
{
	if (!ev->arg || !s->handle || !s->ext || !p->nodes[p->handles[s->handle]->node])
		return 0;
	if (ev->op == OP_SETLK || ev->op == OP_GETLK)
		return plan_lock(p, ev, s);
	if (ev->op == OP_FLUSH)
		plan_drop(p, ev, s);
	return 0;
}

void plan_lock_handle_end(struct plan *p, const struct plan_handle *h)
{
	struct plan_owner **at = &p->nodes[h->node]->owners;

	while (*at)
		if ((*at)->through == h->index)
			owner_end(p, at);
		else
			at = &(*at)->next;
}
