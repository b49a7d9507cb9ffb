/* SPDX-License-Identifier: MIT */
/*
 * The experiment: rounds over all cells (workload x backend) in fresh random order, each on storage
 * made anew: up, initial tree, cold caches, replay, fidelity, down. The one idea: a cell leaves
 * nothing behind that the next could profit or suffer from, and every way out of it goes through
 * backend_down(). Plans are read once and shared. What the figures mean is decided in summary.c.
 */
#include "iotape/compare.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

struct experiment {
	const struct compare_opts *o;
	struct compare *c;
	struct plan **plans; /* one a workload */
	size_t *order;       /* cells of the round */
	struct compare_random random;
	unsigned done, total;
	char doing[160]; /* for progress: the run under way */
	uint64_t steps;  /* of it */
};

static bool stopped(const struct experiment *x)
{
	return x->o->replay.stop && *x->o->replay.stop;
}

static char *copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

static int read_plan(struct experiment *x, size_t w)
{
	const struct compare_workload *in = &x->o->workloads[w];
	struct compare_of *of = &x->c->workloads[w];
	struct trace_reader *r = NULL;
	int err;

	of->name = copy(in->name);
	of->trace = copy(in->path);
	if (!of->name || !of->trace)
		return fail(-ENOMEM, "out of memory");
	err = trace_reader_open(&r, in->path);
	if (!err)
		err = plan_read(&x->plans[w], r, x->o->order, x->o->filter);
	trace_reader_close(r);
	if (err)
		return err;
	plan_info(x->plans[w], &of->plan);
	if (!of->plan.steps)
		return fail(-ENODATA, "%s: nothing to replay; the trace%s holds no operation",
			in->path, x->o->filter ? ", filtered," : "");
	return 0;
}

static int describe_backend(struct compare_on *on, const struct backend *b)
{
	on->name = copy(backend_name(b));
	on->kind = copy(backend_kind(b));
	on->spec = copy(backend_spec(b));
	return on->name && on->kind && on->spec ? 0 : fail(-ENOMEM, "out of memory");
}

/* What is known once it is up; kept from the first time. */
static void describe_how(struct compare_on *on, const struct backend *b)
{
	if (!on->fs)
		on->fs = copy(backend_fs(b));
	if (!on->how)
		on->how = copy(backend_how(b));
}

static int check_space(const struct experiment *x, size_t w, const struct backend *b)
{
	uint64_t need = x->c->workloads[w].plan.space_bytes, have;

	if (backend_root_fd(b) < 0 || x->o->force)
		return 0;
	have = backend_capacity_bytes(b);
	if (!have || need <= have)
		return 0;
	return fail(-ENOSPC,
		"%s needs up to %" PRIu64 " MiB and %s has %" PRIu64
		" MiB free; give it a larger size= or use --force",
		x->c->workloads[w].name, (need >> 20) + 1, backend_name(b), have >> 20);
}

/* Fidelity decides whether the time is of the recorded work at all. */
static int check_fidelity(const struct experiment *x, size_t w, const struct backend *b,
	const struct replay_result *res)
{
	if (x->o->force)
		return 0;
	if (res->mismatched && res->n_first)
		return fail(-EILSEQ,
			"%s on %s: refused, %" PRIu64 " of %" PRIu64
			" results differ from the recording, first operation %" PRIu64
			" %s: recorded %" PRId64 ", now %" PRId64 "; --force goes on",
			x->c->workloads[w].name, backend_name(b), res->mismatched, res->steps,
			res->first[0].seq, res->first[0].what, res->first[0].recorded,
			res->first[0].replayed);
	if (res->mismatched)
		return fail(-EILSEQ,
			"%s on %s: refused, %" PRIu64 " of %" PRIu64
			" results differ from the recording; --force goes on",
			x->c->workloads[w].name, backend_name(b), res->mismatched, res->steps);
	if (res->withheld)
		return fail(-EILSEQ,
			"%s on %s: refused, %" PRIu64
			" operations were left out for want of privileges%s; --force goes on",
			x->c->workloads[w].name, backend_name(b), res->withheld,
			x->o->replay.privileged ? "" : ", --privileged makes devices too");
	if (res->order_violations)
		return fail(-EILSEQ,
			"%s on %s: refused, %" PRIu64
			" steps started before those that they depend on had ended",
			x->c->workloads[w].name, backend_name(b), res->order_violations);
	return 0;
}

static int check_tree(
	const struct experiment *x, size_t w, const struct backend *b, struct report_run *run)
{
	char text[512] = "";
	int err;

	if (!x->o->check_tree || backend_root_fd(b) < 0)
		return 0;
	err = replay_check_tree(
		x->plans[w], backend_root_fd(b), &run->tree_differences, text, sizeof(text));
	if (err)
		return err;
	run->tree_checked = true;
	if (run->tree_differences && !x->o->force)
		return fail(-EILSEQ,
			"%s on %s: refused, the tree differs from what the recording left: %s; "
			"--force goes on",
			x->c->workloads[w].name, backend_name(b), text);
	return 0;
}

/* What the storage did not take, and where that was. */
static int failed_on(const struct experiment *x, size_t w, const struct backend *b, int err)
{
	backend_explain(b, err);
	return fail_in(err, "%s on %s", x->c->workloads[w].name, backend_name(b));
}

static void within_run(void *ctx, uint64_t steps, uint64_t bytes)
{
	const struct experiment *x = ctx;

	(void)bytes;
	x->o->progress(x->o->progress_ctx, x->doing,
		x->done + (double)MIN(steps, x->steps) / (double)x->steps, x->total);
}

static int replay_on(struct experiment *x, size_t w, struct backend *b, struct report_run *run,
	struct hist *data)
{
	struct replay_opts opts = x->o->replay;
	struct replay_result *res = NULL;
	bool cached;
	int err = replay_ready(x->plans[w], b,
		&(struct replay_ready){&x->o->replay, x->o->no_prepare, x->o->cold}, NULL, &cached);

	if (err)
		return failed_on(x, w, b, err);
	res = calloc(1, sizeof(*res));
	if (!res)
		return fail(-ENOMEM, "out of memory");
	x->steps = x->c->workloads[w].plan.steps;
	if (x->o->progress) {
		opts.progress = within_run;
		opts.progress_ctx = x;
	}
	err = replay_run(x->plans[w], backend_root_fd(b), &opts, res);
	if (err) {
		failed_on(x, w, b, err);
	} else {
		report_measure(run, res);
		run->cached = cached;
		run->allocated_bytes = backend_allocated_bytes(b);
		err = check_fidelity(x, w, b, res);
		if (!err)
			err = check_tree(x, w, b, run);
		if (!err)
			report_data_calls(data, res);
		replay_result_fini(res);
	}
	free(res);
	return err;
}

static int run_cell(struct experiment *x, size_t index, unsigned round)
{
	size_t w = index / x->o->n_backends;
	struct backend *b = x->o->backends[index % x->o->n_backends];
	struct compare_cell *cell = &x->c->cells[index];
	struct report_run *run = &cell->runs[cell->n_runs];
	int err;

	snprintf(x->doing, sizeof(x->doing), "round %u of %u, %s on %s", round, x->o->rounds,
		x->c->workloads[w].name, backend_name(b));
	if (x->o->progress)
		x->o->progress(x->o->progress_ctx, x->doing, x->done, x->total);
	err = backend_up(b);
	if (err)
		return err;
	describe_how(&x->c->backends[index % x->o->n_backends], b);
	err = check_space(x, w, b);
	if (!err)
		err = replay_on(x, w, b, run, &cell->data);
	if (err) {
		/* what went wrong first is what must be told */
		char why[1024];

		snprintf(why, sizeof(why), "%s", fail_text());
		backend_down(b);
		return fail(err, "%s", why);
	}
	err = backend_down(b);
	if (err)
		return err;
	run->round = round;
	run->position = ++x->done;
	cell->n_runs++;
	return 0;
}

static int run_rounds(struct experiment *x)
{
	size_t n = x->o->n_workloads * x->o->n_backends;

	for (unsigned round = 1; round <= x->o->rounds; round++) {
		compare_shuffle(&x->random, x->o->n_workloads, x->o->n_backends, x->order);
		for (size_t i = 0; i < n; i++) {
			int err = stopped(x) ? -EINTR : run_cell(x, x->order[i], round);

			/* a signal reaches helpers too: what fails then is no failure */
			if (err && stopped(x)) {
				x->c->interrupted = true;
				return 0;
			}
			if (err)
				return err;
		}
	}
	if (x->o->progress)
		x->o->progress(x->o->progress_ctx, "done", x->done, x->total);
	return 0;
}

static void copy_settings(struct compare *c, const struct compare_opts *o)
{
	c->seed = o->seed;
	c->limit = o->limit;
	c->order = o->order;
	c->pace = o->replay.pace;
	c->speed = o->replay.speed;
	c->cold = o->cold;
	c->synced = !o->replay.no_sync;
	c->baseline = o->baseline;
	report_machine(&c->machine);
}

static int begin(struct experiment *x)
{
	const struct compare_opts *o = x->o;
	int err = compare_new(&x->c, o->n_workloads, o->n_backends, o->rounds);

	if (err)
		return err;
	copy_settings(x->c, o);
	x->total = (unsigned)(o->n_workloads * o->n_backends) * o->rounds;
	x->plans = calloc(o->n_workloads, sizeof(struct plan *));
	x->order = calloc(o->n_workloads * o->n_backends, sizeof(*x->order));
	if (!x->plans || !x->order)
		return fail(-ENOMEM, "out of memory");
	for (size_t b = 0; b < o->n_backends && !err; b++) {
		err = describe_backend(&x->c->backends[b], o->backends[b]);
		if (!err)
			err = backend_check(o->backends[b]);
		if (err)
			return fail_in(err, "backend %s", backend_name(o->backends[b]));
	}
	for (size_t w = 0; w < o->n_workloads && !err; w++)
		err = read_plan(x, w);
	return err;
}

int compare_run(struct compare **out, const struct compare_opts *o)
{
	struct experiment x = {.o = o, .random = {o->seed}};
	int err;

	if (!o->n_workloads || !o->n_backends || !o->rounds || o->baseline >= o->n_backends)
		return fail(-EINVAL, "a comparison needs a trace, a backend and a round");
	err = begin(&x);
	if (!err)
		err = run_rounds(&x);
	if (!err)
		err = compare_summarise(x.c);
	for (size_t w = 0; x.plans && w < o->n_workloads; w++)
		plan_free(x.plans[w]);
	free(x.plans);
	free(x.order);
	if (err) {
		compare_free(x.c);
		return err;
	}
	*out = x.c;
	return 0;
}
