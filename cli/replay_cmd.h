/* SPDX-License-Identifier: MIT */
/* What cmd_replay.c measured, for replay_report.c to print. */
#ifndef REPLAY_CMD_H
#define REPLAY_CMD_H

#include "cli_priv.h"

#include "iotape/backend.h"
#include "iotape/replay.h"
#include "iotape/report.h"

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
