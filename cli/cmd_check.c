/* SPDX-License-Identifier: MIT */
/*
 * iotape check: says in one line whether a trace is whole, and what could be read if not. With
 * --repair the good frames go into a new trace, which must not exist yet and is removed again when
 * it could not be written.
 */
#include "cli_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "iotape/json.h"
#include "iotape/trace.h"

struct options {
	const char *repair;
	enum cli_format format;
};
enum { OPT_REPAIR = 256, OPT_FORMAT };

static const struct option longs[] = {
	{"repair", required_argument, NULL, OPT_REPAIR},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static bool is_good(const struct trace_damage *d)
{
	return !d->first_bad[0];
}

static void print_text(const char *path, const struct trace_damage *d, const struct options *o)
{
	if (is_good(d))
		printf("%s: good: %" PRIu64 " events in %" PRIu64 " frames, %" PRIu64 " bytes",
			path, d->events, d->frames, d->file_bytes);
	else
		printf("%s: %s: %s; %" PRIu64 " events in %" PRIu64 " frames can be read", path,
			d->bad_frames || d->has_trailer ? "damaged" : "cut",
			!strncmp(d->first_bad, "cut: ", 5) ? d->first_bad + 5 : d->first_bad,
			d->events, d->frames);
	if (d->bad_frames)
		printf(", %" PRIu64 " frame%s lost", d->bad_frames, d->bad_frames == 1 ? "" : "s");
	if (d->lost_events)
		printf(", %" PRIu64 " event%s missing", d->lost_events,
			d->lost_events == 1 ? "" : "s");
	if (o->repair)
		printf("; what is good is in %s", o->repair);
	putchar('\n');
}

static void print_json(const char *path, const struct trace_damage *d, const struct options *o)
{
	struct json j;

	json_init(&j, stdout, 2);
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
	putchar('\n');
}

static int check(const char *path, const struct options *o, struct trace_damage *d)
{
	_close_ int fd = -1;
	int r;

	if (o->repair) {
		fd = open(o->repair, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0)
			return fail(-errno, "%s: cannot create: %s", o->repair, strerror(errno));
	}
	r = trace_check(path, d, fd);
	if (!r && fd >= 0 && fsync(fd) && errno != EINVAL)
		r = fail(-errno, "%s: %s", o->repair, strerror(errno));
	if (r && o->repair)
		unlink(o->repair);
	return r;
}

static int run(int argc, char **argv)
{
	struct options o = {0};
	struct trace_damage d;
	int c, r;

	while ((c = cli_getopt(argc, argv, "h", longs)) != -1) {
		switch (c) {
		case OPT_REPAIR:
			o.repair = optarg;
			break;
		case OPT_FORMAT:
			r = cli_parse_format(optarg, false, &o.format);
			if (r)
				return r;
			break;
		case 'h':
			return cli_help(&cmd_check);
		default:
			return -EINVAL;
		}
	}
	r = cli_operands(&cmd_check, argc, 1, 1);
	if (!r)
		r = check(argv[optind], &o, &d);
	if (r)
		return r;
	if (o.format == CLI_JSON)
		print_json(argv[optind], &d, &o);
	else
		print_text(argv[optind], &d, &o);
	return is_good(&d) ? CLI_OK : CLI_DIFFERS;
}

const struct command cmd_check = {"check", "look for damage in a trace, and repair it",
	"usage: iotape check [options] TRACE\n"
	"Reads every frame of TRACE and says whether it is whole; if not, what is wrong first and\n"
	"how much can be read.\n\n"
	"    iotape check copy.tape --repair=good.tape\n\n"
	"  --repair=OUT         write the good frames, a new trailer and a new index to OUT\n"
	"  --format=text|json\n"
	"  -h, --help\n\n"
	"Exit status: 0 whole, 1 damaged or cut, 2 nothing can be read.\n",
	run};
