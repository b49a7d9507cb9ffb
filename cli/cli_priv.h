/* SPDX-License-Identifier: MIT */
/* What the commands share: the table's row, option parsing, progress. Only this folder prints to
 * the terminal or exits. */
#ifndef CLI_PRIV_H
#define CLI_PRIV_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "iotape/trace.h"
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
/* What a command takes. --help and -h are added to it. */
struct cli_spec {
	const struct command *cmd;
	const struct option *longs, *more; /* more: a second table, may be NULL */
	const char *shorts;                /* of those that have a letter; may be NULL */
	/* Takes one option by its val; a value is in optarg. 0 or negative. */
	int (*set)(void *ctx, int c);
	int min, max; /* operands, min at least 1 */
};
/* The number of operands, of which argv[optind] is the first; 0 when help was asked for and
 * printed; negative after a mistake. */
int cli_parse(const struct cli_spec *s, int argc, char **argv, void *ctx);
enum cli_format { CLI_TEXT, CLI_JSON, CLI_CSV };
int cli_parse_format(const char *s, bool csv_too, enum cli_format *out);
/* For commands that take --format and nothing else: ctx is an enum cli_format. */
extern const struct option cli_format_option[];
int cli_set_format(void *ctx, int c);
/* A whole number within limits. */
int cli_number(const char *option, const char *s, uint64_t least, uint64_t most, uint64_t *out);
/* Appends a word, borrowed, to a NULL-terminated list, which free() frees. */
int cli_append(const char ***list, const char *word);
/* Flushes stdout; -errno when what was printed could not be written. */
int cli_flush(void);
/* Notes that standard output cannot be written. -EPIPE gets no text: its reader has had enough, and
 * main() ends as other tools do then, by SIGPIPE. */
int cli_stdout_failed(int err);

/* traces.c */
struct cli_trace {
	const char *path;
	struct trace_reader *reader;
};
#define CLI_TRACES_MAX 2
/* For a command whose operands are traces: parses, opens them all, calls work (exit status or
 * -errno), flushes stdout, closes them. */
int cli_on_traces(const struct cli_spec *s, int argc, char **argv, void *ctx,
	int (*work)(void *ctx, const struct cli_trace *t));
/* Says on stderr that what was read to its end was cut, if it was. */
void cli_note_cut(const struct cli_trace *t);

/* output.c: a file that takes its place only when it is whole, so that neither a failure nor a kill
 * leaves half of one or costs the one that was there. Zero it first. */
struct cli_output {
	const char *path;
	char *temp; /* NULL: written in place (standard output, a pipe, a device) */
	FILE *stream;
	int fd;
	bool replace, to_stdout;
};
/* A trace for standard output is refused when that is a terminal; command is for the message. */
int cli_not_to_terminal(const char *command);
/* path "-" is standard output. An existing file is refused unless replace. */
int cli_output_open(struct cli_output *t, const char *path, bool replace);
/* t->fd as a stream, closed by cli_output_close. */
int cli_output_stream(struct cli_output *t);
/* r: how the writing went; negative: nothing stays. Returns r, or what failed here. Fine on one
 * that was never opened or is closed. */
int cli_output_close(struct cli_output *t, int r);

/* progress.c: one line on stderr, when it is a terminal or on == 1 (--progress), never when on ==
 * 0; -1: decide. */
struct cli_progress {
	bool active, percent_only; /* percent_only: what is counted tells nobody anything */
	int64_t start_ns, last_ns;
	char label[160];
};
void cli_progress_begin(struct cli_progress *p, int on, const char *label);
/* Another label is shown at the next update, however soon that comes. */
void cli_progress_label(struct cli_progress *p, const char *label);
/* total 0: unknown. bytes 0: not shown. */
void cli_progress_update(struct cli_progress *p, uint64_t done, uint64_t total, uint64_t bytes);
void cli_progress_end(struct cli_progress *p);

/* backend_note.c */
struct backend;
struct backend_policy;
/* The file of a name; make: its directory too. */
int cli_note_path(char *path, size_t cap, const char *name, bool make);
/* What is noted under this name, with its note locked as long as *note is open: 0, or 1 when its
 * `up` was killed; *out may then be NULL. */
int cli_note_resume(struct backend **out, const char *name, FILE **note);
/* fn for every name that is noted; all of them even after a failure, the first is returned. */
int cli_note_each(int (*fn)(void *ctx, const char *name), void *ctx);
/* A locked, empty note for *b: its descriptor. The kind's name is made unique (*b is then another),
 * a given name is not: -EEXIST. */
int cli_note_new(struct backend **b, const struct backend_policy *pol, bool named);

/* Signals: SIGINT, SIGTERM and SIGHUP set *flag; one that comes 2 s later or more
 * kills. */
extern volatile int cli_stop_flag;
void cli_catch_signals(void);

/* The kinds of BACKEND, for the help of replay and backend. */
#define CLI_BACKEND_HELP                                                                           \
	"    DIR or dir:DIR        a fresh directory inside DIR, removed afterwards\n"             \
	"    rdm:DEVICE-OR-FILE[,size=8G][,fs=ext4|xfs|btrfs]\n"                                   \
	"    vmdk:FILE.vmdk[,size=8G][,provision=thin|lazy|eager][,fs=ext4|xfs|btrfs]\n"           \
	"    raid1:A,B[,size=8G][,fs=btrfs][,degraded]\n"                                          \
	"    null:                 no storage: the cost of the engine itself\n"                    \
	"rdm, vmdk and raid1 take ,delay=5ms and ,rate=50M too. Files are made and removed\n"      \
	"afterwards; one that is there is never overwritten. A comma in a path is written "        \
	"\"\\,\".\n"

#endif
