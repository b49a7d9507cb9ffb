/* SPDX-License-Identifier: MIT */
/*
 * Totals of a stream of events: one histogram an operation, one of all calls, the latencies of
 * writes that allocated and of writes that did not, bytes, threads, first start and last end.
 * A copy_file_range reads and writes: its bytes count in both. Notes and the initial state are no
 * calls. Tables by other keys are in stats_table.c.
 */
#include "iotape/stats.h"

#include <errno.h>
#include <string.h>

#include "iotape/map.h"

struct stats_priv {
	struct u64map lanes;
	bool started;
};

int stats_init(struct stats *s)
{
	memset(s, 0, sizeof(*s));
	s->priv = calloc(1, sizeof(*s->priv));
	if (!s->priv)
		return fail(-ENOMEM, "out of memory");
	u64map_init(&s->priv->lanes);
	return 0;
}

void stats_fini(struct stats *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < OP_COUNT; i++)
		free(s->op[i]);
	if (s->priv)
		u64map_fini(&s->priv->lanes);
	free(s->priv);
	memset(s, 0, sizeof(*s));
}

static void op_stats_add(struct op_stats *s, const struct event *ev)
{
	s->errors += ev->result < 0;
	s->bytes += event_bytes(ev);
	hist_add(&s->lat, ev->dur_ns);
}

static int note_lane(struct stats *s, uint32_t lane)
{
	if (!lane || u64map_get(&s->priv->lanes, lane, NULL))
		return 0;
	if (u64map_put(&s->priv->lanes, lane, 1))
		return fail(-ENOMEM, "out of memory");
	s->lanes++;
	return 0;
}

static void note_time(struct stats *s, const struct event *ev)
{
	int64_t end;

	if (__builtin_add_overflow(ev->start_ns, ev->dur_ns, &end))
		end = INT64_MAX;
	if (!s->priv->started || ev->start_ns < s->first_start_ns)
		s->first_start_ns = ev->start_ns;
	if (!s->priv->started || end > s->last_end_ns)
		s->last_end_ns = end;
	s->priv->started = true;
}

static void note_data(struct stats *s, const struct event *ev)
{
	uint64_t bytes = event_bytes(ev);

	switch (ev->op) {
	case OP_READ:
		s->reads++;
		s->read_bytes += bytes;
		break;
	case OP_WRITE:
		s->writes++;
		s->write_bytes += bytes;
		if (ev->result >= 0)
			hist_add(ev->first_touch ? &s->first_touch : &s->overwrite, ev->dur_ns);
		break;
	case OP_COPY_FILE_RANGE:
		s->read_bytes += bytes;
		s->write_bytes += bytes;
		break;
	}
}

int stats_put(void *stats, const struct event *ev)
{
	enum op_class class = op_info[ev->op].class;
	struct stats *s = stats;
	int r;

	if (class == OPC_SNAP || class == OPC_NOTE)
		return 0;
	if (!s->op[ev->op]) {
		s->op[ev->op] = calloc(1, sizeof(struct op_stats));
		if (!s->op[ev->op])
			return fail(-ENOMEM, "out of memory");
	}
	r = note_lane(s, ev->lane);
	if (r)
		return r;
	op_stats_add(s->op[ev->op], ev);
	op_stats_add(&s->all, ev);
	note_time(s, ev);
	note_data(s, ev);
	return 0;
}
