/* SPDX-License-Identifier: MIT */
/*
 * Statistics by a key made of each event: operation, path, size class, thread or phase. An
 * event counts for the path that its inode has at that moment (stats_names.c). Memory is bounded:
 * beyond ROWS_MAX rows the lighter half becomes one row, so what takes the time stays.
 */
#include "stats_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "iotape/record.h"

#define ROWS_MAX 8192u
#define OTHERS   "(all others)"

struct row {
	struct stats_row pub; /* first: rows are handed out as it */
	struct row *next;     /* same hash */
	char key[];           /* ends with a NUL */
};

struct stats_table {
	enum stats_key by;
	struct u64map rows;  /* hash of key -> struct row */
	struct u64map nodes; /* iid -> struct stats_name */
	struct u64map comms; /* lane -> struct stats_name: the comm */
	size_t n_rows;
	char *phase;
	uint32_t phase_n;
	const struct stats_row **sorted;
	char path[STATS_PATH_MAX + 64];
};

int stats_table_new(struct stats_table **out, enum stats_key key)
{
	struct stats_table *t = calloc(1, sizeof(*t));

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->by = key;
	u64map_init(&t->rows);
	u64map_init(&t->nodes);
	u64map_init(&t->comms);
	*out = t;
	return 0;
}

static void free_values(struct u64map *m)
{
	uint64_t key, value;
	size_t pos = 0;

	while (u64map_next(m, &pos, &key, &value))
		free((void *)(uintptr_t)value);
	u64map_fini(m);
}

static void free_rows(struct stats_table *t)
{
	uint64_t key, value;
	size_t pos = 0;

	while (u64map_next(&t->rows, &pos, &key, &value)) {
		struct row *next, *r = (struct row *)(uintptr_t)value;

		for (; r; r = next) {
			next = r->next;
			free(r);
		}
	}
	u64map_fini(&t->rows);
}

void stats_table_free(struct stats_table *t)
{
	if (!t)
		return;
	free_rows(t);
	free_values(&t->nodes);
	free_values(&t->comms);
	free(t->phase);
	free(t->sorted);
	free(t);
}

/* What the event tells about names, once it is done. */
static int learn(struct stats_table *t, const struct event *ev)
{
	if (ev->op == OP_LANE)
		return stats_names_put(&t->comms, ev->lane, 0, ev->name);
	return t->by == STATS_BY_PATH ? stats_names_learn(&t->nodes, ev) : 0;
}

/* ---- keys ---- */
static const char *size_name(char *buf, size_t cap, unsigned bit)
{
	static const char unit[] = "\0KMGTPE";

	snprintf(buf, cap, "%u%.1s", 1u << bit % 10, unit + bit / 10);
	return buf;
}

/* "[4K, 8K)", as bpftrace prints it */
static void size_class(char *out, size_t cap, uint64_t size)
{
	char lo[16], hi[16];
	unsigned bit;

	if (!size) {
		snprintf(out, cap, "0");
		return;
	}
	bit = 63u - (unsigned)__builtin_clzll(size);
	snprintf(out, cap, "[%s, %s)", size_name(lo, sizeof(lo), bit),
		size_name(hi, sizeof(hi), bit + 1));
}

/* False when the event does not count in this table. */
static bool key_of(struct stats_table *t, const struct event *ev, struct bytes *key)
{
	size_t at;

	switch (t->by) {
	case STATS_BY_OP:
		*key = BYTES_STR(op_info[ev->op].name);
		return true;
	case STATS_BY_PATH:
		if (ev->iid && ev->op != OP_LINK && ev->op != OP_RENAME)
			at = stats_names_path(&t->nodes, t->path, ev->iid, (struct bytes){0});
		else if (ev->parent)
			at = stats_names_path(&t->nodes, t->path, ev->parent, ev->name);
		else
			return false;
		*key = (struct bytes){t->path + at, (uint32_t)(STATS_PATH_MAX - at)};
		return true;
	case STATS_BY_SIZE:
		if (op_info[ev->op].class != OPC_DATA || ev->op == OP_LSEEK)
			return false;
		size_class(t->path, sizeof(t->path), ev->size);
		break;
	case STATS_BY_THREAD:
		snprintf(t->path, sizeof(t->path), "%" PRIu32, ev->lane);
		break;
	case STATS_BY_PHASE:
		if (t->phase) {
			*key = (struct bytes){t->phase, t->phase_n};
			return true;
		}
		snprintf(t->path, sizeof(t->path), "(before the first mark)");
		break;
	}
	*key = BYTES_STR(t->path);
	return true;
}

static int set_phase(struct stats_table *t, struct bytes name)
{
	char *p = malloc(name.n + 1u);

	if (!p)
		return fail(-ENOMEM, "out of memory");
	if (name.n)
		memcpy(p, name.p, name.n);
	free(t->phase);
	t->phase = p;
	t->phase_n = name.n;
	return 0;
}

/* ---- rows ---- */
static int row_get(struct stats_table *t, struct bytes key, struct row **out)
{
	uint64_t hash = bytes_hash(key, 0);
	struct row *first = u64map_ptr(&t->rows, hash), *r;

	for (r = first; r; r = r->next)
		if (bytes_equal(r->pub.key, key)) {
			*out = r;
			return 0;
		}
	r = calloc(1, sizeof(*r) + key.n + 1);
	if (!r || u64map_put_ptr(&t->rows, hash, r)) {
		free(r);
		return fail(-ENOMEM, "out of memory");
	}
	r->next = first;
	if (key.n)
		memcpy(r->key, key.p, key.n);
	r->pub.key = (struct bytes){r->key, key.n};
	t->n_rows++;
	*out = r;
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct stats_row *x = *(const struct stats_row *const *)a;
	const struct stats_row *y = *(const struct stats_row *const *)b;
	int r;

	if (x->s.lat.sum != y->s.lat.sum)
		return x->s.lat.sum < y->s.lat.sum ? 1 : -1;
	r = memcmp(x->key.p, y->key.p, MIN(x->key.n, y->key.n));
	return r ? r : (x->key.n > y->key.n) - (x->key.n < y->key.n);
}

static int sort_rows(struct stats_table *t)
{
	const struct stats_row **s = realloc(t->sorted, (t->n_rows + 1) * sizeof(*s));
	uint64_t key, value;
	size_t pos = 0, n = 0;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	t->sorted = s;
	while (u64map_next(&t->rows, &pos, &key, &value))
		for (struct row *r = (struct row *)(uintptr_t)value; r; r = r->next)
			s[n++] = &r->pub;
	qsort(s, n, sizeof(*s), by_total);
	return 0;
}

static void row_merge(struct stats_row *into, const struct stats_row *r)
{
	into->s.errors += r->s.errors;
	into->s.bytes += r->s.bytes;
	hist_merge(&into->s.lat, &r->s.lat);
	into->read_bytes += r->read_bytes;
	into->write_bytes += r->write_bytes;
}

static void row_unlink(struct stats_table *t, struct row *r)
{
	uint64_t hash = bytes_hash(r->pub.key, 0);
	struct row *first = u64map_ptr(&t->rows, hash);

	if (first != r) {
		while (first->next != r)
			first = first->next;
		first->next = r->next;
	} else if (r->next) {
		u64map_put_ptr(&t->rows, hash, r->next); /* the key is there: cannot fail */
	} else {
		u64map_del(&t->rows, hash);
	}
	t->n_rows--;
}

/* The lighter half of the rows becomes part of one. */
static int shrink(struct stats_table *t)
{
	struct row *others;
	int err = row_get(t, BYTES_STR(OTHERS), &others);
	size_t n = t->n_rows;

	if (!err)
		err = sort_rows(t);
	for (size_t i = n / 2; !err && i < n; i++) {
		struct row *r = (struct row *)(uintptr_t)t->sorted[i];

		if (r == others)
			continue;
		row_merge(&others->pub, &r->pub);
		row_unlink(t, r);
		free(r);
	}
	return err;
}

static int count(struct stats_table *t, const struct event *ev)
{
	struct bytes key;
	struct row *r;
	int err;

	if (!key_of(t, ev, &key))
		return 0;
	err = row_get(t, key, &r);
	if (err)
		return err;
	r->pub.s.errors += ev->result < 0;
	r->pub.s.bytes += event_bytes(ev);
	hist_add(&r->pub.s.lat, ev->dur_ns);
	if (ev->op == OP_READ || ev->op == OP_COPY_FILE_RANGE)
		r->pub.read_bytes += event_bytes(ev);
	if (ev->op == OP_WRITE || ev->op == OP_COPY_FILE_RANGE)
		r->pub.write_bytes += event_bytes(ev);
	return t->n_rows > ROWS_MAX ? shrink(t) : 0;
}

/* What the replayer tells diff: no phase. */
static bool is_own(const struct event *ev)
{
	size_t n = strlen(RECORD_MARK_OWN);

	return ev->op == OP_MARK && ev->name.n > n && !memcmp(ev->name.p, RECORD_MARK_OWN, n);
}

int stats_table_put(void *table, const struct event *ev)
{
	enum op_class class = op_info[ev->op].class;
	struct stats_table *t = table;
	bool gone = ev->op == OP_UNLINK || ev->op == OP_RMDIR || ev->op == OP_RENAME;
	int r = 0;

	if (is_own(ev))
		return 0;
	if (ev->op == OP_MARK)
		return t->by == STATS_BY_PHASE ? set_phase(t, ev->name) : 0;
	/* what makes a name counts under it; what takes it away, under the old one */
	if (!gone)
		r = learn(t, ev);
	if (!r && class != OPC_SNAP && class != OPC_NOTE)
		r = count(t, ev);
	if (!r && gone)
		r = learn(t, ev);
	return r;
}

/* "3" becomes "3 (scp)" */
static int name_threads(struct stats_table *t)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		struct row *r = (struct row *)(uintptr_t)t->sorted[i], *named;
		uint64_t lane = strtoull(r->key, NULL, 10);
		struct stats_name *comm = u64map_ptr(&t->comms, lane);
		char key[300];

		if (strchr(r->key, ' ') || !strcmp(r->key, OTHERS))
			continue;
		if (comm && comm->n)
			snprintf(key, sizeof(key), "%" PRIu64 " (%.*s)", lane,
				(int)MIN(comm->n, 255), comm->name);
		else if (!lane)
			snprintf(key, sizeof(key), "0 (kernel)");
		else
			continue;
		row_unlink(t, r);
		if (row_get(t, BYTES_STR(key), &named))
			return -ENOMEM;
		row_merge(&named->pub, &r->pub);
		free(r);
	}
	return sort_rows(t);
}

int stats_table_rows(struct stats_table *t, const struct stats_row ***rows, size_t *n)
{
	int r = sort_rows(t);

	if (!r && t->by == STATS_BY_THREAD)
		r = name_threads(t);
	if (r)
		return r;
	*rows = t->sorted;
	*n = t->n_rows;
	return 0;
}
