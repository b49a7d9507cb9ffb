/* SPDX-License-Identifier: MIT */
/* What cmd_compare.c parses and compare_setup.c makes of it. */
#ifndef COMPARE_CMD_H
#define COMPARE_CMD_H

#include "replay_cmd.h"

#include "iotape/compare.h"

struct compare_job {
	struct replay_options shared;
	struct compare_opts run;
	struct compare_workload *workloads;
	struct backend **backends;
	const char **specs; /* NULL-terminated, or NULL */
	const char *baseline, *json_path;
	struct cli_output json;
	bool aa;
};

/* compare_setup.c */
/* Workloads of the traces and backends of the specs, each under a name of its own; the baseline. */
int compare_job_set(struct compare_job *o, char **traces, size_t n);
void compare_job_unset(struct compare_job *o);

#endif
