/* SPDX-License-Identifier: MIT */
/*
 * compare: replays traces on several kinds of storage and says which is slower, by how much and how
 * sure that is. Here are only the options, the names of workloads and backends, and where the
 * report goes; the experiment is compare_run() of libreplay.
 */
#include "cli_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "iotape/compare.h"

#define ROUNDS_MAX 10000u

struct options {
	struct compare_opts run;
	struct backend_policy policy;
	struct compare_workload *workloads;
	struct backend **backends;
	const char **specs, **destroy;
	size_t n_specs, n_destroy;
	const char *baseline, *json_path;
	enum cli_format format;
	struct filter *filter;
	bool aa, seeded;
	int progress, json_fd;
};

enum {
	OPT_ON = 256,
	OPT_ROUNDS,
	OPT_BASELINE,
	OPT_LIMIT,
	OPT_SEED,
	OPT_JSON,
	OPT_AA,
	OPT_PACE,
	OPT_SPEED,
	OPT_ORDER,
	OPT_APPEND,
	OPT_CACHE,
	OPT_THREADS,
	OPT_NO_PREPARE,
	OPT_KEEP,
	OPT_FORMAT,
	OPT_FILTER,
	OPT_DESTROY,
	OPT_FORCE,
	OPT_NO_TREE_CHECK,
};

static const struct option longs[] = {
	{"on", required_argument, NULL, OPT_ON},
	{"rounds", required_argument, NULL, OPT_ROUNDS},
	{"baseline", required_argument, NULL, OPT_BASELINE},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"seed", required_argument, NULL, OPT_SEED},
	{"json", required_argument, NULL, OPT_JSON},
	{"aa", no_argument, NULL, OPT_AA},
	{"pace", required_argument, NULL, OPT_PACE},
	{"speed", required_argument, NULL, OPT_SPEED},
	{"order", required_argument, NULL, OPT_ORDER},
	{"append", required_argument, NULL, OPT_APPEND},
	{"cache", required_argument, NULL, OPT_CACHE},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"no-prepare", no_argument, NULL, OPT_NO_PREPARE},
	{"no-tree-check", no_argument, NULL, OPT_NO_TREE_CHECK},
	{"keep", no_argument, NULL, OPT_KEEP},
	{"format", required_argument, NULL, OPT_FORMAT},
	{"filter", required_argument, NULL, OPT_FILTER},
	{"destroy", required_argument, NULL, OPT_DESTROY},
	{"force", no_argument, NULL, OPT_FORCE},
	{"sync", no_argument, NULL, 'y'},
	{"no-sync", no_argument, NULL, 'n'},
	{"progress", no_argument, NULL, 'p'},
	{"no-progress", no_argument, NULL, 'q'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int parse_number(const char *option, uint64_t least, uint64_t most, uint64_t *out)
{
	int r = util_parse_u64(optarg, out);

	if (r)
		return fail_in(r, "%s", option);
	if (*out < least || *out > most)
		return fail(-EINVAL, "%s: %s is not between %llu and %llu", option, optarg,
			(unsigned long long)least, (unsigned long long)most);
	return 0;
}

static int parse_speed(double *out)
{
	char *end;
	double v = strtod(optarg, &end);

	if (end == optarg || (*end && strcmp(end, "x")) || !(v > 0) || !isfinite(v))
		return fail(-EINVAL, "--speed: '%s' is no factor above 0, like 2 or 0.5", optarg);
	*out = v;
	return 0;
}

/* What replay has too. 1: not one of these. */
static int parse_replay_option(struct options *o, int c)
{
	static const char *const paces[] = {"asap", "think", "clock", NULL};
	static const char *const orders[] = {"trace", "resource", "thread", NULL};
	static const char *const appends[] = {"offset", "native", NULL};
	static const char *const caches[] = {"cold", "warm", NULL};
	struct replay_opts *replay = &o->run.replay;
	uint64_t v = 0;
	int r = 0;

	switch (c) {
	case OPT_PACE:
		r = cli_choice("--pace", optarg, paces);
		replay->pace = (enum replay_pace)MAX(r, 0);
		break;
	case OPT_ORDER:
		r = cli_choice("--order", optarg, orders);
		o->run.order = (enum replay_order)MAX(r, 0);
		break;
	case OPT_APPEND:
		r = cli_choice("--append", optarg, appends);
		replay->append = (enum replay_append)MAX(r, 0);
		break;
	case OPT_CACHE:
		r = cli_choice("--cache", optarg, caches);
		o->run.cold = r == 0;
		break;
	case OPT_SPEED:
		return parse_speed(&replay->speed);
	case OPT_THREADS:
		r = parse_number("--threads", 1, 4096, &v);
		replay->threads = (unsigned)v;
		break;
	case 'y':
	case 'n':
		replay->no_sync = c == 'n';
		break;
	case OPT_NO_PREPARE:
		o->run.no_prepare = true;
		break;
	case OPT_KEEP:
		o->policy.keep = true;
		break;
	case OPT_FILTER:
		filter_free(o->filter);
		o->filter = NULL;
		return filter_parse(&o->filter, optarg);
	default:
		return 1;
	}
	return MIN(r, 0);
}

static int parse_compare_option(struct options *o, int c)
{
	uint64_t v = 0;
	int r = 0;

	switch (c) {
	case OPT_ON:
		o->specs[o->n_specs++] = optarg;
		break;
	case OPT_DESTROY:
		o->destroy[o->n_destroy++] = optarg;
		break;
	case OPT_ROUNDS:
		r = parse_number("--rounds", 1, ROUNDS_MAX, &v);
		o->run.rounds = (unsigned)v;
		break;
	case OPT_SEED:
		o->seeded = true;
		return parse_number("--seed", 0, UINT64_MAX, &o->run.seed);
	case OPT_LIMIT:
		r = util_parse_fraction(optarg, &o->run.limit);
		return r ? fail_in(r, "--limit") : 0;
	case OPT_BASELINE:
		o->baseline = optarg;
		break;
	case OPT_JSON:
		o->json_path = optarg;
		break;
	case OPT_AA:
		o->aa = true;
		break;
	case OPT_FORMAT:
		return cli_parse_format(optarg, false, &o->format);
	case OPT_FORCE:
		o->run.force = true;
		break;
	case OPT_NO_TREE_CHECK:
		o->run.check_tree = false;
		break;
	case 'p':
	case 'q':
		o->progress = c == 'p';
		break;
	default:
		return -EINVAL;
	}
	return r;
}

static int parse(struct options *o, int argc, char **argv, bool *help)
{
	int c, r = 0;

	o->specs = calloc((size_t)argc + 1, sizeof(*o->specs));
	o->destroy = calloc((size_t)argc + 1, sizeof(*o->destroy));
	if (!o->specs || !o->destroy)
		return fail(-ENOMEM, "out of memory");
	while (!r && (c = cli_getopt(argc, argv, "h", longs)) != -1) {
		if (c == '?')
			return -EINVAL;
		if (c == 'h') {
			*help = true;
			return 0;
		}
		r = parse_replay_option(o, c);
		if (r == 1)
			r = parse_compare_option(o, c);
	}
	if (!r)
		r = cli_operands(&cmd_compare, argc, 1, argc);
	if (!r && !o->n_specs)
		r = fail(-EINVAL, "compare: on what? Give backends with --on [NAME=]BACKEND; "
				  "`iotape backend list` shows the kinds");
	return r;
}

/* base, or base-2, base-3, ... so that it is none of the names before it. */
static char *unique_name(
	const char *base, const char *(*name)(const void *, size_t), const void *list, size_t n)
{
	char *s = strdup(base);

	for (unsigned k = 2; s; k++) {
		size_t i = 0;

		while (i < n && strcmp(name(list, i), s))
			i++;
		if (i == n)
			break;
		free(s);
		if (asprintf(&s, "%s-%u", base, k) < 0)
			s = NULL;
	}
	return s;
}

static const char *workload_name(const void *list, size_t i)
{
	return ((const struct compare_workload *)list)[i].name;
}

static const char *nth_backend_name(const void *list, size_t i)
{
	return backend_name(((struct backend *const *)list)[i]);
}

static int name_workloads(struct options *o, char **paths, size_t n)
{
	o->workloads = calloc(n, sizeof(*o->workloads));
	if (!o->workloads)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(paths[i], '/');
		_free_ char *base = strdup(!strcmp(paths[i], "-") ? "stdin"
					   : slash                ? slash + 1
								  : paths[i]);
		char *dot = base ? strrchr(base, '.') : NULL;

		if (dot && dot > base && !strcmp(dot, ".tape"))
			*dot = '\0';
		o->workloads[i].path = paths[i];
		o->workloads[i].name =
			base ? unique_name(base, workload_name, o->workloads, i) : NULL;
		if (!o->workloads[i].name)
			return fail(-ENOMEM, "out of memory");
		o->run.n_workloads = i + 1;
	}
	return 0;
}

/* A second backend of the same spec under another name. */
static int renamed(
	struct backend **out, const struct options *o, const struct backend *b, const char *name)
{
	_free_ char *spec = NULL;

	if (asprintf(&spec, "%s=%s", name, backend_spec(b)) < 0) {
		spec = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	return backend_new(out, spec, &o->policy);
}

static int add_backend(struct options *o, struct backend *b)
{
	size_t n = o->run.n_backends;
	_free_ char *name = unique_name(backend_name(b), nth_backend_name, o->backends, n);
	struct backend *other = NULL;
	int r = 0;

	if (!name)
		r = fail(-ENOMEM, "out of memory");
	else if (strcmp(name, backend_name(b)))
		r = renamed(&other, o, b, name);
	if (r || other)
		backend_free(b);
	if (r)
		return r;
	o->backends[n] = other ? other : b;
	o->run.n_backends++;
	return 0;
}

/* What keep leaves of a run on a file or device is in the way of the next run. */
static int check_keep(const struct options *o)
{
	for (size_t i = 0; o->policy.keep && i < o->run.n_backends; i++) {
		const char *kind = backend_kind(o->backends[i]);

		if (o->run.rounds * o->run.n_workloads > 1 && strcmp(kind, "dir") &&
			strcmp(kind, "null"))
			return fail(-EINVAL,
				"--keep: %s can keep one run only, and here are several; keep "
				"directories, or use `iotape replay --keep`",
				backend_name(o->backends[i]));
	}
	return 0;
}

static int make_backends(struct options *o)
{
	int r = 0;

	o->policy.destroy = o->n_destroy ? o->destroy : NULL;
	o->policy.stop = &cli_stop_flag;
	o->backends = calloc(o->n_specs + 1, sizeof(struct backend *));
	if (!o->backends)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < o->n_specs && !r; i++) {
		struct backend *b = NULL;

		r = backend_new(&b, o->specs[i], &o->policy);
		if (!r)
			r = add_backend(o, b);
		if (!r && i == 0 && o->aa) {
			_free_ char *again = NULL;

			if (asprintf(&again, "%s-again", backend_name(o->backends[0])) < 0) {
				again = NULL;
				return fail(-ENOMEM, "out of memory");
			}
			r = renamed(&b, o, o->backends[0], again);
			if (!r)
				r = add_backend(o, b);
		}
	}
	for (size_t i = 0; !r && o->baseline; i++) {
		if (i == o->run.n_backends)
			return fail(-EINVAL,
				"--baseline: no backend is called '%s'; name one with --on "
				"%s=BACKEND",
				o->baseline, o->baseline);
		o->run.baseline = i;
		if (!strcmp(backend_name(o->backends[i]), o->baseline))
			break;
	}
	return r;
}

/* Before hours of work, not after: can the file be written? Old content stays until the end. */
static int open_json(struct options *o)
{
	if (!o->json_path)
		return 0;
	if (!strcmp(o->json_path, "-")) {
		o->format = CLI_JSON;
		return 0;
	}
	o->json_fd = open(o->json_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	return o->json_fd < 0 ? fail(-errno, "--json: %s: %s", o->json_path, strerror(errno)) : 0;
}

static int write_json(struct options *o, const struct compare *c)
{
	struct stat st;
	bool bad;
	FILE *f;

	if (o->json_fd < 0)
		return 0;
	if (!fstat(o->json_fd, &st) && S_ISREG(st.st_mode) && ftruncate(o->json_fd, 0))
		return fail(-errno, "%s: %s", o->json_path, strerror(errno));
	f = fdopen(STEAL_FD(o->json_fd), "w");
	if (!f)
		return fail(-errno, "%s: %s", o->json_path, strerror(errno));
	compare_json(c, f);
	bad = ferror(f);
	if (fclose(f) || bad)
		return fail(
			-EIO, "%s: could not be written whole; is the disk full?", o->json_path);
	return 0;
}

static void show_progress(void *ctx, const char *doing, unsigned done, unsigned total)
{
	struct cli_progress *p = ctx;

	snprintf(p->label, sizeof(p->label), "%s", doing);
	p->last_ns = INT64_MIN / 2; /* a change of what is done is always shown */
	cli_progress_update(p, done, total, 0);
}

static int compare(struct options *o)
{
	struct cli_progress progress;
	struct compare *c = NULL;
	int r;

	cli_catch_signals();
	cli_progress_begin(&progress, o->progress, "compare");
	o->run.workloads = o->workloads;
	o->run.backends = o->backends;
	o->run.filter = o->filter;
	o->run.replay.seed = o->run.seed;
	o->run.replay.privileged = geteuid() == 0;
	o->run.replay.stop = &cli_stop_flag;
	o->run.progress = show_progress;
	o->run.progress_ctx = &progress;
	r = compare_run(&c, &o->run);
	cli_progress_end(&progress);
	if (r)
		return r;
	if (o->format == CLI_JSON)
		compare_json(c, stdout);
	else
		compare_text(c, stdout);
	r = cli_flush();
	if (!r)
		r = write_json(o, c);
	if (!r && c->interrupted)
		r = fail(-EINTR, "compare: interrupted; the report is of what had ended");
	if (!r && compare_beyond_limit(c))
		r = CLI_DIFFERS;
	compare_free(c);
	return r;
}

static void fini(struct options *o)
{
	struct stat st;

	for (size_t i = 0; i < o->run.n_backends; i++)
		backend_free(o->backends[i]);
	for (size_t i = 0; i < o->run.n_workloads; i++)
		free((char *)o->workloads[i].name);
	/* opened for a report that never came: an empty file tells nobody anything */
	if (o->json_fd >= 0 && !fstat(o->json_fd, &st) && S_ISREG(st.st_mode) && !st.st_size)
		unlink(o->json_path);
	if (o->json_fd >= 0)
		close(o->json_fd);
	free(o->backends);
	free(o->workloads);
	free(o->specs);
	free(o->destroy);
	filter_free(o->filter);
}

static int run(int argc, char **argv)
{
	struct options o = {
		.run = {.rounds = 6,
			.cold = true,
			.check_tree = true,
			.order = REPLAY_ORDER_RESOURCE,
			.limit = -1,
			.replay = {.speed = 1}},
		.progress = -1,
		.json_fd = -1,
	};
	bool help = false;
	uint32_t seed = 0;
	int r = parse(&o, argc, argv, &help);

	if (!r && help) {
		r = cli_help(&cmd_compare);
		fini(&o);
		return r;
	}
	if (!r && !o.seeded) {
		if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			seed = (uint32_t)util_now_ns();
		o.run.seed = seed;
	}
	if (!r)
		r = name_workloads(&o, argv + optind, (size_t)(argc - optind));
	if (!r)
		r = make_backends(&o);
	if (!r)
		r = check_keep(&o);
	if (!r)
		r = open_json(&o);
	if (!r)
		r = compare(&o);
	fini(&o);
	return r;
}

const struct command cmd_compare = {"compare",
	"replay traces on several kinds of storage and say which is slower",
	"usage: iotape compare [options] TRACE... --on [NAME=]BACKEND --on [NAME=]BACKEND ...\n"
	"\n"
	"Replays each trace on each backend, in rounds of fresh random order, on storage made "
	"anew\n"
	"every time, and says what is slower by how much and how sure that is.\n"
	"\n"
	"    iotape compare copy.tape --on raw=rdm:a.img,size=2G --on disk=vmdk:d.vmdk,size=2G\n"
	"    iotape compare copy.tape --on /srv/a --on /srv/b --rounds=12 --limit=10%\n"
	"    iotape compare copy.tape --on /srv/a --aa\n"
	"\n"
	"Backends are those of `iotape help replay`; a NAME in front is what reports call it.\n"
	"\n"
	"  --on=[NAME=]BACKEND  storage to replay on; give it once for each\n"
	"  --rounds=N           replays of each trace on each backend (6; fewer give no interval)\n"
	"  --baseline=NAME      the backend that the others are compared with (the first)\n"
	"  --aa                 the first backend a second time, as NAME-again: must show no "
	"difference\n"
	"  --limit=10%          exit 1 when a backend is slower by more, with 95 % confidence\n"
	"  --seed=N             of the random order and of generated data, to repeat a comparison\n"
	"  --format=text|json   what is printed\n"
	"  --json=FILE          JSON into FILE as well\n"
	"  --force              go on when results differ from the recording or space is short\n"
	"  --destroy=DEVICE     this device may be formatted; give it once for each\n"
	"  --keep               leave what the replays made (of devices and files: one run only)\n"
	"  --cache=cold|warm    drop the caches before each replay, or not (cold)\n"
	"  --sync, --no-sync    count the final sync of what was written, or not (sync)\n"
	"  --no-prepare         do not build the initial tree\n"
	"  --no-tree-check      do not look at the tree that each replay left\n"
	"  --order=trace|resource|thread  what a step waits for (resource)\n"
	"  --pace=asap|think|clock        when a step may start (asap)\n"
	"  --speed=X            scales recorded gaps of think and clock (1)\n"
	"  --append=offset|native         appends at recorded offsets, or where the file ends "
	"(offset)\n"
	"  --threads=N          threads that replay (one per recorded thread)\n"
	"  --filter=EXPR        only these operations; see `iotape help dump`\n"
	"  --progress, --no-progress      show progress on stderr (when it is a terminal)\n"
	"\n"
	"Exit status: 0 fine, 1 beyond --limit, 2 usage, trouble, or a replay that was not true to "
	"the\n"
	"recording.\n",
	run};
