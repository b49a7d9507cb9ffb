/* SPDX-License-Identifier: MIT */
/*
 * Option parsing as every command shares it: getopt_long with messages of our own, that name the
 * nearest right option. Nothing is printed here but help; a mistake is noted with fail() and main
 * prints it.
 */
#include "cli_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define SHORTS_MAX  64
#define OPTIONS_MAX 64
#define WORD_MAX    32

/* "--name=value" or "-name" to "name"; false when it does not fit */
static bool option_name(char *out, size_t cap, const char *arg)
{
	size_t n;

	arg += strspn(arg, "-");
	n = strcspn(arg, "=");
	if (n >= cap)
		return false;
	memcpy(out, arg, n);
	out[n] = '\0';
	return true;
}

/* The option that name means as getopt_long sees it: exact or the only one that begins so. */
static const struct option *find_long(
	const struct option *longs, const char *name, unsigned *n_prefix)
{
	const struct option *found = NULL;

	*n_prefix = 0;
	for (const struct option *o = longs; o->name; o++) {
		if (!strcmp(o->name, name)) {
			*n_prefix = 1;
			return o;
		}
		if (!strncmp(o->name, name, strlen(name))) {
			found = o;
			(*n_prefix)++;
		}
	}
	return *n_prefix == 1 ? found : NULL;
}

static void unknown_long(const char *cmd, const char *arg, const struct option *longs)
{
	char name[WORD_MAX * 2] = "";
	struct util_nearest best = {0};
	unsigned n_prefix;

	if (!option_name(name, sizeof(name), arg)) {
		fail(-EINVAL, "%s: unknown option; `iotape help %s` lists them", cmd, cmd);
		return;
	}
	for (const struct option *o = longs; o->name; o++)
		util_nearest(&best, name, o->name);
	find_long(longs, name, &n_prefix);
	if (n_prefix > 1)
		fail(-EINVAL, "%s: option --%s is ambiguous; write it in full, as --%s", cmd, name,
			best.word ? best.word : name);
	else if (best.word)
		fail(-EINVAL, "%s: unknown option --%s; did you mean --%s?", cmd, name, best.word);
	else
		fail(-EINVAL, "%s: unknown option --%s; `iotape help %s` lists them", cmd, name,
			cmd);
}

/* What getopt_long called '?': an unknown option, or a value for one that takes none. */
static void bad_option(int argc, char **argv, const struct option *longs)
{
	const char *cmd = argv[0], *last = argv[optind - 1];
	const char *cluster = optind < argc ? argv[optind] : "";
	char name[WORD_MAX * 2];
	const struct option *o;
	unsigned n_prefix;

	if (!optopt) {
		unknown_long(cmd, last, longs);
		return;
	}
	if (!strncmp(last, "--", 2) && strchr(last, '=') && option_name(name, sizeof(name), last)) {
		o = find_long(longs, name, &n_prefix);
		if (o && o->has_arg == no_argument && o->val == optopt) {
			fail(-EINVAL, "%s: option --%s takes no value", cmd, o->name);
			return;
		}
	}
	/* -format=json: a long option with one dash */
	if (cluster[0] != '-' || !strchr(cluster, optopt))
		cluster = last;
	if (strlen(cluster) > 3 && option_name(name, sizeof(name), cluster) &&
		find_long(longs, name, &n_prefix)) {
		fail(-EINVAL, "%s: unknown option -%c; did you mean --%s?", cmd, optopt, name);
		return;
	}
	fail(-EINVAL, "%s: unknown option -%c; `iotape help %s` lists them", cmd, optopt, cmd);
}

int cli_getopt(int argc, char **argv, const char *shorts, const struct option *longs)
{
	char all[SHORTS_MAX];
	int c;

	/* a colon in front tells a missing value from an unknown option */
	snprintf(all, sizeof(all), "%s:%s", *shorts == '+' ? "+" : "",
		*shorts == '+' ? shorts + 1 : shorts);
	opterr = 0;
	c = getopt_long(argc, argv, all, longs, NULL);
	if (c == ':') {
		const char *last = argv[optind - 1];

		if (!strncmp(last, "--", 2))
			fail(-EINVAL, "%s: option %s needs a value", argv[0], last);
		else
			fail(-EINVAL, "%s: option -%c needs a value", argv[0], optopt);
		return '?';
	}
	if (c == '?')
		bad_option(argc, argv, longs);
	return c;
}

int cli_help(const struct command *cmd)
{
	size_t n = strlen(cmd->help);

	fputs(cmd->help, stdout);
	if (n && cmd->help[n - 1] != '\n')
		putchar('\n');
	return CLI_OK;
}

static int check_operands(const struct cli_spec *s, int n)
{
	const char *help = s->cmd->help;
	const char *line = strncmp(help, "usage: ", 7) ? help : help + 7;
	int len = (int)strcspn(line, "\n");

	if (n >= s->min && n <= s->max)
		return n;
	return fail(-EINVAL, "%s: %s; usage: %.*s", s->cmd->name,
		n < s->min ? "something is missing" : "too many operands", len, line);
}

static void join(struct option *all, const struct cli_spec *s)
{
	const struct option *const tables[] = {s->longs, s->more};
	struct option *out = all;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		for (const struct option *o = tables[i]; o && o->name; o++)
			if (out < all + OPTIONS_MAX - 2)
				*out++ = *o;
	*out++ = (struct option){"help", no_argument, NULL, 'h'};
	*out = (struct option){0};
}

int cli_parse(const struct cli_spec *s, int argc, char **argv, void *ctx)
{
	struct option all[OPTIONS_MAX];
	char shorts[SHORTS_MAX / 2];
	int c, r;

	join(all, s);
	snprintf(shorts, sizeof(shorts), "%sh", s->shorts ? s->shorts : "");
	while ((c = cli_getopt(argc, argv, shorts, all)) != -1) {
		if (c == 'h')
			return cli_help(s->cmd);
		r = c == '?' ? -EINVAL : s->set(ctx, c);
		if (r < 0)
			return r;
	}
	return check_operands(s, argc - optind);
}

int cli_parse_format(const char *s, bool csv_too, enum cli_format *out)
{
	static const char *const names[] = {"text", "json", NULL};
	static const char *const with_csv[] = {"text", "json", "csv", NULL};
	int i = util_choice("--format", s, csv_too ? with_csv : names);

	if (i < 0)
		return i;
	*out = (enum cli_format)i;
	return 0;
}

const struct option cli_format_option[] = {
	{"format", required_argument, NULL, 'f'},
	{0},
};

int cli_set_format(void *ctx, int c)
{
	(void)c; /* there is but one */
	return cli_parse_format(optarg, false, ctx);
}

int cli_number(const char *option, const char *s, uint64_t least, uint64_t most, uint64_t *out)
{
	int r = util_parse_u64(s, out);

	if (r)
		return fail_in(r, "%s", option);
	if (*out < least || *out > most)
		return fail(-EINVAL, "%s: %s is not from %llu to %llu", option, s,
			(unsigned long long)least, (unsigned long long)most);
	return 0;
}

int cli_append(const char ***list, const char *word)
{
	const char **longer;
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	longer = realloc(*list, (n + 2) * sizeof(*longer));
	if (!longer)
		return fail(-ENOMEM, "out of memory");
	longer[n] = word;
	longer[n + 1] = NULL;
	*list = longer;
	return 0;
}

int cli_stdout_failed(int err)
{
	struct sigaction now;

	/* whoever ignores the signal wants to be told */
	if (err == -EPIPE && !sigaction(SIGPIPE, NULL, &now) && now.sa_handler != SIG_IGN)
		return fail(err, "%s", "");
	return fail(err, "standard output: %s", strerror(-err));
}

int cli_flush(void)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return cli_stdout_failed(errno ? -errno : -EIO);
}
