/* SPDX-License-Identifier: MIT */
/*
 * An event becomes a step: the fields that its operation has, copied into the plan, and how to
 * reach what it works on, looked up in the tree as it is at this place of the trace. A step that
 * cannot be reached (a handle opened before the trace began, a name never told) is marked to be
 * skipped and counted.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

struct plan_lane *plan_lane_get(struct plan *p, uint32_t id)
{
	struct plan_lane *l;
	uint64_t i;

	if (u64map_get(&p->lane_index, id, &i))
		return &p->lanes[i];
	if (p->n_lanes == PLAN_LANES_MAX) {
		fail(-E2BIG, "the trace has more than %u threads; --filter leaves some out",
			PLAN_LANES_MAX);
		return NULL;
	}
	if (plan_grow(&p->lanes, &p->cap_lanes, p->n_lanes, sizeof(*p->lanes)))
		return NULL;
	if (u64map_put(&p->lane_index, id, p->n_lanes)) {
		fail(-ENOMEM, "out of memory for the plan of this trace");
		return NULL;
	}
	l = &p->lanes[p->n_lanes++];
	l->id = id;
	l->max_start = INT64_MIN;
	return l;
}

static bool has(const struct event *ev, enum field f)
{
	return op_info[ev->op].fields & FIELD_BIT(f);
}

static bool is_xattr(uint16_t op)
{
	return op == OP_SETXATTR || op == OP_GETXATTR || op == OP_REMOVEXATTR;
}

/* Its locks came to be granted when it ended: what let them go had to come first. */
static bool waited(const struct event *ev)
{
	return ev->result >= 0 && ((ev->op == OP_SETLK && (ev->flags & EVENT_LOCK_WAIT)) ||
					  (ev->op == OP_FLOCK && !(ev->flags & LOCK_NB)));
}

static int ext_new(struct plan *p, const struct event *ev, struct plan_step *s)
{
	struct plan_ext *x;

	if (!(has(ev, FIELD_IID2) || has(ev, FIELD_OID2) ||
		    (has(ev, FIELD_ARG) && (ev->arg || ev->op != OP_FLUSH)) ||
		    has(ev, FIELD_RDEV) || has(ev, FIELD_UID) || has(ev, FIELD_TARGET) ||
		    is_xattr(ev->op) || ev->op == OP_LINK))
		return 0;
	x = plan_alloc(p, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->iid2 = ev->iid2;
	x->oid2 = ev->oid2;
	x->offset2 = ev->offset2;
	x->rdev = ev->rdev;
	x->arg = ev->arg;
	x->atime_ns = ev->atime_ns;
	x->mtime_ns = ev->mtime_ns;
	x->uid = ev->uid;
	x->gid = ev->gid;
	x->target = ev->target;
	if (is_xattr(ev->op))
		x->attr = ev->name;
	s->ext = x;
	return plan_copy_bytes(p, &x->target) || plan_copy_bytes(p, &x->attr) ? -ENOMEM : 0;
}

/* dir and name; 1 when that directory cannot be reached. */
static int reach_entry(struct plan *p, uint64_t parent, struct bytes name, uint32_t *dir_out,
	const struct plan_name **name_out)
{
	struct plan_node *dir = plan_node_get(p, parent);
	struct plan_entry *e;

	if (!dir)
		return -ENOMEM;
	if (!plan_node_reachable(p, dir))
		return 1;
	e = plan_entry_get(p, dir, name);
	if (!e)
		return -ENOMEM;
	*dir_out = dir->index;
	*name_out = e->name;
	return 0;
}

static int reach_rename(struct plan *p, const struct event *ev, struct plan_ext *x)
{
	struct plan_node *over = ev->iid2 ? plan_node_get(p, ev->iid2) : NULL;

	x->node2 = over ? over->index : 0;
	return reach_entry(p, ev->parent2, ev->name2, &x->dir2, &x->name2);
}

static void use_handle(struct plan_step *s, struct plan_handle *h)
{
	s->handle = h->index;
	h->uses++;
	h->last_use = s;
}

/* A file is cut through a handle that may write. */
static struct plan_handle *usable_handle(const struct plan_node *n, const struct plan_step *s)
{
	struct plan_handle *h = n->handles;
	bool cut = s->op == OP_SETATTR && (s->ext->arg & EVENT_SET_SIZE);

	while (h && cut && (h->flags & O_ACCMODE) == O_RDONLY)
		h = h->next;
	return h;
}

/* The inode by one of its names, else by a handle that is open on it. */
static int reach_inode(struct plan *p, struct plan_lane *l, struct plan_node *n,
	struct plan_step *s, uint32_t *dir, const struct plan_name **name, uint32_t *handle)
{
	struct plan_entry *e = plan_node_entry(l, n);
	struct plan_handle *h;

	if (n->iid == EVENT_ROOT_IID) {
		*dir = n->index;
		return 0;
	}
	if (e && plan_node_reachable(p, p->nodes[e->dir])) {
		*dir = e->dir;
		*name = e->name;
		return 0;
	}
	h = usable_handle(n, s);
	if (h) {
		*handle = h->index;
		h->uses++;
		h->last_use = s;
		if (h->maker) /* they may overlap */
			plan_step_after(p, s, h->maker);
		return 0;
	}
	if (S_ISDIR(n->mode) && plan_node_reachable(p, n)) { /* removed, but once opened */
		*dir = n->index;
		return 0;
	}
	return plan_pin(p, n, s, handle);
}

static int reach_by_handle(struct plan *p, uint64_t oid, uint32_t *handle, struct plan_step *s)
{
	struct plan_handle *h = u64map_ptr(&p->open, oid);

	if (!h)
		return 1;
	*handle = h->index;
	h->uses++;
	h->last_use = s;
	if (s->op == OP_FLUSH)
		h->last_flush = s;
	return 0;
}

/* A file or directory without a name is opened again through a handle. */
static int reach_open(struct plan *p, struct plan_lane *l, struct plan_node *n, struct plan_step *s)
{
	uint32_t handle = 0;
	int r = reach_inode(p, l, n, s, &s->dir, &s->name, &handle);

	if (r || !handle)
		return r;
	s->ext = plan_alloc(p, sizeof(*s->ext));
	if (!s->ext)
		return -ENOMEM;
	s->ext->handle2 = handle;
	return 0;
}

static int reach(struct plan *p, const struct event *ev, struct plan_lane *l, struct plan_node *n,
	struct plan_step *s)
{
	struct plan_ext *x = s->ext;
	int r;

	if (ev->op == OP_STATFS)
		return 0;
	if (ev->op == OP_TMPFILE) {
		n = plan_node_get(p, ev->parent);
		s->dir = n ? n->index : 0;
		return !n ? -ENOMEM : !plan_node_reachable(p, n);
	}
	if (has(ev, FIELD_PARENT)) {
		r = reach_entry(p, ev->parent, ev->name, &s->dir, &s->name);
		if (!r && ev->op == OP_RENAME)
			r = reach_rename(p, ev, x);
		if (!r && ev->op == OP_LINK)
			r = n ? reach_inode(p, l, n, s, &x->dir2, &x->name2, &x->handle2) : 1;
		return r;
	}
	if (ev->op != OP_OPEN && ev->op != OP_OPENDIR && ev->oid) {
		struct plan_handle *h = u64map_ptr(&p->open, ev->oid);

		if (h && ev->op == OP_FLUSH)
			h->last_flush = s;
		if (h)
			use_handle(s, h);
		if (h && ev->op == OP_COPY_FILE_RANGE)
			return reach_by_handle(p, ev->oid2, &x->handle2, s);
		if (h || (ev->op != OP_GETATTR && ev->op != OP_SETATTR))
			return !h;
	}
	if (!n)
		return 1;
	if (ev->op == OP_OPEN || ev->op == OP_OPENDIR)
		return reach_open(p, l, n, s);
	return reach_inode(p, l, n, s, &s->dir, &s->name, &s->handle);
}

static void count_uses(struct plan *p, struct plan_step *s)
{
	if (s->dir)
		p->nodes[s->dir]->dir_uses++;
	if (s->ext && s->ext->dir2)
		p->nodes[s->ext->dir2]->dir_uses++;
}

static void describe_content(struct plan_step *s, struct plan_node *n, const struct event *ev)
{
	s->content = ev->content;
	if (ev->first_touch)
		s->bits |= STEP_TOUCH;
	if (ev->content == EVENT_CONTENT_SAMPLE && n)
		memcpy(n->ratio, ev->ratio, 2);
	memcpy(s->ratio, ev->content == EVENT_CONTENT_LIKE && n ? n->ratio : ev->ratio, 2);
}

int plan_step_new(struct plan *p, const struct event *ev, struct plan_step **out)
{
	struct plan_node *n = ev->iid ? plan_node_get(p, ev->iid) : NULL;
	struct plan_lane *l = plan_lane_get(p, ev->lane);
	struct plan_step *s = plan_alloc(p, sizeof(*s));
	int r;

	if (!l || !s || (ev->iid && !n) || plan_grow(&l->steps, &l->cap, l->n, sizeof(*l->steps)))
		return -ENOMEM;
	p->fifos |= ev->op == OP_MKNOD && S_ISFIFO(ev->mode);
	s->seq = ev->seq;
	s->op = ev->op;
	s->start_ns = ev->start_ns;
	s->dur_ns = ev->dur_ns;
	if (waited(ev)) {
		s->start_ns = plan_step_end(s);
		s->dur_ns = 0;
	}
	s->result = ev->result;
	s->offset = ev->offset;
	s->size = ev->size;
	s->iid = ev->iid;
	s->oid = ev->oid;
	s->node = n ? n->index : 0;
	s->flags = ev->flags;
	s->mode = ev->mode;
	s->lane = (uint32_t)(l - p->lanes);
	s->index = l->n;
	s->before_ns = INT64_MAX;
	describe_content(s, n, ev);
	r = ext_new(p, ev, s);
	if (!r)
		r = reach(p, ev, l, n, s);
	if (!r)
		r = plan_lock_step(p, ev, s);
	if (r < 0)
		return r;
	if (r)
		s->bits |= STEP_SKIP;
	else
		count_uses(p, s);
	if (!r && plan_privileged_step(p, ev, s))
		s->bits |= STEP_PRIVILEGED;
	if (ev->op == OP_READ || ev->op == OP_WRITE || ev->op == OP_READDIR ||
		ev->op == OP_READDIRPLUS)
		l->max_io = MAX(l->max_io, ev->size);
	l->steps[l->n++] = s;
	*out = s;
	return 0;
}

static struct bytes name_bytes(const struct plan_name *n)
{
	return n ? (struct bytes){n->s, n->n} : (struct bytes){"", 0};
}

void plan_step_event(const struct plan *p, const struct plan_step *s, struct event *ev)
{
	const struct plan_ext *x = s->ext;

	*ev = (struct event){
		.seq = s->seq,
		.start_ns = s->start_ns,
		.dur_ns = s->dur_ns,
		.result = s->result,
		.op = s->op,
		.lane = p->lanes[s->lane].id,
		.offset = s->offset,
		.size = s->size,
		.iid = s->iid,
		.oid = s->oid,
		.flags = s->flags,
		.mode = s->mode,
		.content = s->content,
		.first_touch = !!(s->bits & STEP_TOUCH),
	};
	if (s->content == EVENT_CONTENT_SAMPLE)
		memcpy(ev->ratio, s->ratio, 2);
	if (op_info[s->op].fields & FIELD_BIT(FIELD_PARENT)) {
		ev->parent = s->dir ? p->nodes[s->dir]->iid : 0;
		ev->name = name_bytes(s->name);
	}
	if (!x)
		return;
	ev->iid2 = x->iid2;
	ev->oid2 = x->oid2;
	ev->offset2 = x->offset2;
	ev->rdev = x->rdev;
	ev->arg = x->arg;
	ev->atime_ns = x->atime_ns;
	ev->mtime_ns = x->mtime_ns;
	ev->uid = x->uid;
	ev->gid = x->gid;
	ev->target = x->target;
	if (is_xattr(s->op))
		ev->name = x->attr;
	if (s->op == OP_RENAME && x->dir2) {
		ev->parent2 = p->nodes[x->dir2]->iid;
		ev->name2 = name_bytes(x->name2);
	}
}
