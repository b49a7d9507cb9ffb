/* SPDX-License-Identifier: MIT */
/*
 * What an event leaves behind in the tree of names.c: entries made and removed, handles opened and
 * closed, sizes and modes. Only calls that succeeded leave anything. This is also where a name that
 * the snapshot did not tell of is learned, from the lookup that found it.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/stat.h>

static int node_resize(struct plan *p, struct plan_node *n, uint64_t size)
{
	bool shorter = size < n->size;

	n->size = MIN(size, INT64_MAX);
	return shorter ? plan_space_cut(p, n, size, UINT64_MAX) : 0;
}

/* [from, to) is written. */
static int node_write(struct plan *p, struct plan_node *n, uint64_t from, uint64_t to)
{
	if (to > n->size)
		n->size = to;
	return plan_space_add(p, n, from, to, false);
}

/* Its last name or handle may be gone. */
static int node_gone(struct plan *p, struct plan_node *n)
{
	return n && !n->links && !n->handles ? plan_space_cut(p, n, 0, UINT64_MAX) : 0;
}

static struct plan_entry *entry_of(struct plan *p, uint64_t parent, struct bytes name)
{
	struct plan_node *dir = plan_node_get(p, parent);

	return dir ? plan_entry_get(p, dir, name) : NULL;
}

static int apply_lookup(struct plan *p, const struct event *ev)
{
	struct plan_entry *e = entry_of(p, ev->parent, ev->name);
	struct plan_node *n = e ? plan_node_get(p, ev->iid) : NULL;

	if (!n)
		return -ENOMEM;
	/* one that overlaps with the last change may have seen what was there before */
	if (e->node != n->index &&
		!(e->by_step && e->maker && plan_step_end(e->maker) > ev->start_ns))
		plan_entry_set(p, e, n);
	if (!n->mode)
		n->mode = ev->mode & S_IFMT;
	return 0;
}

static uint32_t made_mode(const struct event *ev)
{
	switch (ev->op) {
	case OP_MKDIR:
		return S_IFDIR | (ev->mode & 07777);
	case OP_SYMLINK:
		return S_IFLNK | 0777;
	case OP_MKNOD:
		return (ev->mode & S_IFMT ? ev->mode & S_IFMT : S_IFREG) | (ev->mode & 07777);
	default:
		return S_IFREG | (ev->mode & 07777);
	}
}

static int node_made(
	struct plan *p, struct plan_node *n, const struct event *ev, struct plan_step *s)
{
	if (n->maker || n->mode) { /* create found the file there */
		return ev->flags & O_TRUNC ? node_resize(p, n, 0) : 0;
	}
	n->maker = s;
	n->mode = made_mode(ev);
	n->withheld = S_ISCHR(n->mode) || S_ISBLK(n->mode);
	p->withheld |= n->withheld;
	n->size = 0;
	n->size_known = true;
	n->target = ev->target;
	return plan_copy_bytes(p, &n->target);
}

static int apply_make(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_entry *e = entry_of(p, ev->parent, ev->name);
	struct plan_node *n = e ? plan_node_get(p, ev->iid) : NULL;

	if (!n)
		return -ENOMEM;
	if (e->node != n->index) {
		plan_entry_set(p, e, n);
		e->maker = s;
		e->by_step = true;
	}
	return ev->op == OP_LINK ? 0 : node_made(p, n, ev, s);
}

static int apply_remove(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_entry *e = entry_of(p, ev->parent, ev->name);
	struct plan_node *n;

	if (!e)
		return -ENOMEM;
	n = p->nodes[e->node];
	plan_entry_clear(p, e);
	e->maker = s;
	e->by_step = true;
	plan_pin_removed(n, s);
	return node_gone(p, n);
}

static int apply_rename(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_entry *from = entry_of(p, ev->parent, ev->name);
	struct plan_entry *to = from ? entry_of(p, ev->parent2, ev->name2) : NULL;
	struct plan_node *moved, *there;

	if (!to)
		return -ENOMEM;
	moved = ev->iid ? plan_node_get(p, ev->iid) : p->nodes[from->node];
	if (!moved && ev->iid)
		return -ENOMEM;
	there = p->nodes[to->node];
	if (from == to || !moved)
		return 0;
	if (moved == there && !(ev->flags & RENAME_EXCHANGE))
		return 0; /* two links of one file: rename(2) does nothing */
	plan_entry_clear(p, from);
	plan_entry_set(p, to, moved);
	if ((ev->flags & RENAME_EXCHANGE) && there)
		plan_entry_set(p, from, there);
	plan_pin_removed(there, s);
	from->maker = to->maker = s;
	from->by_step = to->by_step = true;
	return node_gone(p, there);
}

static int apply_open(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_node *n = plan_node_get(p, ev->iid);
	struct plan_handle *h = u64map_ptr(&p->open, ev->oid);

	if (!n)
		return -ENOMEM;
	if (ev->op == OP_TMPFILE && node_made(p, n, ev, s))
		return -ENOMEM;
	if (ev->op == OP_OPEN && (ev->flags & O_TRUNC) && node_resize(p, n, 0))
		return -ENOMEM;
	if (!ev->oid)
		return 0;
	if (h) /* a number that was open already: the trace lies; the later one counts */
		plan_handle_end(p, h);
	h = plan_handle_new(p, ev->oid, n);
	if (!h)
		return -ENOMEM;
	h->maker = s;
	h->dir = ev->op == OP_OPENDIR;
	h->flags = ev->flags;
	if (s)
		s->handle = h->index;
	return 0;
}

static int apply_fallocate(struct plan *p, const struct event *ev, struct plan_node *n)
{
	uint64_t end = ev->offset + ev->size;

	if (ev->mode & FALLOC_FL_COLLAPSE_RANGE) {
		n->size -= MIN(n->size, ev->size);
		return plan_space_collapse(p, n, ev->offset, ev->size);
	}
	if (ev->mode & FALLOC_FL_INSERT_RANGE) {
		n->size = MIN(n->size + ev->size, INT64_MAX);
		return plan_space_insert(p, n, ev->offset, ev->size);
	}
	if (ev->mode & FALLOC_FL_PUNCH_HOLE)
		return plan_space_cut(p, n, ev->offset, end);
	if (!(ev->mode & FALLOC_FL_KEEP_SIZE))
		return node_write(p, n, ev->offset, end);
	return plan_space_add(p, n, ev->offset, end, false);
}

static int apply_data(struct plan *p, const struct event *ev)
{
	uint64_t iid = ev->op == OP_COPY_FILE_RANGE ? ev->iid2 : ev->iid;
	uint64_t at = ev->op == OP_COPY_FILE_RANGE ? ev->offset2 : ev->offset;
	struct plan_node *n = u64map_ptr(&p->node_index, iid);

	if (!n)
		return 0;
	if (ev->op == OP_FALLOCATE)
		return apply_fallocate(p, ev, n);
	return node_write(p, n, at, at + (uint64_t)ev->result);
}

static int apply_setattr(struct plan *p, const struct event *ev)
{
	struct plan_node *n = u64map_ptr(&p->node_index, ev->iid);

	if (!n)
		return 0;
	if (ev->arg & EVENT_SET_MODE)
		n->mode = (n->mode & S_IFMT) | (ev->mode & 07777);
	if (!(ev->arg & EVENT_SET_SIZE))
		return 0;
	n->size_known = true;
	return node_resize(p, n, ev->size);
}

int plan_apply(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_handle *h;

	if (ev->op == OP_RELEASE || ev->op == OP_RELEASEDIR) {
		h = u64map_ptr(&p->open, ev->oid);
		if (!h)
			return 0;
		plan_handle_end(p, h);
		return node_gone(p, p->nodes[h->node]);
	}
	if (ev->result < 0)
		return 0;
	switch (ev->op) {
	case OP_LOOKUP:
		return ev->iid ? apply_lookup(p, ev) : 0;
	case OP_CREATE:
		if (apply_make(p, ev, s))
			return -ENOMEM;
		return apply_open(p, ev, s);
	case OP_MKNOD:
	case OP_MKDIR:
	case OP_SYMLINK:
	case OP_LINK:
		return apply_make(p, ev, s);
	case OP_UNLINK:
	case OP_RMDIR:
		return apply_remove(p, ev, s);
	case OP_RENAME:
		return apply_rename(p, ev, s);
	case OP_OPEN:
	case OP_OPENDIR:
	case OP_TMPFILE:
		return apply_open(p, ev, s);
	case OP_WRITE:
	case OP_FALLOCATE:
	case OP_COPY_FILE_RANGE:
		return apply_data(p, ev);
	case OP_SETATTR:
		return apply_setattr(p, ev);
	default:
		return 0;
	}
}
