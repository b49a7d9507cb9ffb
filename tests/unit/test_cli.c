/* SPDX-License-Identifier: MIT */
/* Option parsing as the commands share it: what is taken, and what a mistake is answered with. */
#include "test.h"

#include <errno.h>

#include "../../cli/replay_cmd.h"

static const struct option longs[] = {
	{"format", required_argument, NULL, 'f'},
	{"filter", required_argument, NULL, 'F'},
	{"output", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 1000},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* Parses words separated by spaces; gives the letters that came, '?' at a mistake. */
static const char *parse(const char *line, const char *shorts)
{
	static char words[256], seen[32];
	char *argv[16], *save = NULL;
	int argc = 0, c;
	size_t n = 0;

	snprintf(words, sizeof(words), "%s", line);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	optind = 0; /* glibc: begin anew */
	while ((c = cli_getopt(argc, argv, shorts, longs)) != -1) {
		seen[n++] = c == 1000 ? '!' : (char)c;
		if (c == '?')
			break;
	}
	snprintf(seen + n, sizeof(seen) - n, " %d", argc - optind);
	return seen;
}

static void good(void **state)
{
	(void)state;
	assert_string_equal(parse("dump a b", "o:h"), " 2");
	assert_string_equal(parse("dump --format=x a --force -o y", "o:h"), "f!o 1");
	assert_string_equal(parse("dump --format x -oy --help", "o:h"), "foh 0");
	assert_string_equal(parse("dump --fil=x", "o:h"), "F 0");
	assert_string_equal(parse("dump -- --force", "o:h"), " 1");
	assert_string_equal(parse("dump a --force", "+o:h"), " 2");
	assert_string_equal(parse("dump -", "o:h"), " 1");
}

static void mistakes(void **state)
{
	static const struct {
		const char *line, *text;
	} t[] = {
		{"dump --formt=json a", "dump: unknown option --formt; did you mean --format?"},
		{"dump --fromat json", "unknown option --fromat; did you mean --format?"},
		{"dump a --outptu=b", "unknown option --outptu; did you mean --output?"},
		{"dump --xyzzy", "unknown option --xyzzy; `iotape help dump` lists them"},
		{"dump --f=1", "option --f is ambiguous"},
		{"dump --force=1", "option --force takes no value"},
		{"dump --output", "option --output needs a value"},
		{"dump -o", "option -o needs a value"},
		{"dump -x", "unknown option -x; `iotape help dump`"},
		{"dump -hx", "unknown option -x"},
		{"dump -xh", "unknown option -x"},
		{"dump --format=a -xo b", "unknown option -x"},
		{"dump -format=json", "unknown option -f; did you mean --format?"},
		{"dump --a_very_long_option_that_is_longer_than_any_word_ever_written_down_here=1",
			"unknown option; `iotape help dump`"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		const char *seen = parse(t[i].line, "o:h");

		if (!strchr(seen, '?') || !strstr(fail_text(), t[i].text))
			fail_msg("'%s': %s, %s", t[i].line, seen, fail_text());
	}
}

static void formats(void **state)
{
	enum cli_format f = CLI_TEXT;

	(void)state;
	assert_int_equal(cli_parse_format("json", false, &f), 0);
	assert_int_equal(f, CLI_JSON);
	assert_int_equal(cli_parse_format("csv", true, &f), 0);
	assert_int_equal(f, CLI_CSV);
	assert_int_equal(cli_parse_format("csv", false, &f), -EINVAL);
	assert_int_equal(f, CLI_CSV);
}

/* Counts in *ctx what it was given. */
static int set(void *ctx, int c)
{
	unsigned *seen = ctx;

	*seen = *seen * 10 + (c == 'o' ? 1 : c == 'x' ? 2 : 3);
	return c == 'x' ? fail(-EINVAL, "x is never right") : 0;
}

static void specs(void **state)
{
	static const struct option own[] = {
		{"output", required_argument, NULL, 'o'},
		{"xyz", no_argument, NULL, 'x'},
		{0},
	};
	static const struct option more[] = {{"quiet", no_argument, NULL, 300}, {0}};
	static const struct command cmd = {"diff", "", "usage: iotape diff A B\nmore\n", NULL};
	static const struct cli_spec spec = {&cmd, own, more, "o:", set, 1, 2};
	static const struct {
		const char *line;
		int want;
		unsigned seen;
		const char *text;
	} t[] = {
		{"diff a", 1, 0, NULL},
		{"diff a b", 2, 0, NULL},
		{"diff --output=x a -o y --quiet b", 2, 113, NULL},
		{"diff", -EINVAL, 0, "diff: something is missing; usage: iotape diff A B"},
		{"diff a b c", -EINVAL, 0, "diff: too many operands; usage: iotape diff A B"},
		{"diff --quiet --xyz --quiet a", -EINVAL, 32, "x is never right"},
		{"diff --quite a", -EINVAL, 0, "unknown option --quite; did you mean --quiet?"},
		{"diff --hlep", -EINVAL, 0, "unknown option --hlep; did you mean --help?"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		char words[64], *argv[8], *save = NULL;
		unsigned seen = 0;
		int argc = 0, r;

		snprintf(words, sizeof(words), "%s", t[i].line);
		for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
			argv[argc++] = w;
		argv[argc] = NULL;
		optind = 0;
		r = cli_parse(&spec, argc, argv, &seen);
		if (r != t[i].want || seen != t[i].seen ||
			(t[i].text && !strstr(fail_text(), t[i].text)))
			fail_msg("'%s': %d, %u, %s", t[i].line, r, seen, fail_text());
	}
}

static void numbers(void **state)
{
	uint64_t v = 0;

	(void)state;
	assert_int_equal(cli_number("--n", "3", 1, 3, &v), 0);
	assert_int_equal(v, 3);
	assert_int_equal(cli_number("--n", "4", 1, 3, &v), -EINVAL);
	assert_string_equal(fail_text(), "--n: 4 is not from 1 to 3");
	assert_int_equal(cli_number("--n", "0", 1, 3, &v), -EINVAL);
	assert_int_equal(cli_number("--n", "1x", 1, 3, &v), -EINVAL);
	assert_non_null(strstr(fail_text(), "--n: "));
	assert_int_equal(cli_number("--n", "18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
}

static void lists(void **state)
{
	const char **list = NULL;

	(void)state;
	assert_int_equal(cli_append(&list, "a"), 0);
	assert_int_equal(cli_append(&list, "b"), 0);
	assert_string_equal(list[0], "a");
	assert_string_equal(list[1], "b");
	assert_null(list[2]);
	free(list);
}

/* One meaning and one limit of what replay and compare share; '' in text: it is taken. */
static void replay_options(void **state)
{
	static const struct {
		const char *option, *value, *text;
	} t[] = {
		{"pace", "think", ""},
		{"pace", "thnik", "none of asap, think, clock; did you mean think?"},
		{"order", "trace", ""},
		{"order", "resource-order", "none of trace, resource, thread"},
		{"append", "natvie", "none of offset, native; did you mean native?"},
		{"cache", "wram", "none of cold, warm; did you mean warm?"},
		{"format", "jsno", "none of text, json; did you mean json?"},
		{"format", "csv", "none of text, json"},
		{"speed", "0.000001", ""},
		{"speed", "1000000", ""},
		{"speed", "2x", ""},
		{"speed", "0", "--speed: '0' is no factor"},
		{"speed", "-1", "no factor"},
		{"speed", "1000001", "no factor"},
		{"speed", "nan", "no factor"},
		{"speed", "inf", "no factor"},
		{"speed", "", "no factor"},
		{"speed", "2y", "no factor"},
		{"threads", "4096", ""},
		{"threads", "0", "--threads: 0 is not from 1 to 4096"},
		{"threads", "4097", "not from 1 to 4096"},
		{"seed", "0", ""},
		{"seed", "-1", "--seed"},
		{"filter", "op=write", ""},
		{"filter", "op", "op"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		const struct option *row = replay_option_table;
		struct replay_options o;
		bool good;
		int r;

		while (row->name && strcmp(row->name, t[i].option) != 0)
			row++;
		assert_non_null(row->name);
		fail(0, "%s", "");
		replay_options_init(&o);
		optarg = (char *)t[i].value;
		r = replay_options_set(&o, row->val);
		good = !*t[i].text;
		if (r != (good ? 0 : -EINVAL) || !strstr(fail_text(), t[i].text))
			fail_msg("--%s=%s: %d, %s", t[i].option, t[i].value, r, fail_text());
		replay_options_fini(&o);
	}
}

static void quiet_progress(void **state)
{
	struct cli_progress p;

	(void)state;
	cli_progress_begin(&p, 0, "x");
	assert_false(p.active);
	cli_progress_update(&p, 1, 2, 3);
	cli_progress_end(&p);
	cli_progress_begin(&p, 1, "x");
	assert_true(p.active);
	cli_progress_end(&p);
	assert_false(p.active);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(formats),
		cmocka_unit_test(specs),
		cmocka_unit_test(numbers),
		cmocka_unit_test(lists),
		cmocka_unit_test(replay_options),
		cmocka_unit_test(quiet_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
