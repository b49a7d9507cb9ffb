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
	const char *path;
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

/* Every event; *seq is the last one read. */
static int dump_events(const struct options *o, struct trace_reader *r, uint64_t *seq)
{
	uint64_t chunk = UINT64_MAX, done = 0;
	struct cli_progress progress;
	struct event ev;
	int err;

	cli_progress_begin(
		&progress, o->progress < 0 && isatty(STDOUT_FILENO) ? 0 : o->progress, "dump");
	while ((err = trace_reader_next(r, &ev)) > 0) {
		*seq = ev.seq;
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

static int dump(const struct options *o, struct trace_reader *r)
{
	uint64_t seq = 0;
	int err = 0;

	if (o->format == CLI_TEXT)
		err = trace_text_header(stdout, trace_reader_header(r));
	else if (o->format == CLI_CSV)
		err = trace_csv_header(stdout);
	if (!err)
		err = dump_events(o, r, &seq);
	if (ferror(stdout))
		return cli_flush();
	if (err < 0)
		return err;
	if (o->format == CLI_TEXT && trace_reader_trailer(r))
		err = trace_text_trailer(stdout, trace_reader_trailer(r));
	if (!err)
		err = cli_flush();
	if (!err && trace_reader_cut(r))
		fprintf(stderr,
			"iotape: %s: cut: the recording did not end properly; all that is "
			"there, up to event %llu, was printed\n",
			o->path, (unsigned long long)seq);
	return err;
}

static int parse(struct options *o, int argc, char **argv, bool *help)
{
	static const struct option longs[] = {
		{"filter", required_argument, NULL, 'F'},
		{"format", required_argument, NULL, 'f'},
		{"progress", no_argument, NULL, 'p'},
		{"no-progress", no_argument, NULL, 'P'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c, r = 0;

	while (!r && (c = cli_getopt(argc, argv, "h", longs)) != -1) {
		switch (c) {
		case 'F':
			filter_free(o->filter);
			o->filter = NULL;
			r = filter_parse(&o->filter, optarg);
			break;
		case 'f':
			r = cli_parse_format(optarg, true, &o->format);
			break;
		case 'p':
			o->progress = 1;
			break;
		case 'P':
			o->progress = 0;
			break;
		case 'h':
			*help = true;
			return 0;
		default:
			return -EINVAL;
		}
	}
	if (!r)
		r = cli_operands(&cmd_dump, argc, 1, 1);
	if (!r)
		o->path = argv[optind];
	return r;
}

static int run(int argc, char **argv)
{
	struct options o = {.progress = -1};
	struct trace_reader *r = NULL;
	bool help = false;
	int err = parse(&o, argc, argv, &help);

	if (!err && help)
		return cli_help(&cmd_dump);
	if (!err)
		err = trace_reader_open(&r, o.path);
	if (!err)
		err = dump(&o, r);
	trace_reader_close(r);
	filter_free(o.filter);
	return err;
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
	"options:\n"
	"    --filter=EXPR   only events for which all terms hold; terms are joined by ';',\n"
	"                    the values of a term by ',' (any). Keys: those of the JSON format,\n"
	"                    errno and class; operators: = != < <= > >=, for strings ~ !~\n"
	"                    with shell patterns. Sizes and durations take suffixes\n"
	"    --format=FORMAT text (default): the text twin, that `iotape import` reads back;\n"
	"                    json: one object a line; csv: one column a field\n"
	"    --progress, --no-progress\n"
	"                    a progress line on stderr, or none; default: when stderr is a\n"
	"                    terminal and stdout is none\n"
	"    --help          print this\n",
	run};
