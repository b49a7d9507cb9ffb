/* SPDX-License-Identifier: MIT */
/*
 * `iotape backend`: which kinds of storage can stand up here, whether one spec can, and one stood
 * up to be used by hand and taken down later (what is up is noted in backend_note.c).
 */
#include "cli_priv.h"

#include <errno.h>
#include <string.h>

#include "iotape/backend.h"
#include "iotape/json.h"

#define KINDS_MAX 16

struct options {
	enum cli_format format;
	bool all;
	const char **destroy; /* NULL-terminated, or NULL */
};

struct listing {
	struct json *j; /* NULL: text */
	unsigned n;
};

static int list_up(void *ctx, const char *name)
{
	struct listing *l = ctx;
	struct json *j = l->j;
	struct backend *b = NULL;
	FILE *note = NULL;
	int r = cli_note_resume(&b, name, &note);
	const char *state = r == -EBUSY ? "busy" : r < 0 ? "unreadable" : r ? "killed" : "up";

	if (r == -ENOENT)
		return 0;
	if (j) {
		json_object(j, NULL);
		json_str(j, "name", name);
		json_str(j, "state", state);
		json_str(j, "kind", b ? backend_kind(b) : NULL);
		json_str(j, "spec", b ? backend_spec(b) : NULL);
		json_str(j, "path", b ? backend_root_path(b) : NULL);
		json_str(j, "how", b ? backend_how(b) : NULL);
		json_end(j, '}');
	} else if (r) {
		printf("%s: %s: %s\n", state, name,
			r < 0 ? fail_text() : "its `up` was killed; files of it may be left");
	} else {
		printf("up: %s at %s: %s\n", name,
			backend_root_path(b) ? backend_root_path(b) : "-", backend_how(b));
	}
	l->n++;
	if (b)
		backend_forget(b);
	if (note)
		fclose(note);
	return 0;
}

static int do_list(const struct options *o)
{
	struct backend_kind_info k[KINDS_MAX];
	size_t n = MIN(backend_kinds(k, KINDS_MAX), (size_t)KINDS_MAX);
	struct json j;
	struct listing l = {.j = o->format == CLI_TEXT ? NULL : &j};

	if (o->format == CLI_TEXT) {
		printf("%-6s  %-6s  %s\n", "kind", "usable", "by what means, or what is missing");
		for (size_t i = 0; i < n; i++)
			printf("%-6s  %-6s  %s\n", k[i].kind, k[i].usable ? "yes" : "no", k[i].how);
		printf("\n");
		for (size_t i = 0; i < n; i++)
			printf("%-6s  %s\n", k[i].kind, k[i].syntax);
		cli_note_each(list_up, &l);
		if (l.n)
			printf("`iotape backend down NAME` takes one down, `down --all` all\n");
		return cli_flush();
	}
	json_init(&j, stdout, 2);
	json_object(&j, NULL);
	json_array(&j, "kinds");
	for (size_t i = 0; i < n; i++) {
		json_object(&j, NULL);
		json_str(&j, "kind", k[i].kind);
		json_bool(&j, "usable", k[i].usable);
		json_str(&j, "what", k[i].what);
		json_str(&j, "syntax", k[i].syntax);
		json_str(&j, "how", k[i].how);
		json_end(&j, '}');
	}
	json_end(&j, ']');
	json_array(&j, "up");
	cli_note_each(list_up, &l);
	json_end(&j, ']');
	json_end(&j, '}');
	printf("\n");
	return cli_flush();
}

static int do_check(const struct options *o, const char *spec)
{
	const struct backend_policy pol = {.destroy = o->destroy};
	struct backend *b;
	int r = backend_new(&b, spec, &pol);

	if (r < 0)
		return r;
	r = backend_check(b);
	if (!r)
		printf("%s: can stand up here\n", spec);
	backend_free(b);
	return r < 0 ? r : cli_flush();
}

/* Removes the note before its lock goes. */
static int take_down(void *ctx, const char *name)
{
	char path[1024];
	struct backend *b = NULL;
	FILE *note = NULL;
	int r = cli_note_resume(&b, name, &note);

	(void)ctx;
	if (r < 0)
		return r;
	r = backend_down(b);
	if (!r && !cli_note_path(path, sizeof(path), name, false))
		unlink(path);
	backend_free(b);
	fclose(note);
	return r;
}

/* Says where it is and how to end it; -EPIPE: nobody could be told. */
static int tell_up(const struct backend *b)
{
	const char *root = backend_root_path(b);

	printf("%s\n", root ? root : "-");
	if (cli_flush() < 0)
		return -EPIPE;
	fprintf(stderr, "%s: %s\n%s: stays until: iotape backend down %s\n", backend_name(b),
		backend_how(b), backend_name(b), backend_name(b));
	return 0;
}

static int do_up(const struct options *o, const char *spec)
{
	const struct backend_policy pol = {
		.destroy = o->destroy, .visible = true, .stop = &cli_stop_flag};
	char path[1024];
	struct backend *b;
	int fd, r = backend_new(&b, spec, &pol);
	bool left = false;
	FILE *f;

	if (r < 0)
		return r;
	cli_catch_signals();
	fd = cli_note_new(&b, &pol, strcmp(spec, backend_spec(b)) != 0);
	if (fd < 0) {
		backend_free(b);
		return fd;
	}
	f = fdopen(fd, "w");
	r = f ? backend_begin(b, f) : fail(-errno, "backend: %s", strerror(errno));
	if (!r)
		r = backend_up(b);
	if (!r) {
		r = backend_leave(b, f);
		left = !r;
	}
	if (r < 0) {
		backend_down(b); /* before its note goes */
		if (!cli_note_path(path, sizeof(path), backend_name(b), false))
			unlink(path);
	}
	if (f)
		fclose(f);
	else
		close(fd);
	if (left && tell_up(b) < 0) {
		r = take_down(NULL, backend_name(b));
		if (!r)
			r = fail(-EPIPE, "backend: nobody could be told where it is: taken down");
	}
	backend_free(b);
	return r;
}

static int set(void *ctx, int c)
{
	struct options *o = ctx;

	switch (c) {
	case 'a':
		o->all = true;
		return 0;
	case 'd':
		return cli_append(&o->destroy, optarg);
	default:
		return cli_parse_format(optarg, false, &o->format);
	}
}

static int do_verb(const struct options *o, int n, char **operands)
{
	static const char *const verbs[] = {"list", "check", "up", "down", NULL};
	int verb = util_choice("backend", operands[0], verbs);

	if (verb < 0)
		return verb;
	if (n != (verb == 0 || (verb == 3 && o->all) ? 1 : 2))
		return fail(-EINVAL, "backend %s takes %s: see `iotape help backend`", verbs[verb],
			verb == 0   ? "nothing behind it"
			: verb == 3 ? "one NAME, or --all"
				    : "one BACKEND");
	if (verb == 0)
		return do_list(o);
	if (verb == 1)
		return do_check(o, operands[1]);
	if (verb == 2)
		return do_up(o, operands[1]);
	return o->all ? cli_note_each(take_down, NULL) : take_down(NULL, operands[1]);
}

static const struct option longs[] = {
	{"all", no_argument, NULL, 'a'},
	{"destroy", required_argument, NULL, 'd'},
	{"format", required_argument, NULL, 'f'},
	{0},
};

static const struct cli_spec spec = {
	.cmd = &cmd_backend,
	.longs = longs,
	.set = set,
	.min = 1,
	.max = 2,
};

static int run(int argc, char **argv)
{
	struct options o = {0};
	int r = cli_parse(&spec, argc, argv, &o);

	if (r > 0)
		r = do_verb(&o, r, argv + optind);
	free(o.destroy);
	return r;
}

const struct command cmd_backend = {
	"backend",
	"storage to replay on: what can stand up here, stand one up, take it down",
	"usage: iotape backend list | check BACKEND | up BACKEND | down NAME\n"
	"\n"
	"    iotape backend list\n"
	"    iotape backend up mirror=raid1:/srv/a.img,/srv/b.img,size=1G\n"
	"    iotape backend down mirror\n"
	"\n"
	"BACKEND is [NAME=]SPEC, and SPEC one of\n" CLI_BACKEND_HELP
	"`up` prints the directory to use; it stays until `down`.\n"
	"\n"
	"  --destroy=DEVICE      this device (or file) may be formatted\n"
	"  --all                 down: everything that is up\n"
	"  --format=text|json    of list\n"
	"  --help                print this\n",
	run,
};
