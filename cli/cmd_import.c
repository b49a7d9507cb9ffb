/* SPDX-License-Identifier: MIT */
/*
 * import: what another program (or a person) wrote, as a trace. One table row a format; a format
 * either is named or known by its first bytes. The trace takes its place only when it is whole:
 * a failed import leaves what was there.
 */
#include "cli_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "iotape/trace.h"

struct importer {
	const char *name;
	const char *magic; /* how a file of it begins */
	int (*run)(FILE *in, const char *name, int out_fd);
};

static const struct importer importers[] = {
	{"text", "#iotape", trace_text_import},
};

struct options {
	const struct importer *from; /* NULL: by the first bytes */
	const char *in, *out;
	bool force;
	int progress;
};

/* ---- input: a stream that counts what was read ---- */

struct input {
	int fd;
	uint64_t done, total;
	struct cli_progress progress;
};

static ssize_t input_read(void *cookie, char *buf, size_t n)
{
	struct input *in = cookie;
	ssize_t r;

	if (cli_stop_flag) {
		errno = EINTR;
		return -1;
	}
	do
		r = read(in->fd, buf, n);
	while (r < 0 && errno == EINTR && !cli_stop_flag);
	if (r > 0)
		in->done += (uint64_t)r;
	cli_progress_update(&in->progress, in->done, in->total, 0);
	return r;
}

static FILE *input_open(struct input *in, const struct options *o)
{
	bool is_stdin = !strcmp(o->in, "-");
	struct stat st;
	FILE *f = NULL;

	in->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
			  : open(o->in, O_RDONLY | O_CLOEXEC);
	if (in->fd >= 0)
		f = fopencookie(in, "r", (cookie_io_functions_t){.read = input_read});
	if (!f) {
		fail(-errno, "%s: %s", o->in, strerror(errno));
		return NULL;
	}
	setvbuf(f, NULL, _IOFBF, 1 << 16);
	if (!fstat(in->fd, &st) && S_ISREG(st.st_mode))
		in->total = (uint64_t)st.st_size;
	cli_progress_begin(&in->progress, o->progress, "import (bytes)");
	return f;
}

static const struct importer *sniff(FILE *f)
{
	char head[16];
	size_t n = fread(head, 1, sizeof(head), f);

	/* back into the buffer that they just came from */
	for (size_t i = n; i; i--)
		ungetc((unsigned char)head[i - 1], f);
	for (size_t i = 0; i < ARRAY_SIZE(importers); i++) {
		size_t len = strlen(importers[i].magic);

		if (n >= len && !memcmp(head, importers[i].magic, len))
			return &importers[i];
	}
	return NULL;
}

static int import(const struct options *o)
{
	struct input in = {.fd = -1};
	struct cli_output out = {0};
	const struct importer *from = o->from;
	FILE *f = input_open(&in, o);
	int r = f ? 0 : -EIO;

	if (!r && !from)
		from = sniff(f);
	if (!r && ferror(f))
		r = fail(-EIO, "%s: %s", o->in, strerror(errno));
	else if (!r && !from)
		r = fail(-EINVAL, "%s: not of a format known here; --from=FORMAT names it", o->in);
	if (!r) {
		r = cli_output_open(&out, o->out, o->force);
		if (!r)
			r = from->run(f, o->in, out.fd);
		r = cli_output_close(&out, MIN(r, 0));
	}
	if (f) {
		cli_progress_end(&in.progress);
		fclose(f);
	}
	util_closep(&in.fd);
	return r;
}

static int set_from(struct options *o)
{
	const char *names[ARRAY_SIZE(importers) + 1] = {NULL};
	int i;

	for (size_t k = 0; k < ARRAY_SIZE(importers); k++)
		names[k] = importers[k].name;
	i = util_choice("--from", optarg, names);
	if (i >= 0)
		o->from = &importers[i];
	return i;
}

static int set(void *ctx, int c)
{
	struct options *o = ctx;

	switch (c) {
	case 'F':
		return set_from(o);
	case 'o':
		o->out = optarg;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	default:
		o->progress = c == 'p';
		return 0;
	}
}

static const struct option longs[] = {
	{"from", required_argument, NULL, 'F'},
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'f'},
	{"progress", no_argument, NULL, 'p'},
	{"no-progress", no_argument, NULL, 'P'},
	{0},
};

static const struct cli_spec spec = {
	.cmd = &cmd_import,
	.longs = longs,
	.shorts = "o:",
	.set = set,
	.min = 1,
	.max = 1,
};

static int run(int argc, char **argv)
{
	struct options o = {.progress = -1};
	int n = cli_parse(&spec, argc, argv, &o), r = 0;

	if (n <= 0)
		return n;
	if (!o.out)
		return fail(-EINVAL, "import: -o TRACE is missing: where to write the trace");
	if (!strcmp(o.out, "-"))
		r = cli_not_to_terminal("import");
	if (r)
		return r;
	o.in = argv[optind];
	cli_catch_signals();
	return import(&o);
}

const struct command cmd_import = {"import", "turn the text twin of a trace back into a trace",
	"usage: iotape import [--from=FORMAT] FILE... -o TRACE\n"
	"\n"
	"Makes a trace of what `iotape dump` printed or another program wrote. FILE and TRACE may\n"
	"be - for a pipe. Every format takes one FILE so far.\n"
	"\n"
	"    iotape dump a.tape | sed 's/ L7 / L1 /' | iotape import - -o b.tape\n"
	"\n"
	"  -o, --output=TRACE  the trace to write; an existing one is kept unless --force\n"
	"  --from=FORMAT       text: the text twin. Default: by the first bytes of FILE\n"
	"  --force             replace TRACE\n"
	"  --progress, --no-progress\n"
	"                      a progress line on stderr, or none; default: on a terminal\n"
	"  --help              print this\n",
	run};
