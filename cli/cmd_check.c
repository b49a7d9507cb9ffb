/* SPDX-License-Identifier: MIT */
/*
 * iotape check: says in one line whether a trace is whole, and what could be read if not. With
 * --repair the good frames go into a new trace.
 */
#include "cli_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "iotape/json.h"
#include "iotape/trace.h"

struct options {
	const char *repair;
	bool force;
	enum cli_format format;
};

static bool is_good(const struct trace_damage *d)
{
	return !d->first_bad[0];
}

static void print_text(
	const char *path, const struct trace_damage *d, const struct options *o, FILE *out)
{
	if (is_good(d))
		fprintf(out,
			"%s: good: %" PRIu64 " events in %" PRIu64 " frames, %" PRIu64 " bytes",
			path, d->events, d->frames, d->file_bytes);
	else
		fprintf(out, "%s: %s: %s; %" PRIu64 " events in %" PRIu64 " frames can be read",
			path, d->bad_frames || d->has_trailer ? "damaged" : "cut",
			!strncmp(d->first_bad, "cut: ", 5) ? d->first_bad + 5 : d->first_bad,
			d->events, d->frames);
	if (d->bad_frames)
		fprintf(out, ", %" PRIu64 " frame%s lost", d->bad_frames,
			d->bad_frames == 1 ? "" : "s");
	if (d->lost_events)
		fprintf(out, ", %" PRIu64 " event%s missing", d->lost_events,
			d->lost_events == 1 ? "" : "s");
	if (o->repair)
		fprintf(out, "; what is good is in %s",
			strcmp(o->repair, "-") ? o->repair : "standard output");
	fputc('\n', out);
}

static void print_json(
	const char *path, const struct trace_damage *d, const struct options *o, FILE *out)
{
	struct json j;

	json_init(&j, out, 2);
	json_object(&j, NULL);
	json_str(&j, "trace", path);
	json_bool(&j, "good", is_good(d));
	json_bool(&j, "complete", d->has_trailer);
	json_bool(&j, "has_index", d->has_index);
	json_bool(&j, "index_good", d->index_good);
	json_u64(&j, "file_bytes", d->file_bytes);
	json_u64(&j, "good_bytes", d->good_bytes);
	json_u64(&j, "frames", d->frames);
	json_u64(&j, "bad_frames", d->bad_frames);
	json_u64(&j, "events", d->events);
	json_u64(&j, "lost_events", d->lost_events);
	json_str(&j, "first_bad", is_good(d) ? NULL : d->first_bad);
	json_str(&j, "repaired", o->repair);
	json_end(&j, '}');
	fputc('\n', out);
}

static int check(const char *path, const struct options *o, struct trace_damage *d)
{
	struct cli_output out = {0};
	int r = o->repair ? cli_output_open(&out, o->repair, o->force) : 0;

	if (r)
		return r;
	r = trace_check(path, d, o->repair ? out.fd : -1);
	if (!r && o->repair && fsync(out.fd) && errno != EINVAL)
		r = fail(-errno, "%s: %s", o->repair, strerror(errno));
	return cli_output_close(&out, r);
}

static int set(void *ctx, int c)
{
	struct options *o = ctx;

	switch (c) {
	case 'r':
		o->repair = optarg;
		return !strcmp(optarg, "-") ? cli_not_to_terminal("check") : 0;
	case 'F':
		o->force = true;
		return 0;
	default:
		return cli_parse_format(optarg, false, &o->format);
	}
}

static const struct option longs[] = {
	{"repair", required_argument, NULL, 'r'},
	{"force", no_argument, NULL, 'F'},
	{"format", required_argument, NULL, 'f'},
	{0},
};

static const struct cli_spec spec = {
	.cmd = &cmd_check,
	.longs = longs,
	.set = set,
	.min = 1,
	.max = 1,
};

static int run(int argc, char **argv)
{
	struct options o = {0};
	struct trace_damage d;
	FILE *out;
	int n = cli_parse(&spec, argc, argv, &o), r;

	if (n <= 0)
		return n;
	r = check(argv[optind], &o, &d);
	if (r)
		return r;
	out = o.repair && !strcmp(o.repair, "-") ? stderr : stdout;
	if (o.format == CLI_JSON)
		print_json(argv[optind], &d, &o, out);
	else
		print_text(argv[optind], &d, &o, out);
	return is_good(&d) ? CLI_OK : CLI_DIFFERS;
}

const struct command cmd_check = {"check", "look for damage in a trace, and repair it",
	"usage: iotape check [options] TRACE\n"
	"Reads every frame of TRACE and says whether it is whole; if not, what is wrong first and\n"
	"how much can be read.\n\n"
	"    iotape check copy.tape --repair=good.tape\n\n"
	"  --repair=OUT         write the good frames, a new trailer and a new index to OUT\n"
	"  --force              OUT may exist and is replaced; it may be TRACE itself\n"
	"  --format=text|json\n"
	"  --help               print this\n\n"
	"Exit status: 0 whole, 1 damaged or cut, 2 nothing can be read.\n",
	run};
