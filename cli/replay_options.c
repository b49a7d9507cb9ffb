/* SPDX-License-Identifier: MIT */
/*
 * The options that replay and compare have in common, each with one meaning and one limit. The
 * commands put their own beside them; their vals are letters, these are beyond.
 */
#include "replay_cmd.h"

#include <errno.h>
#include <string.h>

#define THREADS_MAX 4096
#define SPEED_LEAST 1e-6
#define SPEED_MOST  1e6

enum {
	OPT_PACE = 256,
	OPT_SPEED,
	OPT_ORDER,
	OPT_APPEND,
	OPT_CACHE,
	OPT_THREADS,
	OPT_NO_PREPARE,
	OPT_NO_TREE_CHECK,
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
	OPT_NO_PROGRESS,
};

const struct option replay_option_table[] = {
	{"pace", required_argument, NULL, OPT_PACE},
	{"speed", required_argument, NULL, OPT_SPEED},
	{"order", required_argument, NULL, OPT_ORDER},
	{"append", required_argument, NULL, OPT_APPEND},
	{"cache", required_argument, NULL, OPT_CACHE},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"no-prepare", no_argument, NULL, OPT_NO_PREPARE},
	{"no-tree-check", no_argument, NULL, OPT_NO_TREE_CHECK},
	{"keep", no_argument, NULL, OPT_KEEP},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"filter", required_argument, NULL, OPT_FILTER},
	{"destroy", required_argument, NULL, OPT_DESTROY},
	{"seed", required_argument, NULL, OPT_SEED},
	{"sync", no_argument, NULL, OPT_SYNC},
	{"no-sync", no_argument, NULL, OPT_NO_SYNC},
	{"privileged", no_argument, NULL, OPT_PRIVILEGED},
	{"force", no_argument, NULL, OPT_FORCE},
	{"progress", no_argument, NULL, OPT_PROGRESS},
	{"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
	{0},
};

void replay_options_init(struct replay_options *o)
{
	*o = (struct replay_options){.order = REPLAY_ORDER_RESOURCE,
		.cold = true,
		.check_tree = true,
		.progress = -1,
		.replay = {.speed = 1, .seed = 1, .stop = &cli_stop_flag},
		.policy = {.stop = &cli_stop_flag}};
}

void replay_options_fini(struct replay_options *o)
{
	filter_free(o->filter);
	free(o->destroy);
}

static int set_speed(struct replay_options *o)
{
	char *end;
	double v = strtod(optarg, &end);

	if (end == optarg || (*end && strcmp(end, "x") != 0) || !(v >= SPEED_LEAST) ||
		!(v <= SPEED_MOST))
		return fail(-EINVAL,
			"--speed: '%s' is no factor from 0.000001 to 1000000, such as 2 or 0.5",
			optarg);
	o->replay.speed = v;
	return 0;
}

static int set_destroy(struct replay_options *o)
{
	int r = cli_append(&o->destroy, optarg);

	o->policy.destroy = o->destroy;
	return r;
}

/* Options of which one of a few words is the value. */
static int set_word(struct replay_options *o, int c)
{
	static const char *const caches[] = {"cold", "warm", NULL};
	int r;

	switch (c) {
	case OPT_PACE:
		r = util_choice("--pace", optarg, report_pace_names);
		o->replay.pace = (enum replay_pace)MAX(r, 0);
		return r;
	case OPT_ORDER:
		r = util_choice("--order", optarg, report_order_names);
		o->order = (enum replay_order)MAX(r, 0);
		return r;
	case OPT_APPEND:
		r = util_choice("--append", optarg, report_append_names);
		o->replay.append = (enum replay_append)MAX(r, 0);
		return r;
	case OPT_CACHE:
		r = util_choice("--cache", optarg, caches);
		o->cold = r == 0;
		return r;
	default:
		return cli_parse_format(optarg, false, &o->format);
	}
}

static int set_value(struct replay_options *o, int c)
{
	uint64_t v = 0;
	int r;

	switch (c) {
	case OPT_SPEED:
		return set_speed(o);
	case OPT_THREADS:
		r = cli_number("--threads", optarg, 1, THREADS_MAX, &v);
		o->replay.threads = (unsigned)v;
		return r;
	case OPT_SEED:
		o->seeded = true;
		return cli_number("--seed", optarg, 0, UINT64_MAX, &o->replay.seed);
	case OPT_FILTER:
		filter_free(STEAL(o->filter));
		return filter_parse(&o->filter, optarg);
	case OPT_DESTROY:
		return set_destroy(o);
	default:
		return set_word(o, c);
	}
}

int replay_options_set(struct replay_options *o, int c)
{
	switch (c) {
	case OPT_NO_PREPARE:
		o->no_prepare = true;
		return 0;
	case OPT_NO_TREE_CHECK:
		o->check_tree = false;
		return 0;
	case OPT_KEEP:
		o->policy.keep = true;
		return 0;
	case OPT_SYNC:
	case OPT_NO_SYNC:
		o->replay.no_sync = c == OPT_NO_SYNC;
		return 0;
	case OPT_PRIVILEGED:
		o->replay.privileged = true;
		return 0;
	case OPT_FORCE:
		o->force = true;
		return 0;
	case OPT_PROGRESS:
	case OPT_NO_PROGRESS:
		o->progress = c == OPT_PROGRESS;
		return 0;
	default:
		return MIN(set_value(o, c), 0);
	}
}
