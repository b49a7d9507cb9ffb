/* SPDX-License-Identifier: MIT */
/*
 * One replay in figures, and the JSON objects that `replay` and `compare` have in common
 * (docs/iotape.1, JSON). docs/measuring.md says what each figure means.
 */
#ifndef IOTAPE_REPORT_H
#define IOTAPE_REPORT_H

#include "iotape/json.h"
#include "iotape/replay.h"

struct report_op {
	uint64_t count, errors, bytes;
	double total_ms, mean_ms, p50_ms, p95_ms, p99_ms, max_ms;
};

/*
 * Data calls are read, write and copy_file_range: iops, mb_per_s and the response times are of them
 * alone. A figure that does not exist (no data call, no overwrite) is NaN, and null in JSON.
 * MB = 10^6 bytes.
 */
struct report_run {
	unsigned round;    /* from 1 */
	unsigned position; /* in the whole compare, from 1; 0: not of a compare */
	double seconds, sync_seconds;
	double mb_per_s, iops;
	double mean_ms, p50_ms, p95_ms, p99_ms, max_ms;
	double first_touch_write_ms, overwrite_ms; /* means */
	double cpu_percent, self_cpu_seconds;
	uint64_t read_bytes, write_bytes, data_calls;
	uint64_t steps, matched, mismatches, environmental, skipped, order_violations;
	uint64_t direct_refused;
	uint64_t allocated_bytes; /* on the storage below after the replay; 0: not known */
	double matched_percent, start_lag_p99_us;
	uint64_t tree_differences;
	bool tree_checked;
	bool cached; /* the caches should have been dropped and could not be */
	struct report_op op[OP_COUNT];
};

/* Fills everything that a replay_result knows; round, position, cached and the tree are the
 * caller's. */
void report_measure(struct report_run *out, const struct replay_result *r);
/* Adds the latencies of the data calls of r. */
void report_data_calls(struct hist *into, const struct replay_result *r);

/* The object of one run: `key` NULL inside an array. */
void report_run_json(struct json *j, const char *key, const struct report_run *run);
/* The object of one cell: all runs of one workload on one backend, median and interval over them
 * (null when there are too few), fidelity. */
void report_cell_json(struct json *j, const char *key, const char *workload, const char *backend,
	const struct report_run *runs, size_t n);

/* The words of options and reports for the enums of replay.h, in their order, NULL-terminated. */
extern const char *const report_order_names[], *const report_pace_names[],
						       *const report_append_names[];

/* The machine that measured: no names, nothing that identifies its owner. */
struct report_machine {
	char os[128], kernel[160], arch[80], cpu[128];
	unsigned cpus;
	uint64_t memory_bytes;
	double load; /* over the last minute, when asked */
};
void report_machine(struct report_machine *m);
void report_machine_json(struct json *j, const char *key, const struct report_machine *m);

#endif
