/* SPDX-License-Identifier: MIT */
/*
 * record: its options and the choice of the form, which record_forms.c carries out. COMMAND is all
 * that stands behind "--", whatever it looks like.
 */
#include "record_forms.h"

#include <errno.h>
#include <string.h>
#include <time.h>

struct options {
	struct record_job job;
	bool foreground, no_record;
	char trace_default[64];
};

static const struct option longs[] = {
	{"output", required_argument, NULL, 'o'},
	{"foreground", no_argument, NULL, 'f'},
	{"view", required_argument, NULL, 'v'},
	{"content", required_argument, NULL, 'c'},
	{"allow-other", no_argument, NULL, 'a'},
	{"max-size", required_argument, NULL, 'm'},
	{"snapshot", required_argument, NULL, 's'},
	{"level", required_argument, NULL, 'l'},
	{"force", no_argument, NULL, 'F'},
	{"format", required_argument, NULL, 't'},
	{"pid-file", required_argument, NULL, 'p'},
	{"no-record", no_argument, NULL, 'N'},
	{0},
};

#define MAX_SIZE_LEAST (256u << 10)

static int set(void *ctx, int c)
{
	static const char *const views[] = {"app", "storage", NULL};
	static const char *const contents[] = {"none", "summary", "full", NULL};
	static const char *const snapshots[] = {"touched", "full", NULL};
	struct options *o = ctx;
	uint64_t n = 0;
	int r = 0;

	switch (c) {
	case 'o':
		o->job.r.trace_path = optarg;
		break;
	case 'f':
		o->foreground = true;
		break;
	case 'v':
		r = util_choice("--view", optarg, views);
		o->job.r.view = r == 1 ? RECORD_VIEW_STORAGE : RECORD_VIEW_APP;
		break;
	case 'c':
		r = util_choice("--content", optarg, contents);
		o->job.r.content = r == 0 ? RECORD_CONTENT_NONE : RECORD_CONTENT_SUMMARY;
		if (r == 2)
			r = fail(-ENOTSUP,
				"record: --content=full is not there yet; --content=summary "
				"keeps what a replay needs");
		break;
	case 'a':
		o->job.r.allow_other = true;
		break;
	case 'm':
		r = util_parse_size(optarg, &o->job.r.max_bytes);
		if (r)
			return fail_in(r, "record: --max-size");
		if (o->job.r.max_bytes < MAX_SIZE_LEAST)
			r = fail(-EINVAL, "record: --max-size=%s is less than the least, 256K",
				optarg);
		break;
	case 's':
		r = util_choice("--snapshot", optarg, snapshots);
		o->job.r.snapshot_full = r == 1;
		break;
	case 'l':
		r = cli_number("record: --level", optarg, 1, 19, &n);
		o->job.r.level = (int)n;
		break;
	case 'F':
		o->job.r.force = true;
		break;
	case 't':
		r = cli_parse_format(optarg, false, &o->job.format);
		break;
	case 'p':
		o->job.pid_file = optarg;
		break;
	case 'N':
		o->no_record = true;
		break;
	}
	return MIN(r, 0);
}

/* For the header: as one would type it. */
static char *quote_command(char **argv)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	for (char **a = argv; f && *a; a++) {
		bool plain = **a && !(*a)[strspn(*a, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
						     "STUVWXYZ0123456789_-./:=,+@%")];
		if (a != argv)
			fputc(' ', f);
		if (plain)
			fputs(*a, f);
		else
			fputc('\'', f);
		for (char *p = *a; !plain && *p; p++)
			fputs(*p == '\'' ? "'\\''" : (char[]){*p, 0}, f);
		if (!plain)
			fputc('\'', f);
	}
	if (f && fclose(f)) {
		free(text);
		text = NULL;
	}
	return text;
}

/* The trace to a pipe: nothing else may go there. */
static int check_stdout(const struct options *o)
{
	if (!o->job.r.trace_path || strcmp(o->job.r.trace_path, "-") != 0)
		return 0;
	if (!o->job.command && !o->foreground)
		return fail(-EINVAL, "record: -o - needs COMMAND or --foreground: in the "
				     "background standard output carries the daemon's pid");
	return cli_not_to_terminal("record");
}

/* Cuts the arguments at "--"; what follows is COMMAND. */
static int cut_command(struct options *o, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			o->job.command = argv + i + 1;
			argv[i] = NULL;
			return i;
		}
	return argc;
}

static const struct cli_spec spec = {
	.cmd = &cmd_record,
	.longs = longs,
	.shorts = "o:f",
	.set = set,
	.min = 1,
	.max = 2,
};

static int run(int argc, char **argv)
{
	struct options o = {
		.job = {.r = {.content = RECORD_CONTENT_SUMMARY, .allow_other = geteuid() == 0}}};
	_free_ char *quoted = NULL;
	time_t now = time(NULL);
	struct tm tm;
	int n, r;

	argc = cut_command(&o, argc, argv);
	n = cli_parse(&spec, argc, argv, &o);
	if (n <= 0)
		return n;
	o.job.r.source = argv[optind];
	o.job.r.mountpoint = n > 1 ? argv[optind + 1] : NULL;
	if (o.no_record) {
		o.job.r.trace_path = NULL;
	} else if (!o.job.r.trace_path) {
		strftime(o.trace_default, sizeof(o.trace_default), "iotape-%Y%m%d-%H%M%S.tape",
			localtime_r(&now, &tm));
		o.job.r.trace_path = o.trace_default;
	}
	r = check_stdout(&o);
	if (r < 0)
		return r;
	if (!o.job.command)
		return o.foreground ? record_foreground(&o.job) : record_background(&o.job);
	if (!o.job.command[0])
		return fail(-EINVAL, "record: no COMMAND behind --");
	o.job.r.command = quoted = quote_command(o.job.command);
	return record_command(&o.job);
}

const struct command cmd_record = {"record", "run a job on a mirror of DIR and record its I/O",
	"usage: iotape record [-o FILE] [options] DIR [MOUNTPOINT] [-- COMMAND ARG...]\n"
	"\n"
	"    iotape record -o copy.tape /srv/data -- cp -r /srv/data/a /srv/data/b\n"
	"    iotape record -o day.tape /srv/data        (until: umount /srv/data)\n"
	"\n"
	"Mounts a recording mirror of DIR over DIR itself, or at MOUNTPOINT. With COMMAND, runs "
	"it,\n"
	"unmounts and passes its exit status on (128+N when signal N killed it); without, goes to "
	"the\n"
	"background, prints the daemon's pid and records until unmounted, SIGINT, SIGTERM or "
	"SIGHUP.\n"
	"\n"
	"  -o, --output=FILE      the trace (default iotape-YYYYmmdd-HHMMSS.tape here); not below "
	"DIR;\n"
	"                         - is standard output, and COMMAND's goes to stderr\n"
	"  -f, --foreground       without COMMAND: stay in front\n"
	"      --view=VIEW        app: every read and write as issued (default); storage: reads "
	"that\n"
	"                         missed the page cache\n"
	"      --content=WHAT     of written data: none, summary (zero or not, compressibility; "
	"default)\n"
	"      --allow-other      other users may use the mount (default for root)\n"
	"      --max-size=SIZE    the recording ends when the trace is this large; the mount goes "
	"on\n"
	"      --snapshot=HOW     touched: what the job touches, as it does (default); full: all "
	"of DIR\n"
	"                         at the start\n"
	"      --level=N          zstd level of the trace, 1 to 19 (default 1)\n"
	"      --force            FILE may exist and is replaced\n"
	"      --format=FORMAT    of the summary on stderr: text or json\n"
	"      --pid-file=FILE    the pid of the serving process, while it runs\n"
	"      --help             print this\n",
	run};
