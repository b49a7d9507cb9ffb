/* SPDX-License-Identifier: MIT */
/*
 * The plan of a replay: what the trace says, turned into steps that a thread can issue one after
 * the other without looking anything up, each with the steps of other lanes that it has to wait
 * for. Built in one pass over the events as they come out of fold.c; immutable afterwards, shared
 * by all rounds and threads. It opens nothing and knows no backend.
 */
#include "plan_build_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int keep_event(
	struct plan *p, struct event **list, size_t *n, size_t *cap, const struct event *ev)
{
	struct event *bigger, *e;

	if (*n == *cap) {
		size_t want = *cap ? *cap * 2 : 64;

		bigger = realloc(*list, want * sizeof(**list));
		if (!bigger)
			return fail(-ENOMEM, "out of memory for the plan of this trace");
		*list = bigger;
		*cap = want;
	}
	e = &(*list)[*n];
	*e = *ev;
	if (plan_copy_bytes(p, &e->name) || plan_copy_bytes(p, &e->name2) ||
		plan_copy_bytes(p, &e->target))
		return -ENOMEM;
	++*n;
	return 0;
}

/* The close(2) of a handle is its last flush, unless somebody (a mapping) used it later. */
static void settle_close(struct plan *p, const struct event *ev, bool folded, struct plan_step *s)
{
	struct plan_handle *h = u64map_ptr(&p->open, ev->oid);

	if (!h)
		return;
	if (!folded && s)
		s->bits |= STEP_CLOSES;
	else if (h->last_flush && h->last_flush == h->last_use)
		h->last_flush->bits |= STEP_CLOSES;
}

static void count_step(struct plan *p, const struct plan_step *s)
{
	p->info.steps++;
	if (s->result <= 0)
		return;
	if (s->op == OP_READ)
		p->info.read_bytes += (uint64_t)s->result;
	if (s->op == OP_WRITE || s->op == OP_COPY_FILE_RANGE)
		p->info.write_bytes += (uint64_t)s->result;
}

static void note_lookup(struct plan *p, const struct event *ev)
{
	struct plan_node *dir = u64map_ptr(&p->node_index, ev->parent);
	struct plan_lane *l = plan_lane_get(p, ev->lane);
	struct plan_entry *e = dir ? plan_entry_get(p, dir, ev->name) : NULL;

	if (l && e)
		plan_lane_looked_up(l, e);
}

static int take(void *ctx, const struct event *ev, bool folded)
{
	struct plan *p = ctx;
	enum op_class class = op_info[ev->op].class;
	struct plan_step *s = NULL;
	int r;

	if (class == OPC_SNAP) {
		r = plan_names_snap(p, ev);
		return r ? r : keep_event(p, &p->snaps, &p->n_snaps, &p->cap_snaps, ev);
	}
	if (class == OPC_NOTE)
		return keep_event(p, &p->notes, &p->n_notes, &p->cap_notes, ev);
	if (!filter_match(p->filter, ev))
		return 0;
	if (folded) {
		p->info.folded++;
	} else {
		r = plan_step_new(p, ev, &s);
		if (!r)
			r = plan_order_step(p, ev, s);
		if (r)
			return r;
		count_step(p, s);
	}
	if (ev->op == OP_RELEASE || ev->op == OP_RELEASEDIR)
		settle_close(p, ev, folded, s);
	r = plan_apply(p, ev, s);
	if (!r && ev->op == OP_LOOKUP && ev->result >= 0)
		note_lookup(p, ev);
	return r;
}

static int plan_new(struct plan **out)
{
	struct plan *p = calloc(1, sizeof(*p));
	struct plan_node *root;

	if (!p)
		return fail(-ENOMEM, "out of memory for the plan of this trace");
	u64map_init(&p->lane_index);
	u64map_init(&p->node_index);
	u64map_init(&p->entries);
	u64map_init(&p->open);
	p->n_nodes = p->n_handles = 1;
	if (plan_grow(&p->nodes, &p->cap_nodes, 0, sizeof(*p->nodes)) ||
		plan_grow(&p->handles, &p->cap_handles, 0, sizeof(*p->handles)))
		goto out;
	root = plan_node_get(p, EVENT_ROOT_IID);
	if (!root)
		goto out;
	root->mode = S_IFDIR;
	*out = p;
	return 0;
out:
	plan_free(p);
	return -ENOMEM;
}

static int plan_fill(struct plan *p, struct trace_reader *r)
{
	struct fold *fold = NULL;
	struct event ev;
	uint64_t events = 0;
	int n, err = fold_new(&fold, take, p);

	while (!err && (n = trace_reader_next(r, &ev)) != 0) {
		err = n < 0 ? n : fold_put(fold, &ev);
		if (!err)
			err = plan_memory_check(p, ++events);
	}
	if (!err)
		err = fold_end(fold);
	fold_free(fold);
	return err ? err : plan_order_finish(p);
}

int plan_read_within(struct plan **out, struct trace_reader *r, enum replay_order order,
	const struct filter *f, uint64_t memory_limit)
{
	struct plan *p = NULL;
	int err = plan_new(&p);

	if (err)
		return err;
	p->order = order;
	p->filter = f;
	plan_memory_begin(p, memory_limit);
	err = plan_fill(p, r);
	plan_order_fini(p);
	if (err) {
		plan_free(p);
		return err;
	}
	p->info.cut = trace_reader_cut(r);
	for (uint32_t i = 0; i < p->n_lanes; i++)
		p->info.lanes += p->lanes[i].n > 0 && p->lanes[i].id > 0;
	p->info.space_bytes = plan_space_peak(p);
	*out = p;
	return 0;
}

int plan_read(
	struct plan **out, struct trace_reader *r, enum replay_order order, const struct filter *f)
{
	return plan_read_within(out, r, order, f, plan_memory_limit());
}

void plan_info(const struct plan *p, struct plan_info *info)
{
	*info = p->info;
}

size_t plan_snaps(const struct plan *p, const struct event **out)
{
	*out = p->snaps;
	return p->n_snaps;
}

int plan_final(const struct plan *p, plan_final_fn fn, void *ctx)
{
	for (uint32_t i = 1; i < p->n_nodes; i++)
		for (const struct plan_entry *e = p->nodes[i]->entries; e; e = e->next) {
			const struct plan_node *n = p->nodes[i];
			struct plan_final f = {
				.parent = p->nodes[e->dir]->iid,
				.iid = n->iid,
				.name = {e->name->s, e->name->n},
				.mode = n->mode,
				.size = n->size,
				.size_known = n->size_known,
				.target = n->target,
				.links = n->links,
			};
			int r = fn(ctx, &f);

			if (r)
				return r;
		}
	return 0;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	plan_order_fini(p);
	for (uint32_t i = 0; i < p->n_lanes; i++)
		free(p->lanes[i].steps);
	free(p->lanes);
	free(p->nodes);
	free(p->handles);
	free(p->snaps);
	free(p->notes);
	free(p->preds);
	u64map_fini(&p->lane_index);
	u64map_fini(&p->node_index);
	u64map_fini(&p->entries);
	u64map_fini(&p->open);
	plan_arena_fini(&p->arena);
	free(p);
}
