/* SPDX-License-Identifier: MIT */
/*
 * The command table. Finds the command, runs it, prints the failure's text once and turns it into
 * the exit status of docs/iotape.1: 0 fine, 1 differs, 2 usage or trouble.
 */
#include "cli_priv.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#ifndef HAVE_FUSE
static int no_record(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return cli_help(&cmd_record);
	return fail(-ENOSYS, "record: this iotape was built without FUSE; install libfuse3-dev and "
			     "fuse3, then build again with -Dfuse=enabled");
}

const struct command cmd_record = {"record", "not in this build: it was built without FUSE",
	"usage: iotape record [options] DIR [MOUNTPOINT] [-- COMMAND ARG...]\n"
	"This iotape was built without FUSE and cannot record. Install libfuse3-dev and fuse3,\n"
	"then build it again with -Dfuse=enabled.\n",
	no_record};
#endif

static const struct command *const commands[] = {
	&cmd_record,
	&cmd_replay,
	&cmd_compare,
	&cmd_diff,
	&cmd_info,
	&cmd_stat,
	&cmd_dump,
	&cmd_check,
	&cmd_import,
	&cmd_backend,
};

static void usage(void)
{
	fputs("usage: iotape COMMAND [options] [operands]\n\n"
	      "Records the real I/O of a job, replays it on other storage and compares.\n\n"
	      "    iotape record -o copy.tape /srv/data -- cp -r /srv/data/a /srv/data/b\n"
	      "    iotape compare copy.tape --on ssd=/mnt/ssd --on raid1:a.img,b.img\n\n"
	      "commands:\n",
		stdout);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("    %-9s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n`iotape help COMMAND` tells more; --version prints the version.\n"
	      "Exit status: 0 fine, 1 it differs (or the recorded command failed), 2 trouble.\n",
		stdout);
}

static const struct command *find_command(const char *name)
{
	struct util_nearest best = {0};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(name, commands[i]->name))
			return commands[i];
		util_nearest(&best, name, commands[i]->name);
	}
	if (best.word)
		fail(-EINVAL, "unknown command '%s'; did you mean %s?", name, best.word);
	else
		fail(-EINVAL, "unknown command '%s'; `iotape help` lists them", name);
	return NULL;
}

static int run_help(const char *name)
{
	const struct command *cmd;

	if (!name) {
		usage();
		return CLI_OK;
	}
	cmd = find_command(name);
	return cmd ? cli_help(cmd) : -EINVAL;
}

static int unknown_option(const char *arg)
{
	static const char *const names[] = {"--help", "--version"};
	struct util_nearest best = {0};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		util_nearest(&best, arg, names[i]);
	if (best.word)
		return fail(-EINVAL, "unknown option %s; did you mean %s?", arg, best.word);
	return fail(-EINVAL, "unknown option %s before a command; `iotape help` lists the commands",
		arg);
}

static int dispatch(int argc, char **argv)
{
	const struct command *cmd;

	if (argc < 2)
		return run_help(NULL);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return argc > 3 ? fail(-EINVAL, "help: of one command at a time")
				: run_help(argv[2]);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("iotape " IOTAPE_VERSION);
		return CLI_OK;
	}
	if (argv[1][0] == '-')
		return unknown_option(argv[1]);
	cmd = find_command(argv[1]);
	return cmd ? cmd->run(argc - 1, argv + 1) : -EINVAL;
}

static void on_sigpipe(int sig)
{
	(void)sig;
}

/* On one line, whatever a file is called. */
static void print_failure(const char *text)
{
	fputs("iotape: ", stderr);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p == '\n')
			fputs("\\n", stderr);
		else if (*p < ' ' || *p == 127)
			fprintf(stderr, "\\x%02x", *p);
		else
			putc(*p, stderr);
	putc('\n', stderr);
}

/* What reads our output is gone: so does cat end, and a shell says 141. */
static void end_by_sigpipe(void)
{
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

int main(int argc, char **argv)
{
	/* A handler, not SIG_IGN: what record runs gets the default back over exec. */
	struct sigaction sa = {.sa_handler = on_sigpipe, .sa_flags = SA_RESTART}, old;
	int r, flushed;

	if (!sigaction(SIGPIPE, NULL, &old) && old.sa_handler != SIG_IGN)
		sigaction(SIGPIPE, &sa, NULL);
	r = dispatch(argc, argv);
	if (r >= 0) {
		flushed = cli_flush();
		if (flushed < 0)
			r = flushed;
	}
	if (r >= 0)
		return r;
	if (r == -EPIPE && !*fail_text())
		end_by_sigpipe();
	print_failure(*fail_text() ? fail_text() : strerror(-r));
	return CLI_TROUBLE;
}
