/* SPDX-License-Identifier: MIT */
/*
 * replay: one trace on one backend, once. Stands the backend up, builds the initial tree, drops the
 * caches, runs, checks the tree and takes all down again; replay_report.c prints what came of
 * it. Whatever happens on the way, what was made is taken away again.
 */
#include "replay_cmd.h"

#include <errno.h>
#include <string.h>
#include <time.h>

struct options {
	struct replay_options shared;
	const char *trace, *backend, *out;
};

struct job {
	const struct options *o;
	struct trace_reader *reader;
	struct plan *plan;
	struct backend *backend;
	struct trace_writer *writer;
	struct cli_output out;
	struct cli_progress progress;
	struct replay_report report;
};

/* ---- FILE2: the replay as a trace ---- */

static bool to_stdout(const struct options *o)
{
	return o->out && !strcmp(o->out, "-");
}

static int out_open(struct job *j)
{
	const struct options *o = j->o;
	struct trace_header h;
	struct timespec wall;
	int r;

	if (!o->out)
		return 0;
	r = to_stdout(o) ? cli_not_to_terminal("replay") : 0;
	if (!r)
		r = cli_output_open(&j->out, o->out, o->shared.force);
	if (r)
		return r;
	r = trace_header_copy(&h, trace_reader_header(j->reader));
	if (r)
		return r;
	free(h.recorder);
	free(h.source_kind);
	h.recorder = strdup("iotape " IOTAPE_VERSION);
	h.source_kind = strdup("replay");
	clock_gettime(CLOCK_REALTIME, &wall);
	h.start_wall_ns = wall.tv_sec * INT64_C(1000000000) + wall.tv_nsec;
	h.start_mono_ns = util_now_ns();
	r = trace_writer_open(&j->writer, j->out.fd, &h);
	trace_header_fini(&h);
	return r;
}

/* r: how the replay went; it stays so, or is what failed here. */
static int out_finish(struct job *j, int r)
{
	char reason[] = "replayed";
	struct trace_trailer t = {.end_mono_ns = util_now_ns(), .reason = reason};

	if (!r && j->writer)
		r = trace_writer_finish(j->writer, &t);
	return cli_output_close(&j->out, r);
}

/* ---- the run ---- */

static void show(void *ctx, uint64_t steps, uint64_t bytes)
{
	struct job *j = ctx;

	cli_progress_update(&j->progress, steps, j->report.plan.steps, bytes);
}

static int stopped(void)
{
	return cli_stop_flag ? fail(-EINTR, "replay: interrupted; everything it made is removed")
			     : 0;
}

static int make_ready(struct job *j)
{
	const struct replay_options *o = &j->o->shared;
	struct replay_report *rep = &j->report;
	int root = backend_root_fd(j->backend), r;
	uint64_t room;

	if (root < 0)
		return 0;
	room = backend_capacity_bytes(j->backend);
	if (room && room < rep->plan.space_bytes && !o->force)
		return fail(-ENOSPC,
			"%s: %llu MiB free, the trace needs up to %llu MiB: choose a larger size= "
			"or another place, or use --force",
			backend_name(j->backend), (unsigned long long)(room >> 20),
			(unsigned long long)(rep->plan.space_bytes >> 20));
	replay_mark(root, "prepare");
	r = replay_ready(j->plan, j->backend,
		&(struct replay_ready){&o->replay, o->no_prepare, o->cold}, &rep->prepared,
		&rep->run.cached);
	if (rep->run.cached)
		snprintf(rep->cold_text, sizeof(rep->cold_text), "%s", fail_text());
	return cli_stop_flag ? stopped() : r;
}

static int run_once(struct job *j)
{
	struct replay_report *rep = &j->report;
	struct replay_opts opts = j->o->shared.replay;
	bool cached = rep->run.cached;
	int root = backend_root_fd(j->backend), r;

	opts.progress = show;
	opts.progress_ctx = j;
	if (j->writer) {
		opts.emit = trace_writer_sink;
		opts.emit_ctx = j->writer;
	}
	cli_progress_begin(&j->progress, j->o->shared.progress, "replay");
	r = replay_run(j->plan, root, &opts, &rep->result);
	cli_progress_end(&j->progress);
	if (r)
		return r == -EINTR ? stopped() : r;
	rep->done = true;
	report_measure(&rep->run, &rep->result);
	rep->run.cached = cached;
	rep->run.allocated_bytes = backend_allocated_bytes(j->backend);
	if (root < 0 || !j->o->shared.check_tree)
		return 0;
	r = replay_check_tree(
		j->plan, root, &rep->run.tree_differences, rep->tree_text, sizeof(rep->tree_text));
	rep->run.tree_checked = !r;
	return r;
}

static int on_backend(struct job *j)
{
	int r = backend_up(j->backend), down;
	char why[1024];

	if (r)
		return r;
	snprintf(j->report.how, sizeof(j->report.how), "%s", backend_how(j->backend));
	snprintf(j->report.fs, sizeof(j->report.fs), "%s", backend_fs(j->backend));
	r = make_ready(j);
	if (!r)
		r = run_once(j);
	if (r)
		backend_explain(j->backend, r);
	snprintf(why, sizeof(why), "%s", fail_text());
	replay_mark(backend_root_fd(j->backend), "cleanup");
	down = backend_down(j->backend);
	if (r) /* what went wrong first is what must be told */
		return fail(r, "%s", why);
	return down;
}

static int work(struct job *j)
{
	const struct options *o = j->o;
	int r = backend_new(&j->backend, o->backend, &o->shared.policy);

	if (!r)
		r = trace_reader_open(&j->reader, o->trace);
	if (!r)
		r = plan_read(&j->plan, j->reader, o->shared.order, o->shared.filter);
	if (r)
		return r;
	plan_info(j->plan, &j->report.plan);
	if (!j->report.plan.steps)
		return fail(-ENODATA, "%s: nothing to replay in it", o->trace);
	r = backend_check(j->backend);
	if (r)
		return fail_in(r, "backend %s", backend_name(j->backend));
	cli_catch_signals();
	r = out_open(j);
	if (!r)
		r = on_backend(j);
	return out_finish(j, r);
}

static int print(struct job *j)
{
	const struct replay_options *o = &j->o->shared;
	FILE *out = to_stdout(j->o) ? stderr : stdout;
	struct replay_report *rep = &j->report;
	int r;

	rep->trace = j->o->trace;
	rep->backend = j->backend;
	rep->order = report_order_names[o->order];
	rep->pace = report_pace_names[o->replay.pace];
	rep->cache = o->cold ? "cold" : "warm";
	rep->threads = o->replay.threads;
	if (o->format == CLI_JSON)
		replay_report_json(rep, out);
	else
		replay_report_text(rep, out);
	r = cli_flush();
	if (r)
		return r;
	return rep->result.mismatched || rep->result.order_violations || rep->run.tree_differences
		       ? CLI_DIFFERS
		       : CLI_OK;
}

static void job_fini(struct job *j)
{
	trace_writer_close(j->writer);
	backend_free(j->backend);
	if (j->report.done)
		replay_result_fini(&j->report.result);
	plan_free(j->plan);
	trace_reader_close(j->reader);
}

/* ---- options ---- */

static int set(void *ctx, int c)
{
	struct options *o = ctx;

	if (c != 'o')
		return replay_options_set(&o->shared, c);
	o->out = optarg;
	return 0;
}

static const struct option longs[] = {
	{"output", required_argument, NULL, 'o'},
	{0},
};

static const struct cli_spec spec = {
	.cmd = &cmd_replay,
	.longs = longs,
	.more = replay_option_table,
	.shorts = "o:",
	.set = set,
	.min = 2,
	.max = 2,
};

static int replay(const struct options *o)
{
	struct job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return fail(-ENOMEM, "out of memory");
	j->o = o;
	r = work(j);
	if (!r)
		r = print(j);
	job_fini(j);
	free(j);
	return r;
}

static int run(int argc, char **argv)
{
	struct options o = {0};
	int r;

	replay_options_init(&o.shared);
	r = cli_parse(&spec, argc, argv, &o);
	if (r > 0) {
		o.trace = argv[optind];
		o.backend = argv[optind + 1];
		r = replay(&o);
	}
	replay_options_fini(&o.shared);
	return r;
}

const struct command cmd_replay = {"replay", "issue a trace's operations again on other storage",
	"usage: iotape replay [-o FILE2] [options] TRACE BACKEND\n"
	"\n"
	"Builds the tree that the trace began with, issues every recorded operation in\n"
	"order, compares every result with the recording, and takes all away again.\n"
	"Exit status 1: results differ. BACKEND is one of\n" CLI_BACKEND_HELP "\n"
	"    iotape replay copy.tape /mnt/disk\n"
	"    iotape replay copy.tape raid1:a.img,b.img,size=2G --format=json\n"
	"    iotape replay -o again.tape copy.tape /mnt/disk && iotape stat again.tape\n"
	"\n"
	"  -o, --output=FILE2   write the replay as a trace (- is a pipe)\n"
	"  --force              go on when space is short; replace FILE2\n"
	"  --keep               leave what the replay made\n"
	"  --seed=N             of generated data (1)\n" REPLAY_OPTIONS_HELP
	"  --help               print this\n",
	run};
