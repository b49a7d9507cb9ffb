/* SPDX-License-Identifier: MIT */
/* What the parts of the comparison of two traces share. */
#ifndef DIFF_PRIV_H
#define DIFF_PRIV_H

#include "iotape/map.h"
#include "replay_priv.h"

struct diff_event {
	struct event ev; /* strings point behind the struct */
	bool used;       /* kernel I/O: found on the other side */
	char text[];
};
struct diff_lane {
	uint32_t number; /* in its trace */
	int64_t alias;   /* comm was "lane-N": N, else -1 */
	enum op own;     /* the next call is the replayer's own when it is one of these */
	bool seen;       /* paired */
	char comm[32];
	struct diff_event **ev;
	size_t n, cap;
};
struct diff_dir { /* a directory handle's entries */
	uint64_t entries;
	bool ended; /* read to the end */
};
struct diff_side {
	struct u64map by_number;  /* lane -> struct diff_lane */
	struct diff_lane **lanes; /* with steps, in order of first appearance */
	size_t n_lanes, cap_lanes;
	struct diff_lane kernel; /* I/O on nobody's behalf */
	struct u64map dirs;      /* oid -> struct diff_dir */
	struct u64map closed;    /* oids of which the release was counted */
	struct u64map files;     /* iid -> struct diff_file, of diff_reads.c */
	struct u64map direct;    /* oids of O_DIRECT */
	uint64_t reads;          /* compared by their bytes */
	struct u64map own_oids;  /* opened by the replayer for itself */
	uint64_t resolve, own;   /* left out */
	bool replaying;          /* between the marks "replay" and "done", as they come in */
	bool replayed;           /* a recording of a replay */
	bool storage;            /* either trace is of the storage view */
	bool done;               /* behind the mark "done" */
	bool aliased;            /* some lane is named lane-N */
	bool replay;             /* written by the executor: numbers of lanes are the original's */
};

/* diff_load.c */
void diff_side_init(struct diff_side *s);
void diff_side_fini(struct diff_side *s);
/* Reads the rest of the trace into lanes, without what is not compared. */
int diff_load(struct diff_side *s, struct trace_reader *r);

struct diff_ids;
/* diff_reads.c */
/* 1: a read that is compared by its bytes and not as a call; 0; -ENOMEM. */
int diff_reads_take(struct diff_side *s, const struct event *ev);
void diff_reads_compare(struct diff_side *a, struct diff_side *b, const struct diff_ids *ids,
	struct diff_result *out);
void diff_files_fini(struct u64map *files);

/* diff_match.c: which iid and oid of a stands for which of b */
struct diff_ids {
	struct u64map iid_ab, iid_ba, oid_ab, oid_ba;
};
void diff_ids_init(struct diff_ids *ids);
void diff_ids_fini(struct diff_ids *ids);
/* The same call, as far as ids are paired already. */
bool diff_match(const struct diff_ids *ids, const struct event *a, const struct event *b);
/* The same but for who holds the handle and in which order: for kernel I/O. */
bool diff_match_kernel(const struct diff_ids *ids, const struct event *a, const struct event *b);
/* From now on the ids of a are those of b; what is paired already stays. */
int diff_pair(struct diff_ids *ids, const struct event *a, const struct event *b);

#endif
