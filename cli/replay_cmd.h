/* SPDX-License-Identifier: MIT */
/* What replay and compare share: their options; and what cmd_replay.c measured, for replay_report.c
 * to print. */
#ifndef REPLAY_CMD_H
#define REPLAY_CMD_H

#include "cli_priv.h"

#include "iotape/backend.h"
#include "iotape/replay.h"
#include "iotape/report.h"

/* replay_options.c */
struct replay_options {
	struct replay_opts replay;
	enum replay_order order;
	struct backend_policy policy;
	struct filter *filter;
	enum cli_format format;
	bool cold, no_prepare, check_tree, force;
	bool seeded;  /* replay.seed was given */
	int progress; /* as cli_progress_begin takes it */
	const char **destroy;
};
extern const struct option replay_option_table[];
#define REPLAY_OPTIONS_HELP                                                                        \
	"  --order=trace|resource|thread  what a step waits for: all that had ended before it;\n"  \
	"                       what uses the same thing (resource, default); its thread alone\n"  \
	"  --pace=asap|think|clock  when a step may start: at once (asap, default), after the\n"   \
	"                       recorded pause, at the recorded time\n"                            \
	"  --speed=X            divide pauses and times by X (1)\n"                                \
	"  --append=offset|native  append at recorded offsets, or where the file ends (offset)\n"  \
	"  --cache=cold|warm    drop the caches before the replay, or not (cold)\n"                \
	"  --threads=N          at most N threads (one per recorded thread)\n"                     \
	"  --sync, --no-sync    count the final sync of what was written, or not (sync)\n"         \
	"  --no-prepare         do not build the initial tree\n"                                   \
	"  --no-tree-check      do not look at the tree that the replay left\n"                    \
	"  --filter=EXPR        only these operations; see `iotape help dump`\n"                   \
	"  --privileged         also device nodes, set-id bits and file capabilities\n"            \
	"  --destroy=DEVICE     this device may be formatted; give it once for each\n"             \
	"  --format=text|json   what is printed (text)\n"                                          \
	"  --progress, --no-progress  show progress on stderr (when it is a terminal)\n"
void replay_options_init(struct replay_options *o);
/* Takes one of them, as cli_spec's set. */
int replay_options_set(struct replay_options *o, int c);
void replay_options_fini(struct replay_options *o);

struct replay_report {
	const char *trace, *order, *pace, *cache;
	unsigned threads; /* 0: one a lane */
	const struct backend *backend;
	char how[512], fs[32]; /* as it stood */
	char cold_text[256];   /* why the caches could not be dropped */
	char tree_text[512];   /* the first difference */
	struct plan_info plan;
	struct prepare_report prepared;
	struct report_run run;
	struct replay_result result;
	bool done; /* result is filled */
};

/* replay_report.c */
void replay_report_text(const struct replay_report *r, FILE *out);
void replay_report_json(const struct replay_report *r, FILE *out);

#endif
