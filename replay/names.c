/* SPDX-License-Identifier: MIT */
/*
 * The tree as it changes while the trace goes by: which inode a name stands for, which names an
 * inode has, which handles are open. A FUSE request names inodes and handles; a replay needs a
 * directory and a name. The one idea: every step gets the entry that was valid at its own place in
 * the trace, so that the executor resolves nothing, and nothing but single names below directories
 * of the replay's own tree is ever opened.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>

struct plan_node *plan_node_get(struct plan *p, uint64_t iid)
{
	struct plan_node *n = u64map_ptr(&p->node_index, iid);

	if (n)
		return n;
	if (plan_grow(&p->nodes, &p->cap_nodes, p->n_nodes, sizeof(*p->nodes)))
		return NULL;
	n = plan_alloc(p, sizeof(*n));
	if (!n)
		return NULL;
	n->iid = iid;
	n->index = p->n_nodes;
	if (u64map_put_ptr(&p->node_index, iid, n)) {
		fail(-ENOMEM, "out of memory for the plan of this trace");
		return NULL;
	}
	p->nodes[p->n_nodes++] = n;
	return n;
}

bool plan_node_reachable(struct plan *p, struct plan_node *n)
{
	struct plan_node *up = n;

	for (uint32_t depth = 0; depth < PLAN_DEPTH_MAX; depth++) {
		if (up->reachable || up->iid == EVENT_ROOT_IID) {
			n->depth = up->depth + depth;
			n->reachable = n->depth < PLAN_DEPTH_MAX;
			return n->reachable;
		}
		if (!up->first_name)
			return false;
		up = p->nodes[up->first_dir];
	}
	return false;
}

struct plan_entry *plan_entry_get(struct plan *p, struct plan_node *dir, struct bytes name)
{
	uint64_t hash = bytes_hash(name, dir->iid);
	struct plan_entry *first = u64map_ptr(&p->entries, hash), *e;
	struct plan_name *copy;

	for (e = first; e; e = e->hash_next)
		if (e->dir == dir->index && e->name->n == name.n &&
			!memcmp(e->name->s, name.p, name.n))
			return e;
	e = plan_alloc(p, sizeof(*e));
	copy = plan_alloc(p, sizeof(*copy) + name.n + 1);
	if (!e || !copy)
		return NULL;
	copy->n = name.n;
	memcpy(copy->s, name.p, name.n);
	e->name = copy;
	e->dir = dir->index;
	e->hash_next = first;
	if (u64map_put_ptr(&p->entries, hash, e)) {
		fail(-ENOMEM, "out of memory for the plan of this trace");
		return NULL;
	}
	return e;
}

void plan_entry_clear(struct plan *p, struct plan_entry *e)
{
	struct plan_node *n = p->nodes[e->node];

	if (!e->node)
		return;
	if (e->prev)
		e->prev->next = e->next;
	else
		n->entries = e->next;
	if (e->next)
		e->next->prev = e->prev;
	e->prev = e->next = NULL;
	e->node = 0;
	n->links--;
}

/* The newest name of a node comes first. */
void plan_entry_set(struct plan *p, struct plan_entry *e, struct plan_node *n)
{
	plan_entry_clear(p, e);
	e->node = n->index;
	e->next = n->entries;
	if (n->entries)
		n->entries->prev = e;
	n->entries = e;
	n->links++;
	if (!n->first_name) {
		n->first_name = e->name;
		n->first_dir = e->dir;
	}
}

void plan_lane_looked_up(struct plan_lane *l, struct plan_entry *e)
{
	l->recent[l->recent_at++ % PLAN_RECENT] = e;
}

struct plan_entry *plan_node_entry(struct plan_lane *l, struct plan_node *n)
{
	if (n->links > 1)
		for (unsigned i = 1; i <= PLAN_RECENT; i++) {
			struct plan_entry *e = l->recent[(l->recent_at - i) % PLAN_RECENT];

			if (e && e->node == n->index)
				return e;
		}
	return n->entries;
}

struct plan_handle *plan_handle_make(struct plan *p, struct plan_node *n)
{
	struct plan_handle *h;

	if (plan_grow(&p->handles, &p->cap_handles, p->n_handles, sizeof(*p->handles)))
		return NULL;
	h = plan_alloc(p, sizeof(*h));
	if (!h)
		return NULL;
	h->node = n->index;
	h->index = p->n_handles;
	p->handles[p->n_handles++] = h;
	return h;
}

struct plan_handle *plan_handle_new(struct plan *p, uint64_t oid, struct plan_node *n)
{
	struct plan_handle *h = plan_handle_make(p, n);

	if (!h)
		return NULL;
	if (u64map_put_ptr(&p->open, oid, h)) {
		fail(-ENOMEM, "out of memory for the plan of this trace");
		return NULL;
	}
	h->oid = oid;
	h->next = n->handles;
	if (n->handles)
		n->handles->prev = h;
	n->handles = h;
	return h;
}

void plan_handle_end(struct plan *p, struct plan_handle *h)
{
	struct plan_node *n = p->nodes[h->node];

	if (h->released)
		return;
	h->released = true;
	plan_lock_handle_end(p, h);
	if (h->prev)
		h->prev->next = h->next;
	else
		n->handles = h->next;
	if (h->next)
		h->next->prev = h->prev;
	u64map_del(&p->open, h->oid);
	plan_use_fini(&h->res); /* nobody can use it any more */
}

int plan_names_snap(struct plan *p, const struct event *ev)
{
	struct plan_node *n = plan_node_get(p, ev->iid), *dir;
	struct plan_entry *e;

	if (!n)
		return -ENOMEM;
	if (ev->op == OP_SNAP_DATA && n->sparse && ev->offset < n->size)
		return plan_space_add(p, n, ev->offset, MIN(ev->offset + ev->size, n->size), true);
	if (ev->op != OP_SNAP)
		return 0;
	p->fifos |= S_ISFIFO(ev->mode);
	if (!n->maker && !(n->mode & ~(uint32_t)S_IFMT)) {
		n->mode = ev->mode;
		n->size = ev->size;
		n->size_known = !(ev->flags & EVENT_SNAP_LISTED);
		n->target = ev->target;
		if (plan_copy_bytes(p, &n->target))
			return -ENOMEM;
		n->sparse = ev->flags & EVENT_SNAP_SPARSE;
		if (S_ISREG(ev->mode) && !(ev->flags & (EVENT_SNAP_SPARSE | EVENT_SNAP_LISTED)) &&
			plan_space_add(p, n, 0, ev->size, true))
			return -ENOMEM;
	}
	if (!ev->parent)
		return 0;
	dir = plan_node_get(p, ev->parent);
	e = dir ? plan_entry_get(p, dir, ev->name) : NULL;
	if (!e)
		return -ENOMEM;
	if (!e->by_step && e->node != n->index)
		plan_entry_set(p, e, n);
	return 0;
}
