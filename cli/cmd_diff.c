/* SPDX-License-Identifier: MIT */
/*
 * diff: are two traces the same calls with the same results, lane by lane? Exit status as diff(1).
 * All that decides is in the library; here it is only asked and printed.
 */
#include "cli_priv.h"

#include <errno.h>
#include <inttypes.h>

#include "iotape/json.h"
#include "iotape/replay.h"

struct options {
	const char *path[2];
	enum cli_format format;
};

static bool same(const struct diff_result *d)
{
	return !d->different && !d->only_a && !d->only_b;
}

/* What the application did not do; never what it did. */
static void print_left_out(const struct diff_result *d)
{
	if (d->resolve_a || d->resolve_b)
		printf("not compared: %" PRIu64 " and %" PRIu64
		       " lookups and the like, which the kernel's caches decide\n",
			d->resolve_a, d->resolve_b);
	if (d->own_a || d->own_b)
		printf("not compared: %" PRIu64 " and %" PRIu64
		       " calls that the replay made for itself\n",
			d->own_a, d->own_b);
}

static void print_text(const struct options *o, const struct diff_result *d)
{
	uint64_t shown = d->n_first, all = d->different + d->only_a + d->only_b;

	if (same(d)) {
		printf("same: %" PRIu64 " operations on %" PRIu64 " lanes\n", d->compared,
			d->lanes);
		print_left_out(d);
		return;
	}
	printf("--- %s\n+++ %s\n", o->path[0], o->path[1]);
	for (size_t i = 0; i < d->n_first; i++)
		printf("%s\n", d->first[i]);
	if (all > shown)
		printf("... and %" PRIu64 " more\n", all - shown);
	printf("differ: %" PRIu64 " operations are the same, %" PRIu64 " differ, %" PRIu64
	       " only in %s, %" PRIu64 " only in %s\n",
		d->compared, d->different, d->only_a, o->path[0], d->only_b, o->path[1]);
	print_left_out(d);
}

static void print_json(const struct options *o, const struct diff_result *d)
{
	struct json j;

	json_init(&j, stdout, 2);
	json_object(&j, NULL);
	json_str(&j, "iotape", IOTAPE_VERSION);
	json_str(&j, "a", o->path[0]);
	json_str(&j, "b", o->path[1]);
	json_bool(&j, "same", same(d));
	json_u64(&j, "lanes", d->lanes);
	json_u64(&j, "compared", d->compared);
	json_u64(&j, "different", d->different);
	json_u64(&j, "only_a", d->only_a);
	json_u64(&j, "only_b", d->only_b);
	json_u64(&j, "resolve_a", d->resolve_a);
	json_u64(&j, "resolve_b", d->resolve_b);
	json_u64(&j, "own_a", d->own_a);
	json_u64(&j, "own_b", d->own_b);
	json_array(&j, "first");
	for (size_t i = 0; i < d->n_first; i++)
		json_str(&j, NULL, d->first[i]);
	json_end(&j, ']');
	json_end(&j, '}');
	putchar('\n');
}

static int parse(struct options *o, int argc, char **argv, bool *help)
{
	static const struct option longs[] = {
		{"format", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c, r = 0;

	while (!r && (c = cli_getopt(argc, argv, "h", longs)) != -1) {
		switch (c) {
		case 'f':
			r = cli_parse_format(optarg, false, &o->format);
			break;
		case 'h':
			*help = true;
			return 0;
		default:
			return -EINVAL;
		}
	}
	if (!r)
		r = cli_operands(&cmd_diff, argc, 2, 2);
	if (!r) {
		o->path[0] = argv[optind];
		o->path[1] = argv[optind + 1];
	}
	return r;
}

static int run(int argc, char **argv)
{
	struct trace_reader *a = NULL, *b = NULL;
	struct options o = {0};
	struct diff_result d = {0};
	bool help = false;
	int err = parse(&o, argc, argv, &help);

	if (!err && help)
		return cli_help(&cmd_diff);
	if (!err)
		err = trace_reader_open(&a, o.path[0]);
	if (!err)
		err = trace_reader_open(&b, o.path[1]);
	if (!err)
		err = diff_traces(a, b, &d);
	if (!err && o.format == CLI_JSON)
		print_json(&o, &d);
	else if (!err)
		print_text(&o, &d);
	if (!err)
		err = cli_flush();
	trace_reader_close(a);
	trace_reader_close(b);
	if (err)
		return err;
	return same(&d) ? CLI_OK : CLI_DIFFERS;
}

const struct command cmd_diff = {"diff", "tell whether two traces are the same calls",
	"usage: iotape diff TRACE1 TRACE2 [--format=text|json]\n"
	"\n"
	"Compares two traces lane by lane: operations, arguments and results, not times,\n"
	"numbers of inodes and handles, or what the kernel's caches decide. Of the recording\n"
	"of a replay only what lies between its marks \"replay\" and \"done\" counts, and\n"
	"calls that the replay made for itself are left out. What is left out is counted.\n"
	"Exit status: 0 same, 1 they differ, 2 trouble.\n"
	"\n"
	"    iotape diff copy.tape copy-replayed.tape\n"
	"\n"
	"options:\n"
	"    --format=FORMAT text (default) or json\n"
	"    --help          print this\n",
	run};
