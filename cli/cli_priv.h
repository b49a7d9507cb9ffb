/* SPDX-License-Identifier: MIT */
/* What the commands share: the table's row, option parsing, progress. Only this folder prints to
 * the terminal or exits. */
#ifndef CLI_PRIV_H
#define CLI_PRIV_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "iotape/util.h"

enum cli_exit { CLI_OK = 0, CLI_DIFFERS = 1, CLI_TROUBLE = 2 };

/* run: exit status, or -errno with fail text, which main prints (exit 2). argv[0] is the command's
 * name. */
struct command {
	const char *name;
	const char *summary; /* one line, for `iotape help` */
	const char *help; /* usage line first, an example, then options; for `iotape help NAME` */
	int (*run)(int argc, char **argv);
};

extern const struct command cmd_record, cmd_replay, cmd_compare, cmd_diff, cmd_info, cmd_stat,
	cmd_dump, cmd_check, cmd_import, cmd_backend;

/* options.c */
/* getopt_long that stops at the first operand when shorts begins with '+'. On an unknown or
 * incomplete option it notes the failure (with the nearest right name) and returns '?': the caller
 * returns -EINVAL. --help is the caller's 'h' (every command has it: print cmd->help with
 * cli_help() and return CLI_OK). */
int cli_getopt(int argc, char **argv, const char *shorts, const struct option *longs);
int cli_help(const struct command *cmd);
/* Nothing but at least min and at most max operands may be left: -EINVAL naming the usage line. */
int cli_operands(const struct command *cmd, int argc, int min, int max);
enum cli_format { CLI_TEXT, CLI_JSON, CLI_CSV };
int cli_parse_format(const char *s, bool csv_too, enum cli_format *out);
/* Index of s in the NULL-terminated names, or -EINVAL naming option and choices. */
int cli_choice(const char *option, const char *s, const char *const *names);
/* Nearest right word to a typed one: start with {0}, offer every candidate; word stays NULL when
 * none is near. */
struct cli_nearest {
	const char *word;
	unsigned distance;
};
void cli_nearest(struct cli_nearest *best, const char *typed, const char *candidate);
/* Flushes stdout; -errno when what was printed could not be written (EPIPE included). */
int cli_flush(void);

/* progress.c: one line on stderr, when it is a terminal or on == 1 (--progress), never when on ==
 * 0; -1: decide. */
struct cli_progress {
	bool active;
	int64_t start_ns, last_ns;
	char label[64];
};
void cli_progress_begin(struct cli_progress *p, int on, const char *label);
/* total 0: unknown. bytes 0: not shown. */
void cli_progress_update(struct cli_progress *p, uint64_t done, uint64_t total, uint64_t bytes);
void cli_progress_end(struct cli_progress *p);

/* Signals: SIGINT, SIGTERM and SIGHUP set *flag; a second one is the default action again. */
extern volatile int cli_stop_flag;
void cli_catch_signals(void);

#endif
