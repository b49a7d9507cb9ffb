/* SPDX-License-Identifier: MIT */
/* Statistics of a stream of events: log-linear latency histograms per operation, bytes, errors. */
#ifndef IOTAPE_STATS_H
#define IOTAPE_STATS_H

#include "iotape/event.h"

/*
 * Log-linear histogram after HdrHistogram (G. Tene): HIST_SUB linear buckets in every power of two,
 * relative error under 1 / HIST_SUB. Values in ns. Fixed size, no allocation, mergeable;
 * percentiles are never averaged.
 */
#define HIST_SUB_BITS 5
#define HIST_SUB      (1u << HIST_SUB_BITS)
#define HIST_BUCKETS  ((64 - HIST_SUB_BITS) * HIST_SUB + HIST_SUB)
struct hist {
	uint64_t count, sum, min, max;
	uint64_t bucket[HIST_BUCKETS];
};
void hist_init(struct hist *h);
void hist_add(struct hist *h, uint64_t value);
void hist_merge(struct hist *into, const struct hist *h);
/* Value at quantile q in [0, 1]: upper edge of the bucket, at most max; 0 when empty. */
uint64_t hist_quantile(const struct hist *h, double q);
double hist_mean(const struct hist *h);

struct op_stats {
	uint64_t errors, bytes;
	struct hist lat; /* dur_ns of every call, failed ones included */
};

struct stats {
	struct op_stats *op[OP_COUNT];      /* NULL: none seen */
	struct op_stats all;                /* calls only: no snap, lane, mark */
	struct hist first_touch, overwrite; /* write latencies, apart */
	uint64_t read_bytes, write_bytes, reads, writes;
	uint64_t lanes; /* distinct, 0 not counted */
	int64_t first_start_ns, last_end_ns;
	struct stats_priv *priv;
};
int stats_init(struct stats *s);
void stats_fini(struct stats *s);
int stats_put(void *stats, const struct event *ev); /* an event_fn */

/* Tables of `iotape stat`: rows keyed by op, path, size class, thread or phase. */
enum stats_key { STATS_BY_OP, STATS_BY_PATH, STATS_BY_SIZE, STATS_BY_THREAD, STATS_BY_PHASE };
struct stats_table;
int stats_table_new(struct stats_table **out, enum stats_key key);
int stats_table_put(void *table, const struct event *ev); /* an event_fn */
void stats_table_free(struct stats_table *t);
struct stats_row {
	struct bytes key; /* path: full path below the recorded directory as far as known */
	struct op_stats s;
	uint64_t read_bytes, write_bytes;
};
/* Rows sorted by total time, most first; borrowed from the table. */
int stats_table_rows(struct stats_table *t, const struct stats_row ***rows, size_t *n);

#endif
