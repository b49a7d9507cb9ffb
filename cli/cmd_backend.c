/* SPDX-License-Identifier: MIT */
/*
 * `iotape backend`: which kinds of storage can stand up here, whether one spec can, and one stood
 * up to be used by hand and taken down later. What is up is noted in one file each under
 * /run/iotape (root) or $XDG_RUNTIME_DIR/iotape; removing such a file by hand loses the way back.
 */
#include "cli_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "iotape/backend.h"
#include "iotape/json.h"

#define KINDS_MAX 16

struct options {
	enum cli_format format;
	bool all;
	const char **destroy; /* NULL-terminated, or NULL */
};

/* The directory of notes, made when it is to be written to. */
static int state_dir(char *dir, size_t cap, bool make)
{
	const char *run = geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run";
	struct stat st;

	if (!run || !*run)
		return fail(-ENOENT,
			"backend: XDG_RUNTIME_DIR is not set: there is no place to note "
			"what is up; set it or be root");
	if ((size_t)snprintf(dir, cap, "%s/iotape", run) >= cap)
		return fail(-ENAMETOOLONG, "backend: %s is too long", run);
	if (make && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return fail(-errno, "backend: cannot make %s: %s", dir, strerror(errno));
	if (make && (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
			    st.st_mode & 022))
		return fail(-EPERM, "backend: %s is not a directory of this user alone", dir);
	return 0;
}

static int note_path(char *path, size_t cap, const char *name, bool make)
{
	char dir[512];
	int r = state_dir(dir, sizeof(dir), make);

	if (r < 0)
		return r;
	if (!*name || *name == '.' || strchr(name, '/') || strlen(name) > 200)
		return fail(-EINVAL, "backend: '%s' is not a name", name);
	snprintf(path, cap, "%s/%s", dir, name);
	return 0;
}

static int resume(struct backend **out, const char *name)
{
	char path[1024];
	int r = note_path(path, sizeof(path), name, false);
	FILE *f;

	if (r < 0)
		return r;
	f = fopen(path, "re");
	if (!f && errno == ENOENT)
		return fail(-ENOENT,
			"backend: none is up by the name of '%s' (iotape backend list)", name);
	if (!f)
		return fail(-errno, "backend: %s: %s", path, strerror(errno));
	r = backend_resume(out, f);
	fclose(f);
	return r < 0 ? fail_in(r, "backend: %s", path) : 0;
}

/* fn for every name that is noted; all of them even after a failure, the first is returned. */
static int each_up(int (*fn)(void *ctx, const char *name), void *ctx)
{
	char dir[512];
	struct dirent **names;
	int n, first = 0;

	if (state_dir(dir, sizeof(dir), false) < 0)
		return 0;
	n = scandir(dir, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			int r = fn(ctx, names[i]->d_name);

			if (r < 0 && !first)
				first = r;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return first;
}

static int list_up(void *ctx, const char *name)
{
	struct json *j = ctx;
	struct backend *b;

	if (resume(&b, name) < 0)
		return 0;
	if (j) {
		json_object(j, NULL);
		json_str(j, "name", name);
		json_str(j, "kind", backend_kind(b));
		json_str(j, "spec", backend_spec(b));
		json_str(j, "path", backend_root_path(b));
		json_str(j, "how", backend_how(b));
		json_end(j, '}');
	} else {
		printf("up: %s at %s: %s\n", name,
			backend_root_path(b) ? backend_root_path(b) : "-", backend_how(b));
	}
	backend_forget(b);
	return 0;
}

static int do_list(const struct options *o)
{
	struct backend_kind_info k[KINDS_MAX];
	size_t n = MIN(backend_kinds(k, KINDS_MAX), (size_t)KINDS_MAX);
	struct json j;

	if (o->format == CLI_TEXT) {
		printf("%-6s  %-6s  %s\n", "kind", "usable", "by what means, or what is missing");
		for (size_t i = 0; i < n; i++)
			printf("%-6s  %-6s  %s\n", k[i].kind, k[i].usable ? "yes" : "no", k[i].how);
		printf("\n");
		for (size_t i = 0; i < n; i++)
			printf("%-6s  %s\n", k[i].kind, k[i].syntax);
		each_up(list_up, NULL);
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
	each_up(list_up, &j);
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

/* Opens a note that is not there yet; the kind's name is made unique, a given name is not. */
static int new_note(
	const struct backend *b, bool named, char *path, size_t cap, char *name, size_t name_cap)
{
	int r, fd;

	for (unsigned i = 1; i < 1000; i++) {
		if (i == 1)
			snprintf(name, name_cap, "%s", backend_name(b));
		else
			snprintf(name, name_cap, "%s-%u", backend_name(b), i);
		r = note_path(path, cap, name, true);
		if (r < 0)
			return r;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return fail(-errno, "backend: %s: %s", path, strerror(errno));
		if (named)
			return fail(-EEXIST,
				"backend: '%s' is up already: take it down or choose "
				"another name",
				name);
	}
	return fail(-EEXIST, "backend: too many are up: take some down");
}

static int do_up(const struct options *o, const char *spec)
{
	const struct backend_policy pol = {
		.destroy = o->destroy, .visible = true, .stop = &cli_stop_flag};
	char path[1024], name[256];
	struct backend *b;
	int fd, r = backend_new(&b, spec, &pol);
	FILE *f;

	if (r < 0)
		return r;
	fd = new_note(
		b, strcmp(spec, backend_spec(b)) != 0, path, sizeof(path), name, sizeof(name));
	if (fd < 0) {
		backend_free(b);
		return fd;
	}
	cli_catch_signals();
	f = fdopen(fd, "w");
	r = f ? backend_up(b) : fail(-errno, "backend: %s", strerror(errno));
	if (!r) {
		fprintf(stderr, "%s: %s\n", name, backend_how(b));
		printf("%s\n", backend_root_path(b) ? backend_root_path(b) : "-");
		r = cli_flush();
	}
	if (!r)
		r = backend_leave(b, f);
	if (r < 0)
		unlink(path);
	if (f)
		fclose(f);
	backend_free(b);
	return r;
}

static int take_down(void *ctx, const char *name)
{
	char path[1024];
	struct backend *b;
	int r = resume(&b, name);

	(void)ctx;
	if (r < 0)
		return r;
	r = backend_down(b);
	if (!r && !note_path(path, sizeof(path), name, false))
		unlink(path);
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
	return o->all ? each_up(take_down, NULL) : take_down(NULL, operands[1]);
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
	"BACKEND is [NAME=]SPEC, and SPEC one of\n"
	"    DIR or dir:DIR        a fresh subdirectory of DIR, removed afterwards\n"
	"    rdm:DEVICE-OR-FILE[,size=8G][,fs=ext4|xfs|btrfs]\n"
	"    vmdk:FILE.vmdk[,size=8G][,provision=thin|lazy|eager][,fs=ext4|xfs|btrfs]\n"
	"    raid1:A,B[,size=8G][,fs=btrfs][,degraded]\n"
	"    null:                 no storage at all\n"
	"The middle three take ,delay=5ms and ,rate=50M too. Files are made and removed at down;\n"
	"one that is there is never overwritten. A comma in a path is written \"\\,\".\n"
	"`up` prints the directory to use; it stays until `down`.\n"
	"\n"
	"    --destroy=DEVICE      this device (or file) may be formatted\n"
	"    --all                 down: everything that is up\n"
	"    --format=text|json    of list\n"
	"    -h, --help            this text\n",
	run,
};
