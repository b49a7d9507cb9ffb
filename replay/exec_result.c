/* SPDX-License-Identifier: MIT */
/*
 * What is left when the threads have ended: steps in order of completion as events again, their
 * statistics, how late each started, how many were under way, and whether any started before one
 * that it had to wait for had ended.
 */
#include "exec_priv.h"

#include <stdio.h>
#include <string.h>

#include "iotape/stats.h"

struct done {
	const struct plan_step *s;
	const struct exec_rec *r;
};

static int by_end(const void *a, const void *b)
{
	const struct done *x = a, *y = b;

	if (x->r->end_ns != y->r->end_ns)
		return x->r->end_ns < y->r->end_ns ? -1 : 1;
	return (x->s->seq > y->s->seq) - (x->s->seq < y->s->seq);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static size_t gather(const struct exec *x, struct done *list)
{
	size_t n = 0;

	for (uint32_t l = 0; l < x->p->n_lanes; l++)
		for (uint32_t i = 0; i < x->p->lanes[l].n; i++)
			if (x->recs[l][i].done)
				list[n++] = (struct done){x->p->lanes[l].steps[i], &x->recs[l][i]};
	for (size_t i = 1; i < n; i++)
		if (by_end(&list[i - 1], &list[i]) > 0) {
			qsort(list, n, sizeof(*list), by_end);
			break;
		}
	return n;
}

static void describe(const struct exec *x, const struct plan_step *s, struct replay_mismatch *m,
	int64_t replayed)
{
	struct event ev;
	char name[64], name2[64];
	size_t n;

	plan_step_event(x->p, s, &ev);
	*m = (struct replay_mismatch){
		.seq = s->seq, .op = s->op, .recorded = s->result, .replayed = replayed};
	if (!ev.name.n && s->name)
		ev.name = (struct bytes){s->name->s, s->name->n};
	ev.name.n = MIN(ev.name.n, 15);
	ev.name2.n = MIN(ev.name2.n, 15);
	bytes_escape(name, sizeof(name), ev.name);
	bytes_escape(name2, sizeof(name2), ev.name2);
	n = (size_t)snprintf(m->what, sizeof(m->what), "%s", op_info[s->op].name);
	if (ev.name.n)
		n += (size_t)snprintf(m->what + n, sizeof(m->what) - n, " \"%s\"", name);
	if (ev.name2.n && n < sizeof(m->what))
		n += (size_t)snprintf(m->what + n, sizeof(m->what) - n, " \"%s\"", name2);
	if (s->oid && n < sizeof(m->what))
		n += (size_t)snprintf(
			m->what + n, sizeof(m->what) - n, " oid=%llu", (unsigned long long)s->oid);
	if (op_info[s->op].class == OPC_DATA && n < sizeof(m->what))
		snprintf(m->what + n, sizeof(m->what) - n, " offset=%llu size=%llu",
			(unsigned long long)s->offset, (unsigned long long)s->size);
}

static void count(const struct exec *x, const struct done *d, struct replay_result *out)
{
	const struct plan_step *s = d->s;

	out->steps++;
	switch (d->r->verdict) {
	case EXEC_MATCHED:
		out->matched++;
		break;
	case EXEC_ENVIRONMENT:
		out->environmental++;
		break;
	case EXEC_SKIPPED:
		out->skipped++;
		out->withheld += exec_withheld(x, s);
		return;
	default:
		out->mismatched++;
		out->op_mismatched[s->op]++;
		if (out->n_first < REPLAY_MISMATCH_KEEP)
			describe(x, s, &out->first[out->n_first++], d->r->result);
	}
	if (s->op == OP_READ && s->result > 0)
		out->recorded_read_bytes += (uint64_t)s->result;
	if ((s->op == OP_WRITE || s->op == OP_COPY_FILE_RANGE) && s->result > 0)
		out->recorded_write_bytes += (uint64_t)s->result;
}

/* The earliest moment that the plan allowed: when the last of what it waits for had ended. */
static void measure_start(const struct exec *x, const struct done *d, struct replay_result *out)
{
	const struct plan_step *s = d->s;
	int64_t allowed = x->start_ns, target = pace_target(x, s);

	if (s->index)
		allowed = MAX(allowed, x->recs[s->lane][s->index - 1].end_ns);
	for (uint32_t i = 0; i < s->n_preds; i++) {
		const struct plan_pred *pred = &x->p->preds[s->preds + i];
		const struct exec_rec *r = &x->recs[pred->lane][pred->index];

		if (!r->done || r->end_ns > d->r->start_ns)
			out->order_violations++;
		allowed = MAX(allowed, r->end_ns);
	}
	if (x->o->pace == REPLAY_PACE_CLOCK)
		allowed = target;
	else
		allowed = MAX(allowed, target);
	hist_add(&out->start_lag, (uint64_t)MAX(d->r->start_ns - allowed, 0));
}

static int measure_in_flight(const struct done *list, size_t n, struct replay_result *out)
{
	_free_ int64_t *starts = malloc((n + 1) * sizeof(*starts));
	size_t over = 0;

	if (!starts)
		return fail(-ENOMEM, "out of memory for the result of the replay");
	for (size_t i = 0; i < n; i++)
		starts[i] = list[i].r->start_ns;
	qsort(starts, n, sizeof(*starts), by_number);
	for (size_t i = 0; i < n; i++) {
		while (over < i && list[over].r->end_ns <= starts[i])
			over++;
		hist_add(&out->in_flight, i + 1 - over);
	}
	return 0;
}

struct emit {
	const struct exec *x;
	struct replay_result *out;
	uint64_t seq;
	size_t notes; /* handed over so far */
};

static int emit_one(struct emit *e, struct event *ev)
{
	const struct replay_opts *o = e->x->o;

	ev->seq = ++e->seq;
	return o->emit ? o->emit(o->emit_ctx, ev) : 0;
}

static int emit_initial(struct emit *e)
{
	const struct plan *p = e->x->p;
	int r = 0;

	if (!e->x->o->emit)
		return 0;
	for (size_t i = 0; i < p->n_snaps && !r; i++) {
		struct event ev = p->snaps[i];

		r = emit_one(e, &ev);
	}
	for (size_t i = 0; i < p->n_notes && !r; i++) {
		struct event ev = p->notes[i];

		if (ev.op == OP_LANE)
			r = emit_one(e, &ev);
	}
	return r;
}

/* Marks of the recording go before the first step that followed them there. */
static int emit_marks(struct emit *e, uint64_t before_seq, int64_t at_ns)
{
	const struct plan *p = e->x->p;
	int r = 0;

	for (; e->notes < p->n_notes && p->notes[e->notes].seq < before_seq && !r; e->notes++) {
		struct event ev = p->notes[e->notes];

		ev.start_ns = at_ns;
		if (ev.op == OP_MARK)
			r = emit_one(e, &ev);
	}
	return r;
}

static int emit_step(struct emit *e, const struct done *d)
{
	const struct plan_step *s = d->s;
	struct event ev;
	int r;

	r = emit_marks(e, s->seq, d->r->start_ns - e->x->start_ns);
	if (r || d->r->verdict == EXEC_SKIPPED)
		return r;
	plan_step_event(e->x->p, s, &ev);
	ev.start_ns = d->r->start_ns - e->x->start_ns;
	ev.dur_ns = (uint64_t)(d->r->end_ns - d->r->start_ns);
	ev.result = d->r->result;
	r = stats_put(&e->out->stats, &ev);
	if (!r)
		r = emit_one(e, &ev);
	if (r || !(s->bits & STEP_CLOSES) || s->op != OP_FLUSH)
		return r;
	/* the other half of the close(2), so that the result is a trace that ends its handles */
	ev.op = OP_RELEASE;
	ev.start_ns += (int64_t)ev.dur_ns;
	ev.dur_ns = 0;
	ev.result = 0;
	return emit_one(e, &ev);
}

int exec_result(struct exec *x, struct replay_result *out)
{
	_free_ struct done *list = malloc((x->p->info.steps + 1) * sizeof(*list));
	struct emit e = {.x = x, .out = out};
	int64_t first = INT64_MAX, last = 0;
	size_t n;
	int r;

	if (!list)
		return fail(-ENOMEM, "out of memory for the result of the replay");
	n = gather(x, list);
	r = emit_initial(&e);
	for (size_t i = 0; i < n && !r; i++) {
		count(x, &list[i], out);
		measure_start(x, &list[i], out);
		first = MIN(first, list[i].r->start_ns);
		last = MAX(last, list[i].r->end_ns);
		r = emit_step(&e, &list[i]);
	}
	if (!r)
		r = measure_in_flight(list, n, out);
	out->seconds = (n ? (double)(last - first) / 1e9 : 0) + out->sync_seconds;
	out->direct_refused = atomic_load(&x->direct_refused);
	return r;
}

void replay_result_fini(struct replay_result *r)
{
	stats_fini(&r->stats);
}

double replay_matched_percent(const struct replay_result *r)
{
	uint64_t of = r->matched + r->mismatched;

	return of ? 100.0 * (double)r->matched / (double)of : 100.0;
}
