/* SPDX-License-Identifier: MIT */
/*
 * compare: replays traces on several kinds of storage and says which is slower, by how much and how
 * sure that is. Here are only the options and where the report goes; compare_setup.c makes
 * workloads and backends of the operands, and the experiment is compare_run() of libreplay.
 */
#include "compare_cmd.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/random.h>

#define ROUNDS_MAX 10000u

/* Before hours of work, not after: can the file be written? */
static int open_json(struct compare_job *o)
{
	int r;

	if (!o->json_path)
		return 0;
	if (!strcmp(o->json_path, "-")) {
		o->shared.format = CLI_JSON;
		return 0;
	}
	r = cli_output_open(&o->json, o->json_path, true);
	if (!r)
		r = cli_output_stream(&o->json);
	return r < 0 ? fail_in(r, "--json") : 0;
}

static int print(struct compare_job *o, const struct compare *c)
{
	int r;

	if (o->shared.format == CLI_JSON)
		compare_json(c, stdout);
	else
		compare_text(c, stdout);
	r = cli_flush();
	if (r || !o->json.stream)
		return r;
	compare_json(c, o->json.stream);
	return cli_output_close(&o->json, 0);
}

static void show_progress(void *ctx, const char *doing, double done, unsigned total)
{
	struct cli_progress *p = ctx;

	cli_progress_label(p, doing);
	cli_progress_update(p, (uint64_t)(done * 1000), total * UINT64_C(1000), 0);
}

static int compare(struct compare_job *o)
{
	struct cli_progress progress;
	struct compare *c = NULL;
	int r;

	cli_catch_signals();
	cli_progress_begin(&progress, o->shared.progress, "compare");
	progress.percent_only = true;
	o->run.workloads = o->workloads;
	o->run.backends = o->backends;
	o->run.filter = o->shared.filter;
	o->run.replay = o->shared.replay;
	o->run.seed = o->shared.replay.seed;
	o->run.order = o->shared.order;
	o->run.cold = o->shared.cold;
	o->run.no_prepare = o->shared.no_prepare;
	o->run.check_tree = o->shared.check_tree;
	o->run.force = o->shared.force;
	o->run.progress = show_progress;
	o->run.progress_ctx = &progress;
	r = compare_run(&c, &o->run);
	cli_progress_end(&progress);
	if (r)
		return r;
	r = print(o, c);
	if (!r && c->interrupted)
		r = fail(-EINTR, "compare: interrupted; the report is of what had ended");
	if (!r && compare_beyond_limit(c))
		r = CLI_DIFFERS;
	compare_free(c);
	return r;
}

static void fini(struct compare_job *o)
{
	compare_job_unset(o);
	cli_output_close(&o->json, -ECANCELED); /* one that is whole is closed already */
	free(o->specs);
	replay_options_fini(&o->shared);
}

/* ---- options ---- */

static int set(void *ctx, int c)
{
	struct compare_job *o = ctx;
	uint64_t v = 0;
	int r;

	switch (c) {
	case 'o':
		return cli_append(&o->specs, optarg);
	case 'r':
		r = cli_number("--rounds", optarg, 1, ROUNDS_MAX, &v);
		o->run.rounds = (unsigned)v;
		return r;
	case 'l':
		r = util_parse_fraction(optarg, &o->run.limit);
		return r ? fail_in(r, "--limit") : 0;
	case 'b':
		o->baseline = optarg;
		return 0;
	case 'j':
		o->json_path = optarg;
		return 0;
	case 'a':
		o->aa = true;
		return 0;
	default:
		return replay_options_set(&o->shared, c);
	}
}

static const struct option longs[] = {
	{"on", required_argument, NULL, 'o'},
	{"rounds", required_argument, NULL, 'r'},
	{"baseline", required_argument, NULL, 'b'},
	{"limit", required_argument, NULL, 'l'},
	{"json", required_argument, NULL, 'j'},
	{"aa", no_argument, NULL, 'a'},
	{0},
};

static const struct cli_spec spec = {
	.cmd = &cmd_compare,
	.longs = longs,
	.more = replay_option_table,
	.set = set,
	.min = 1,
	.max = INT_MAX,
};

/* Another one each time, printed and in the JSON. */
static void draw_seed(struct compare_job *o)
{
	uint32_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint32_t)util_now_ns();
	if (!o->shared.seeded)
		o->shared.replay.seed = seed;
}

static int on_operands(struct compare_job *o, char **paths, size_t n)
{
	int r;

	if (!o->specs)
		return fail(-EINVAL, "compare: on what? Give backends with --on [NAME=]BACKEND; "
				     "`iotape backend list` shows the kinds");
	draw_seed(o);
	r = compare_job_set(o, paths, n);
	if (!r)
		r = open_json(o);
	return r ? r : compare(o);
}

static int run(int argc, char **argv)
{
	struct compare_job o = {.run = {.rounds = 6, .limit = -1}};
	int r;

	replay_options_init(&o.shared);
	r = cli_parse(&spec, argc, argv, &o);
	if (r > 0)
		r = on_operands(&o, argv + optind, (size_t)r);
	fini(&o);
	return r;
}

const struct command cmd_compare = {"compare",
	"replay traces on several kinds of storage and say which is slower",
	"usage: iotape compare [options] TRACE... --on [NAME=]BACKEND --on [NAME=]BACKEND ...\n"
	"\n"
	"Replays each trace on each backend, in rounds of fresh random order, on storage made\n"
	"anew every time, and says what is slower by how much and how sure that is.\n"
	"\n"
	"    iotape compare copy.tape --on raw=rdm:a.img,size=2G --on disk=vmdk:d.vmdk,size=2G\n"
	"    iotape compare copy.tape --on /srv/a --on /srv/b --rounds=12 --limit=10%\n"
	"    iotape compare copy.tape --on /srv/a --aa\n"
	"\n"
	"Backends are those of `iotape help replay`; a NAME in front is what reports call it.\n"
	"\n"
	"  --on=[NAME=]BACKEND  storage to replay on; give it once for each\n"
	"  --rounds=N           replays of each trace on each backend (6; fewer give no interval)\n"
	"  --baseline=NAME      the backend that the others are compared with (the first)\n"
	"  --aa                 the first backend a second time, as NAME-again: must show no\n"
	"                       difference\n"
	"  --limit=10%          exit 1 when a backend is slower by more, with 95 % confidence\n"
	"  --seed=N             of the random order and of generated data, to repeat a comparison\n"
	"  --json=FILE          JSON into FILE as well\n"
	"  --force              go on when results differ from the recording or space is short\n"
	"  --keep               leave what the replays made (files and devices: one run "
	"only)\n" REPLAY_OPTIONS_HELP "  --help               print this\n"
	"\n"
	"Exit status: 0 fine, 1 beyond --limit, 2 usage, trouble, or a replay that was not true\n"
	"to the recording.\n",
	run};
