/* SPDX-License-Identifier: MIT */
/*
 * What every command does that reads traces from its operands: parse, open, work, close. What the
 * work is, and what is printed, is the command's.
 */
#include "cli_priv.h"

#include <errno.h>

int cli_on_traces(const struct cli_spec *s, int argc, char **argv, void *ctx,
	int (*work)(void *ctx, const struct cli_trace *t))
{
	struct cli_trace t[CLI_TRACES_MAX] = {0};
	int n = cli_parse(s, argc, argv, ctx), r = MIN(n, 0), flushed;

	for (int i = 0; i < n && !r; i++) {
		t[i].path = argv[optind + i];
		r = trace_reader_open(&t[i].reader, t[i].path);
	}
	if (n > 0 && !r)
		r = work(ctx, t);
	if (n > 0 && r >= 0) {
		flushed = cli_flush();
		r = flushed < 0 ? flushed : r;
	}
	for (int i = 0; i < n; i++)
		trace_reader_close(t[i].reader);
	return r;
}

void cli_note_cut(const struct cli_trace *t)
{
	if (trace_reader_cut(t->reader))
		fprintf(stderr,
			"iotape: %s: cut: the recording did not end properly; this is what is "
			"there\n",
			t->path);
}
