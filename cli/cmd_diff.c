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

static bool same(const struct diff_result *d)
{
	return !d->different && !d->only_a && !d->only_b;
}

/* What was compared otherwise, or not at all: what the application did not do, never what it did.
 */
static void print_left_out(const struct diff_result *d)
{
	if (d->reads_a || d->reads_b)
		printf("compared by their bytes: %" PRIu64 " and %" PRIu64
		       " reads of the storage view\n",
			d->reads_a, d->reads_b);
	if (d->ahead_bytes)
		printf("not compared: %" PRIu64 " bytes that were read ahead of the replay\n",
			d->ahead_bytes);
	if (d->resolve_a || d->resolve_b)
		printf("not compared: %" PRIu64 " and %" PRIu64
		       " lookups and the like, which the kernel's caches decide\n",
			d->resolve_a, d->resolve_b);
	if (d->own_a || d->own_b)
		printf("not compared: %" PRIu64 " and %" PRIu64
		       " calls that the replay made for itself\n",
			d->own_a, d->own_b);
}

static void print_text(const struct cli_trace *t, const struct diff_result *d)
{
	uint64_t shown = d->n_first, all = d->different + d->only_a + d->only_b;

	if (same(d)) {
		printf("same: %" PRIu64 " operations on %" PRIu64 " lanes\n", d->compared,
			d->lanes);
		print_left_out(d);
		return;
	}
	printf("--- %s\n+++ %s\n", t[0].path, t[1].path);
	for (size_t i = 0; i < d->n_first; i++)
		printf("%s\n", d->first[i]);
	if (all > shown)
		printf("... and %" PRIu64 " more\n", all - shown);
	printf("differ: %" PRIu64 " operations are the same, %" PRIu64 " differ, %" PRIu64
	       " only in %s, %" PRIu64 " only in %s\n",
		d->compared, d->different, d->only_a, t[0].path, d->only_b, t[1].path);
	print_left_out(d);
}

static void print_json(const struct cli_trace *t, const struct diff_result *d)
{
	struct json j;

	json_init(&j, stdout, 2);
	json_object(&j, NULL);
	json_str(&j, "iotape", IOTAPE_VERSION);
	json_str(&j, "a", t[0].path);
	json_str(&j, "b", t[1].path);
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
	json_u64(&j, "reads_a", d->reads_a);
	json_u64(&j, "reads_b", d->reads_b);
	json_u64(&j, "ahead_bytes", d->ahead_bytes);
	json_array(&j, "first");
	for (size_t i = 0; i < d->n_first; i++)
		json_str(&j, NULL, d->first[i]);
	json_end(&j, ']');
	json_end(&j, '}');
	putchar('\n');
}

static int diff(void *ctx, const struct cli_trace *t)
{
	const enum cli_format *format = ctx;
	struct diff_result d = {0};
	int r = diff_traces(t[0].reader, t[1].reader, &d);

	if (r)
		return r;
	if (*format == CLI_JSON)
		print_json(t, &d);
	else
		print_text(t, &d);
	cli_note_cut(&t[0]);
	cli_note_cut(&t[1]);
	return same(&d) ? CLI_OK : CLI_DIFFERS;
}

static const struct cli_spec spec = {
	.cmd = &cmd_diff,
	.longs = cli_format_option,
	.set = cli_set_format,
	.min = 2,
	.max = 2,
};

static int run(int argc, char **argv)
{
	enum cli_format format = CLI_TEXT;

	return cli_on_traces(&spec, argc, argv, &format, diff);
}

const struct command cmd_diff = {"diff", "tell whether two traces are the same calls",
	"usage: iotape diff TRACE1 TRACE2 [--format=text|json]\n"
	"\n"
	"Compares two traces lane by lane: operations, arguments and results, not times,\n"
	"numbers of inodes and handles, or what the kernel's caches decide. Of the recording\n"
	"of a replay only what lies between its marks \"replay\" and \"done\" counts, and\n"
	"calls that the replay made for itself are left out. Reads of the storage view, which\n"
	"the kernel cuts as it likes, are compared by the bytes of each file that they read.\n"
	"What is left out is counted.\n"
	"Exit status: 0 same, 1 they differ, 2 trouble.\n"
	"\n"
	"    iotape diff copy.tape copy-replayed.tape\n"
	"\n"
	"  --format=FORMAT text (default) or json\n"
	"  --help          print this\n",
	run};
