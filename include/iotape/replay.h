/* SPDX-License-Identifier: MIT */
/*
 * Replay of one trace into one directory: plan, initial tree, executor, fidelity; and the
 * comparison of two traces. docs/architecture.md says how the stages join.
 */
#ifndef IOTAPE_REPLAY_H
#define IOTAPE_REPLAY_H

#include "iotape/filter.h"
#include "iotape/stats.h"
#include "iotape/trace.h"

enum replay_order { REPLAY_ORDER_TRACE, REPLAY_ORDER_RESOURCE, REPLAY_ORDER_THREAD };
enum replay_pace { REPLAY_PACE_ASAP, REPLAY_PACE_THINK, REPLAY_PACE_CLOCK };
enum replay_append { REPLAY_APPEND_OFFSET, REPLAY_APPEND_NATIVE };

/* ---- plan: immutable once built; one arena; shared by all rounds and lanes ---- */
struct plan;
struct plan_info {
	uint64_t steps, lanes, folded; /* folded: events that are part of another call */
	uint64_t read_bytes, write_bytes;
	uint64_t space_bytes; /* upper bound of what tree and workload allocate at any time */
	bool cut;             /* the trace had no trailer */
};
/* Reads the trace from where the reader stands to its end. f may be NULL. -ENOMEM also when the
 * plan would take too much of the memory that is free. */
int plan_read(
	struct plan **out, struct trace_reader *r, enum replay_order order, const struct filter *f);
void plan_info(const struct plan *p, struct plan_info *info);
void plan_free(struct plan *p);

/* ---- initial tree ---- */
struct prepare_report {
	uint64_t dirs, files, links, others, bytes; /* made */
	uint64_t skipped; /* what this user may not make: device nodes, owners */
};

/* ---- executor ---- */
struct replay_opts {
	enum replay_pace pace;
	double speed; /* 1.0: as recorded */
	enum replay_append append;
	unsigned threads; /* 0: one per recorded thread */
	bool no_sync;     /* leave the final syncfs out */
	bool privileged;  /* device nodes, set-id bits, owners */
	uint64_t seed;    /* of generated content */
	event_fn emit; /* every replayed step as an event, in order of completion, with the trace's
			  ids and lanes; may be NULL */
	void *emit_ctx;
	const volatile int *stop; /* not 0: end soon, -EINTR; may be NULL */
	void (*progress)(void *ctx, uint64_t steps_done,
		uint64_t bytes_done); /* now and then, from one thread; may be NULL */
	void *progress_ctx;
};

/* Builds the initial tree of the plan's trace below root_fd (an empty directory), with generated
 * content; does not sync. Of o only privileged and stop count (-EINTR when stopped); NULL: neither.
 * rep may be NULL. */
int prepare_tree(
	const struct plan *p, int root_fd, const struct replay_opts *o, struct prepare_report *rep);

/* Makes a backend that is up ready: initial tree (unless no_prepare), written back, and, when cold,
 * out of memory. *cached: it was not to be had out of memory, the fail text says why. Without a
 * root (null:) there is nothing to do. -EINTR when stopped. made may be NULL. */
struct backend;
struct replay_ready {
	const struct replay_opts *replay;
	bool no_prepare, cold;
};
int replay_ready(const struct plan *p, struct backend *b, const struct replay_ready *how,
	struct prepare_report *made, bool *cached);
/* Tells a recorder below fd that a phase begins (record.h). True: there is one. */
bool replay_mark(int fd, const char *name);

#define REPLAY_MISMATCH_KEEP 16
struct replay_mismatch {
	uint64_t seq; /* of the recorded event */
	uint16_t op;
	int64_t recorded, replayed;
	char what[128]; /* the call, escaped */
};
struct replay_result {
	double seconds;      /* first step's start to last step's end, plus the final sync */
	double sync_seconds; /* the part of it that the final sync took */
	double cpu_percent;  /* of all cores, system-wide, during seconds */
	double self_cpu_seconds;
	uint64_t steps, matched, mismatched, environmental,
		skipped;   /* environmental: ENOSPC and the like, counted apart, never enforced */
	uint64_t withheld; /* of those skipped: left out for want of replay_opts.privileged */
	uint64_t op_mismatched[OP_COUNT];
	struct replay_mismatch first[REPLAY_MISMATCH_KEEP];
	size_t n_first;
	uint64_t
		order_violations; /* steps that started before a predecessor had ended; must be 0 */
	struct hist start_lag;    /* ns after the earliest moment the plan allowed */
	struct hist in_flight;    /* steps under way at each start */
	uint64_t recorded_read_bytes, recorded_write_bytes; /* of the steps that were replayed */
	uint64_t direct_refused; /* O_DIRECT opens that fell back to buffered I/O */
	struct stats stats;      /* of the replayed events */
};
/* root_fd -1: no storage at all (null:), results are taken as recorded. *out is filled also when
 * some steps mismatch (returns 0); replay_result_fini() when done. On failure there is nothing in
 * it to free. */
int replay_run(
	const struct plan *p, int root_fd, const struct replay_opts *o, struct replay_result *out);
void replay_result_fini(struct replay_result *r);
double replay_matched_percent(const struct replay_result *r);
/* The final tree below root_fd against what the plan's trace must have left; counts differences,
 * writes the first into text. */
int replay_check_tree(
	const struct plan *p, int root_fd, uint64_t *differences, char *text, size_t cap);

/* ---- two traces, lane by lane ---- */
#define REPLAY_DIFF_LINE 300
struct diff_result {
	uint64_t compared, different, only_a, only_b;
	uint64_t lanes;
	uint64_t resolve_a, resolve_b; /* lookups and the like: they depend on the kernel's caches
					  and are counted, not compared */
	/* reads of the storage view, compared by their bytes; what the kernel read ahead of the
	 * replay beyond them */
	uint64_t reads_a, reads_b, ahead_bytes;
	uint64_t own_a, own_b; /* calls that a replayer says it made for itself; likewise */
	/* "lane 3 (cp):", then a's line of dump behind "- " and b's behind "+ " */
	char first[REPLAY_MISMATCH_KEEP][2 * REPLAY_DIFF_LINE + 64];
	size_t n_first;
};
/* Events of a recorded replay count from its mark "replay" to its mark "done", when it has them. */
int diff_traces(struct trace_reader *a, struct trace_reader *b, struct diff_result *out);

#endif
