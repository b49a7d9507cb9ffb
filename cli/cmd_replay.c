/* SPDX-License-Identifier: MIT */
/*
 * replay: one trace on one backend, once. Stands the backend up, builds the initial tree, drops the
 * caches, runs, checks the tree and takes all down again; cmd_replay_report.c prints what came of
 * it. Whatever happens on the way, what was made is taken away again.
 */
#include "replay_cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "iotape/record.h"

static const char *const pace_names[] = {"asap", "think", "clock", NULL};
static const char *const order_names[] = {"trace", "resource", "thread", NULL};
static const char *const append_names[] = {"offset", "native", NULL};
static const char *const cache_names[] = {"cold", "warm", NULL};

struct options {
	const char *trace, *backend, *out, *filter;
	const char *destroy[9]; /* NULL-terminated */
	unsigned n_destroy;
	bool keep, warm, no_prepare, force;
	int progress;
	enum cli_format format;
	enum replay_order order;
	struct replay_opts replay;
};

struct job {
	const struct options *o;
	struct trace_reader *reader;
	struct filter *filter;
	struct plan *plan;
	struct backend *backend;
	struct trace_writer *writer;
	int out_fd;
	bool out_made;
	struct cli_progress progress;
	struct replay_report report;
};

/* ---- FILE2: the replay as a trace ---- */

static int out_open(struct job *j)
{
	const struct options *o = j->o;
	struct trace_header h;
	struct timespec wall;
	int r;

	if (!o->out)
		return 0;
	if (!strcmp(o->out, "-") && isatty(STDOUT_FILENO))
		return fail(-EINVAL, "replay: a trace is binary: not written to a terminal; name a "
				     "file with -o");
	if (!strcmp(o->out, "-"))
		j->out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		j->out_fd = open(o->out,
			O_WRONLY | O_CREAT | O_CLOEXEC | (o->force ? O_TRUNC : O_EXCL), 0666);
	if (j->out_fd < 0)
		return errno == EEXIST ? fail(-EEXIST, "%s: exists; --force replaces it", o->out)
				       : fail(-errno, "%s: %s", o->out, strerror(errno));
	j->out_made = strcmp(o->out, "-") != 0;
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
	r = trace_writer_open(&j->writer, j->out_fd, &h);
	trace_header_fini(&h);
	return r;
}

static int out_finish(struct job *j)
{
	char reason[] = "replayed";
	struct trace_trailer t = {.end_mono_ns = util_now_ns(), .reason = reason};
	int r;

	if (!j->writer)
		return 0;
	r = trace_writer_finish(j->writer, &t);
	if (!r && close(STEAL_FD(j->out_fd)) && errno != EINTR)
		r = fail(-errno, "%s: %s", j->o->out, strerror(errno));
	j->out_made = false; /* whole: it stays */
	return r;
}

/* ---- the run ---- */

static void show(void *ctx, uint64_t steps, uint64_t bytes)
{
	struct job *j = ctx;

	cli_progress_update(&j->progress, steps, j->report.plan.steps, bytes);
}

/* The phases of a replay that is itself recorded; elsewhere nobody listens. */
static void mark(const struct job *j, const char *name)
{
	struct record_mark m = {{0}};
	int fd = backend_root_fd(j->backend);

	snprintf(m.name, sizeof(m.name), "%s", name);
	if (fd >= 0)
		ioctl(fd, RECORD_IOC_MARK, &m);
}

static int stopped(void)
{
	return cli_stop_flag ? fail(-EINTR, "replay: interrupted; everything it made is removed")
			     : 0;
}

static int make_ready(struct job *j)
{
	struct replay_report *rep = &j->report;
	struct replay_opts opts = j->o->replay;
	int root = backend_root_fd(j->backend), r = 0;
	uint64_t room;

	if (root < 0)
		return 0;
	room = backend_capacity_bytes(j->backend);
	if (room && room < rep->plan.space_bytes)
		return fail(-ENOSPC,
			"%s: %llu MiB free, the trace needs up to %llu MiB: choose a larger size= "
			"or another place",
			backend_name(j->backend), (unsigned long long)(room >> 20),
			(unsigned long long)(rep->plan.space_bytes >> 20));
	mark(j, "prepare");
	opts.stop = &cli_stop_flag;
	if (!j->o->no_prepare)
		r = prepare_tree(j->plan, root, &opts, &rep->prepared);
	if (!r || cli_stop_flag)
		r = stopped();
	if (!r && !j->o->warm && backend_cold(j->backend)) {
		rep->run.cached = true;
		snprintf(rep->cold_text, sizeof(rep->cold_text), "%s", fail_text());
	} else if (!r && j->o->warm && syncfs(root)) {
		r = fail(-errno, "%s: sync of the prepared tree: %s", backend_name(j->backend),
			strerror(errno));
	}
	return r;
}

static int run_once(struct job *j)
{
	struct replay_report *rep = &j->report;
	struct replay_opts opts = j->o->replay;
	bool cached = rep->run.cached;
	int root = backend_root_fd(j->backend), r;

	opts.stop = &cli_stop_flag;
	opts.progress = show;
	opts.progress_ctx = j;
	if (j->writer) {
		opts.emit = trace_writer_sink;
		opts.emit_ctx = j->writer;
	}
	cli_progress_begin(&j->progress, j->o->progress, "replay");
	r = replay_run(j->plan, root, &opts, &rep->result);
	cli_progress_end(&j->progress);
	if (r)
		return r == -EINTR ? stopped() : r;
	rep->done = true;
	report_measure(&rep->run, &rep->result);
	rep->run.cached = cached;
	rep->run.allocated_bytes = backend_allocated_bytes(j->backend);
	if (root < 0)
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
		return fail_in(r, "backend %s", backend_name(j->backend));
	snprintf(j->report.how, sizeof(j->report.how), "%s", backend_how(j->backend));
	snprintf(j->report.fs, sizeof(j->report.fs), "%s", backend_fs(j->backend));
	r = make_ready(j);
	if (!r)
		r = run_once(j);
	snprintf(why, sizeof(why), "%s", fail_text());
	mark(j, "cleanup");
	down = backend_down(j->backend);
	if (r) /* what went wrong first is what must be told */
		return fail(r, "%s", why);
	return down ? fail_in(down, "backend %s", backend_name(j->backend)) : 0;
}

static int work(struct job *j)
{
	const struct options *o = j->o;
	const struct backend_policy policy = {
		.destroy = o->destroy, .keep = o->keep, .stop = &cli_stop_flag};
	int r = 0;

	if (o->filter)
		r = filter_parse(&j->filter, o->filter);
	if (!r)
		r = backend_new(&j->backend, o->backend, &policy);
	if (!r)
		r = trace_reader_open(&j->reader, o->trace);
	if (!r)
		r = plan_read(&j->plan, j->reader, o->order, j->filter);
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
	if (!r)
		r = out_finish(j);
	return r;
}

static int print(struct job *j)
{
	const struct options *o = j->o;
	FILE *out = o->out && !strcmp(o->out, "-") ? stderr : stdout;
	struct replay_report *rep = &j->report;
	int r;

	rep->trace = o->trace;
	rep->backend = j->backend;
	rep->order = order_names[o->order];
	rep->pace = pace_names[o->replay.pace];
	rep->cache = cache_names[o->warm];
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
	if (j->out_fd >= 0)
		close(j->out_fd);
	if (j->out_made)
		unlink(j->o->out);
	backend_free(j->backend);
	if (j->report.done)
		replay_result_fini(&j->report.result);
	plan_free(j->plan);
	trace_reader_close(j->reader);
	filter_free(j->filter);
}

/* ---- options ---- */

enum {
	OPT_PACE = 256,
	OPT_SPEED,
	OPT_ORDER,
	OPT_APPEND,
	OPT_CACHE,
	OPT_THREADS,
	OPT_NO_PREPARE,
	OPT_KEEP,
	OPT_FORMAT,
	OPT_FILTER,
	OPT_DESTROY,
	OPT_SEED,
	OPT_SYNC,
	OPT_NO_SYNC,
	OPT_PRIVILEGED,
	OPT_FORCE,
	OPT_PROGRESS,
	OPT_NO_PROGRESS
};

static const struct option longs[] = {
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, OPT_FORCE},
	{"pace", required_argument, NULL, OPT_PACE},
	{"speed", required_argument, NULL, OPT_SPEED},
	{"order", required_argument, NULL, OPT_ORDER},
	{"append", required_argument, NULL, OPT_APPEND},
	{"cache", required_argument, NULL, OPT_CACHE},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"no-prepare", no_argument, NULL, OPT_NO_PREPARE},
	{"keep", no_argument, NULL, OPT_KEEP},
	{"filter", required_argument, NULL, OPT_FILTER},
	{"destroy", required_argument, NULL, OPT_DESTROY},
	{"seed", required_argument, NULL, OPT_SEED},
	{"sync", no_argument, NULL, OPT_SYNC},
	{"no-sync", no_argument, NULL, OPT_NO_SYNC},
	{"privileged", no_argument, NULL, OPT_PRIVILEGED},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"progress", no_argument, NULL, OPT_PROGRESS},
	{"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_speed(const char *s, double *speed)
{
	char *end;

	*speed = strtod(s, &end);
	if (end == s || *end || !(*speed > 0) || *speed > 1e9)
		return fail(-EINVAL, "--speed=%s: a number above 0, such as 0.5 or 10", s);
	return 0;
}

static int parse_threads(const char *s, unsigned *threads)
{
	uint64_t v;

	if (util_parse_u64(s, &v) || v < 1 || v > 4096)
		return fail(-EINVAL, "--threads=%s: a number from 1 to 4096", s);
	*threads = (unsigned)v;
	return 0;
}

static int parse_destroy(struct options *o)
{
	if (o->n_destroy == ARRAY_SIZE(o->destroy) - 1)
		return fail(-EINVAL, "--destroy: at most %u devices", o->n_destroy);
	o->destroy[o->n_destroy++] = optarg;
	return 0;
}

static int parse_choice(struct options *o, int c)
{
	int r;

	switch (c) {
	case OPT_PACE:
		r = cli_choice("--pace", optarg, pace_names);
		o->replay.pace = (enum replay_pace)MAX(r, 0);
		break;
	case OPT_ORDER:
		r = cli_choice("--order", optarg, order_names);
		o->order = (enum replay_order)MAX(r, 0);
		break;
	case OPT_APPEND:
		r = cli_choice("--append", optarg, append_names);
		o->replay.append = (enum replay_append)MAX(r, 0);
		break;
	default:
		r = cli_choice("--cache", optarg, cache_names);
		o->warm = r == 1;
	}
	return MIN(r, 0);
}

/* Options without an argument; false: not one of them. */
static bool parse_switch(struct options *o, int c)
{
	switch (c) {
	case OPT_FORCE:
		o->force = true;
		return true;
	case OPT_NO_PREPARE:
		o->no_prepare = true;
		return true;
	case OPT_KEEP:
		o->keep = true;
		return true;
	case OPT_SYNC:
	case OPT_NO_SYNC:
		o->replay.no_sync = c == OPT_NO_SYNC;
		return true;
	case OPT_PRIVILEGED:
		o->replay.privileged = true;
		return true;
	case OPT_PROGRESS:
	case OPT_NO_PROGRESS:
		o->progress = c == OPT_PROGRESS;
		return true;
	default:
		return false;
	}
}

static int parse_one(struct options *o, int c)
{
	int r;

	if (parse_switch(o, c))
		return 0;
	switch (c) {
	case 'o':
		o->out = optarg;
		return 0;
	case OPT_PACE:
	case OPT_ORDER:
	case OPT_APPEND:
	case OPT_CACHE:
		return parse_choice(o, c);
	case OPT_SPEED:
		return parse_speed(optarg, &o->replay.speed);
	case OPT_THREADS:
		return parse_threads(optarg, &o->replay.threads);
	case OPT_SEED:
		r = util_parse_u64(optarg, &o->replay.seed);
		return r ? fail_in(r, "--seed") : 0;
	case OPT_FILTER:
		o->filter = optarg;
		return 0;
	case OPT_DESTROY:
		return parse_destroy(o);
	case OPT_FORMAT:
		return cli_parse_format(optarg, false, &o->format);
	default:
		return -EINVAL;
	}
}

static int run(int argc, char **argv)
{
	struct options o = {.progress = -1,
		.order = REPLAY_ORDER_RESOURCE,
		.replay = {.speed = 1.0, .seed = 1}};
	struct job *j;
	int c, r = 0;

	while (!r && (c = cli_getopt(argc, argv, "o:h", longs)) != -1) {
		if (c == 'h')
			return cli_help(&cmd_replay);
		r = parse_one(&o, c);
	}
	if (!r)
		r = cli_operands(&cmd_replay, argc, 2, 2);
	if (r)
		return r;
	o.trace = argv[optind];
	o.backend = argv[optind + 1];
	j = calloc(1, sizeof(*j));
	if (!j)
		return fail(-ENOMEM, "out of memory");
	j->o = &o;
	j->out_fd = -1;
	r = work(j);
	if (!r)
		r = print(j);
	job_fini(j);
	free(j);
	return r;
}

const struct command cmd_replay = {"replay", "issue a trace's operations again on other storage",
	"usage: iotape replay [-o FILE2] [options] TRACE BACKEND\n"
	"\n"
	"Builds the tree that the trace began with, issues every recorded operation in\n"
	"order, compares every result with the recording, and takes all away again.\n"
	"Exit status 1: results differ. BACKEND is one of\n"
	"\n"
	"    DIR, dir:DIR                 a fresh directory inside DIR\n"
	"    rdm:DEVICE-OR-FILE[,size=8G][,fs=ext4|xfs|btrfs]\n"
	"    vmdk:FILE.vmdk[,size=8G][,provision=thin|lazy|eager][,fs=...]\n"
	"    raid1:A,B[,size=8G][,fs=...][,degraded]\n"
	"    null:                        no storage: the cost of the engine itself\n"
	"\n"
	"    iotape replay copy.tape /mnt/disk\n"
	"    iotape replay copy.tape raid1:a.img,b.img,size=2G --format=json\n"
	"    iotape replay -o again.tape copy.tape /mnt/disk && iotape stat again.tape\n"
	"\n"
	"options:\n"
	"    -o, --output=FILE2  write the replay as a trace (- is a pipe)\n"
	"    --force             FILE2 may exist and is replaced\n"
	"    --pace=PACE         asap (default), think (recorded pauses kept), clock\n"
	"                        (every operation at its recorded time)\n"
	"    --speed=X           divide pauses and times by X (default 1)\n"
	"    --order=ORDER       resource (default): what uses the same thing keeps its\n"
	"                        order; trace: all that was in order; thread: only the\n"
	"                        order within a thread (unsafe)\n"
	"    --append=HOW        offset (default): write where the recording appended;\n"
	"                        native: keep O_APPEND\n"
	"    --cache=CACHE       cold (default): drop caches first; warm\n"
	"    --threads=N         at most N threads (default: one a recorded thread)\n"
	"    --no-prepare        start in an empty directory\n"
	"    --keep              leave what the replay made\n"
	"    --filter=EXPR       replay only matching operations (see dump)\n"
	"    --destroy=DEVICE    allow to format this device (may be repeated)\n"
	"    --seed=N            of the generated content (default 1)\n"
	"    --sync, --no-sync   count the final sync in the time (default), or leave it\n"
	"    --privileged        also device nodes, set-id bits and owners\n"
	"    --format=FORMAT     text (default) or json\n"
	"    --progress, --no-progress\n"
	"                        progress on stderr (default: when it is a terminal)\n"
	"    --help              print this\n",
	run};
