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

/* ---- output: a file beside the target that takes its name at the end ---- */

struct output {
	int fd;
	char *temp; /* NULL: written in place (a pipe, a device) */
};

static int output_open(struct output *t, const struct options *o)
{
	struct stat st;

	*t = (struct output){.fd = -1};
	if (!strcmp(o->out, "-")) {
		if (isatty(STDOUT_FILENO))
			return fail(-EINVAL, "import: a trace is binary: not written to a "
					     "terminal; name a file with -o");
		t->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return t->fd < 0 ? fail(-errno, "standard output: %s", strerror(errno)) : 0;
	}
	if (!stat(o->out, &st)) {
		if (S_ISDIR(st.st_mode))
			return fail(-EISDIR, "%s: is a directory; name a file with -o", o->out);
		if (S_ISREG(st.st_mode) && !o->force)
			return fail(-EEXIST, "%s: exists; --force replaces it", o->out);
		if (!S_ISREG(st.st_mode)) {
			t->fd = open(o->out, O_WRONLY | O_CLOEXEC);
			return t->fd < 0 ? fail(-errno, "%s: %s", o->out, strerror(errno)) : 0;
		}
	}
	if (asprintf(&t->temp, "%s.tmp%ld", o->out, (long)getpid()) < 0) {
		t->temp = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	t->fd = open(t->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (t->fd < 0) {
		int r = fail(-errno, "%s: %s", o->out, strerror(errno));

		free(t->temp);
		t->temp = NULL;
		return r;
	}
	return 0;
}

/* r: how the import went; returns it, or what failed here. */
static int output_close(struct output *t, const struct options *o, int r)
{
	if (t->fd >= 0 && close(t->fd) < 0 && !r)
		r = fail(-errno, "%s: %s", o->out, strerror(errno));
	if (t->temp && !r &&
		(o->force ? rename(t->temp, o->out)
			  : renameat2(AT_FDCWD, t->temp, AT_FDCWD, o->out, RENAME_NOREPLACE)) < 0)
		r = fail(-errno, "%s: %s", o->out, strerror(errno));
	if (t->temp && r)
		unlink(t->temp);
	free(t->temp);
	return r;
}

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
	struct output out;
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
		r = output_open(&out, o);
		if (!r)
			r = from->run(f, o->in, out.fd);
		if (r > 0)
			r = 0;
		r = output_close(&out, o, r);
	}
	if (f) {
		cli_progress_end(&in.progress);
		fclose(f);
	}
	util_closep(&in.fd);
	return r;
}

static int parse(struct options *o, int argc, char **argv, bool *help)
{
	static const struct option longs[] = {
		{"from", required_argument, NULL, 'F'},
		{"output", required_argument, NULL, 'o'},
		{"force", no_argument, NULL, 'f'},
		{"progress", no_argument, NULL, 'p'},
		{"no-progress", no_argument, NULL, 'P'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *names[ARRAY_SIZE(importers) + 1] = {NULL};
	int c, i;

	for (size_t k = 0; k < ARRAY_SIZE(importers); k++)
		names[k] = importers[k].name;
	while ((c = cli_getopt(argc, argv, "o:h", longs)) != -1) {
		switch (c) {
		case 'F':
			i = cli_choice("--from", optarg, names);
			if (i < 0)
				return i;
			o->from = &importers[i];
			break;
		case 'o':
			o->out = optarg;
			break;
		case 'f':
			o->force = true;
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
	if (!o->out)
		return fail(-EINVAL, "import: -o TRACE is missing: where to write the trace");
	o->in = argv[optind];
	return cli_operands(&cmd_import, argc, 1, 1);
}

static int run(int argc, char **argv)
{
	struct options o = {.progress = -1};
	bool help = false;
	int r = parse(&o, argc, argv, &help);

	if (r < 0)
		return r;
	if (help)
		return cli_help(&cmd_import);
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
	"options:\n"
	"    -o, --output=TRACE  the trace to write; an existing one is kept unless --force\n"
	"    --from=FORMAT       text: the text twin. Default: by the first bytes of FILE\n"
	"    --force             replace TRACE\n"
	"    --progress, --no-progress\n"
	"                        a progress line on stderr, or none; default: on a terminal\n"
	"    --help              print this\n",
	run};
