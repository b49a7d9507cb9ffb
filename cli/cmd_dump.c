/* SPDX-License-Identifier: MIT */
/*
 * dump: a trace as text on stdout, event by event, selected by a filter. In text format without a
 * filter it is the text twin, whole, that `iotape import` turns back into the same trace. Nothing
 * is gathered: a trace of any length passes through.
 */
#include "cli_priv.h"

#include <errno.h>

#include "iotape/filter.h"
#include "iotape/trace.h"

struct options {
	enum cli_format format;
	struct filter *filter;
	int progress; /* -1: when stderr is a terminal and stdout is none */
};

static int put_event(const struct options *o, const struct event *ev)
{
	switch (o->format) {
	case CLI_JSON:
		return trace_json_event(stdout, ev);
	case CLI_CSV:
		return trace_csv_event(stdout, ev);
	case CLI_TEXT:
		break;
	}
	return trace_text_event(stdout, ev);
}

static int dump_events(const struct options *o, struct trace_reader *r)
{
	uint64_t chunk = UINT64_MAX, done = 0;
	struct cli_progress progress;
	struct event ev;
	int err;

	cli_progress_begin(
		&progress, o->progress < 0 && isatty(STDOUT_FILENO) ? 0 : o->progress, "dump");
	while ((err = trace_reader_next(r, &ev)) > 0) {
		if (++done % 4096 == 0)
			cli_progress_update(&progress, done, 0, 0);
		if (!filter_match(o->filter, &ev))
			continue;
		err = 0;
		if (o->format == CLI_TEXT && trace_reader_chunk(r) != chunk) {
			chunk = trace_reader_chunk(r);
			err = trace_text_chunk(stdout);
		}
		if (!err)
			err = put_event(o, &ev);
		if (err < 0)
			break;
	}
	cli_progress_end(&progress);
	return err;
}

static int dump(void *ctx, const struct cli_trace *t)
{
	const struct options *o = ctx;
	int err = 0;

	if (o->format == CLI_TEXT)
		err = trace_text_header(stdout, trace_reader_header(t->reader));
	else if (o->format == CLI_CSV)
		err = trace_csv_header(stdout);
	if (!err)
		err = dump_events(o, t->reader);
	if (ferror(stdout))
		return cli_flush();
	if (err < 0)
		return err;
	if (o->format == CLI_TEXT && trace_reader_trailer(t->reader))
		err = trace_text_trailer(stdout, trace_reader_trailer(t->reader));
	if (!err)
		cli_note_cut(t);
	return err;
}

static int set(void *ctx, int c)
{
	struct options *o = ctx;

	switch (c) {
	case 'F':
		filter_free(o->filter);
		o->filter = NULL;
		return filter_parse(&o->filter, optarg);
	case 'f':
		return cli_parse_format(optarg, true, &o->format);
	default:
		o->progress = c == 'p';
		return 0;
	}
}

static const struct option longs[] = {
	{"filter", required_argument, NULL, 'F'},
	{"format", required_argument, NULL, 'f'},
	{"progress", no_argument, NULL, 'p'},
	{"no-progress", no_argument, NULL, 'P'},
	{0},
};

static const struct cli_spec spec = {
	.cmd = &cmd_dump,
	.longs = longs,
	.set = set,
	.min = 1,
	.max = 1,
};

static int run(int argc, char **argv)
{
	struct options o = {.progress = -1};
	int r = cli_on_traces(&spec, argc, argv, &o, dump);

	filter_free(o.filter);
	return r;
}

const struct command cmd_dump = {"dump", "print a trace as text, JSON lines or CSV",
	"usage: iotape dump TRACE [--filter=EXPR] [--format=text|json|csv]\n"
	"\n"
	"Prints the operations of a trace, one a line. TRACE may be - for a pipe.\n"
	"\n"
	"    iotape dump copy.tape | less\n"
	"    iotape dump copy.tape --filter='op=write; size>=64K; dur_ns>5ms'\n"
	"    iotape dump copy.tape --filter='errno!=0' --format=json | jq .name\n"
	"    iotape dump copy.tape | iotape import - -o same.tape\n"
	"\n"
	"  --filter=EXPR   only events for which all terms hold; terms are joined by ';',\n"
	"                  the values of a term by ',' (any). Keys: those of the JSON format,\n"
	"                  errno and class; operators: = != < <= > >=, for strings ~ !~\n"
	"                  with shell patterns. Sizes and durations take suffixes\n"
	"  --format=FORMAT text (default): the text twin, that `iotape import` reads back;\n"
	"                  json: one object a line; csv: one column a field\n"
	"  --progress, --no-progress\n"
	"                  a progress line on stderr, or none; default: when stderr is a\n"
	"                  terminal and stdout is none\n"
	"  --help          print this\n",
	run};
