/* SPDX-License-Identifier: MIT */
/* Comparing traces: what is the same though renumbered, and each single change that must be seen.
 */
#include "log_help.h"

#include <fcntl.h>
#include <stdio.h>

#include "iotape/replay.h"

#define NAME(s)                                                                                    \
	{                                                                                          \
		s, sizeof(s) - 1                                                                   \
	}

static const struct event stream[] = {
	{.op = OP_LANE, .lane = 1, .name = NAME("cp")},
	{.op = OP_LANE, .lane = 2, .name = NAME("sh")},
	{.op = OP_LOOKUP, .lane = 1, .parent = 1, .name = NAME("none"), .result = -2},
	{.op = OP_MKDIR, .lane = 1, .parent = 1, .name = NAME("d"), .iid = 2, .mode = 040755},
	{.op = OP_CREATE,
		.lane = 1,
		.parent = 2,
		.name = NAME("f"),
		.iid = 3,
		.oid = 1,
		.flags = 1,
		.mode = 0100644},
	{.op = OP_WRITE, .lane = 1, .iid = 3, .oid = 1, .size = 4096, .result = 4096},
	{.op = OP_WRITE, .lane = 1, .iid = 3, .oid = 1, .offset = 4096, .size = 100, .result = 100},
	{.op = OP_FSYNC, .lane = 1, .iid = 3, .oid = 1},
	{.op = OP_FLUSH, .lane = 1, .iid = 3, .oid = 1},
	{.op = OP_RELEASE, .lane = 0, .iid = 3, .oid = 1},
	{.op = OP_OPENDIR, .lane = 2, .iid = 2, .oid = 2},
	{.op = OP_READDIR, .lane = 2, .iid = 2, .oid = 2, .size = 4096, .result = 3},
	{.op = OP_READDIR, .lane = 2, .iid = 2, .oid = 2, .offset = 3, .size = 4096, .result = 0},
	{.op = OP_RELEASEDIR, .lane = 0, .iid = 2, .oid = 2},
	{.op = OP_UNLINK, .lane = 2, .parent = 2, .name = NAME("f"), .iid = 3},
	{.op = OP_RMDIR, .lane = 2, .parent = 1, .name = NAME("d"), .iid = 2, .result = -39},
};
#define N ARRAY_SIZE(stream)

typedef void (*change_fn)(struct event *ev, size_t *n);

static struct trace_reader *trace_view(const struct event *ev, size_t n, int *fd, const char *view)
{
	struct trace_writer *w = NULL;
	struct trace_header h = *some_header();
	char name[16];

	snprintf(name, sizeof(name), "%s", view);
	h.view = name;
	*fd = memory_file();
	assert_int_equal(trace_writer_open(&w, *fd, &h), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(trace_writer_put(w, &ev[i]), 0);
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	trace_writer_close(w);
	return open_fd(*fd);
}

static struct trace_reader *trace_of(const struct event *ev, size_t n, int *fd)
{
	return trace_view(ev, n, fd, "app");
}

static void diff_of(change_fn change, struct diff_result *d)
{
	static struct event ev[64];
	struct trace_reader *a, *b;
	size_t n = N;
	int fa, fb;

	memcpy(ev, stream, sizeof(stream));
	a = trace_of(ev, n, &fa);
	change(ev, &n);
	b = trace_of(ev, n, &fb);
	if (diff_traces(a, b, d))
		fail_msg("diff: %s", fail_text());
	trace_reader_close(a);
	trace_reader_close(b);
	close(fa);
	close(fb);
}

/* ---- the same ---- */
static void nothing(struct event *ev, size_t *n)
{
	(void)ev;
	(void)n;
}

static void renumbered(struct event *ev, size_t *n)
{
	for (size_t i = 0; i < *n; i++) {
		ev[i].lane = ev[i].lane ? ev[i].lane + 10 : 0;
		ev[i].iid = ev[i].iid ? 100 - ev[i].iid : 0;
		ev[i].parent = ev[i].parent ? 100 - ev[i].parent : 0;
		ev[i].oid = ev[i].oid ? ev[i].oid + 5 : 0;
		ev[i].start_ns = (int64_t)i * 1000;
		ev[i].dur_ns = 77;
	}
}

/* As the recording of a replay: lanes by name, more around the marks, other cached lookups. */
static void replayed(struct event *ev, size_t *n)
{
	static const struct event before[] = {
		{.op = OP_LANE, .lane = 7, .name = NAME("lane-2")},
		{.op = OP_LANE, .lane = 8, .name = NAME("lane-1")},
		{.op = OP_MKDIR, .lane = 9, .parent = 1, .name = NAME("prepared"), .iid = 50},
		{.op = OP_MARK, .name = NAME("replay")},
	};
	static const struct event after[] = {
		{.op = OP_GETATTR, .lane = 7, .iid = 3},
		{.op = OP_MARK, .name = NAME("done")},
		{.op = OP_UNLINK, .lane = 7, .parent = 1, .name = NAME("prepared"), .iid = 50},
	};
	size_t skip = 2, k = ARRAY_SIZE(before);

	memmove(ev + k, ev + skip, (*n - skip) * sizeof(*ev));
	for (size_t i = k; i < k + *n - skip; i++) {
		ev[i].lane = ev[i].lane == 1 ? 8 : ev[i].lane == 2 ? 7 : 0;
		ev[i].flags |= ev[i].op == OP_CREATE ? 0x8000u | 0x20000u | 0x80000u : 0;
	}
	memcpy(ev, before, k * sizeof(*ev));
	*n += k - skip;
	memcpy(ev + *n, after, sizeof(after));
	*n += ARRAY_SIZE(after);
}

/* As a replay that closes where a mapping did, and says so. */
static void own_close(struct event *ev, size_t *n)
{
	static const struct event more[] = {
		{.op = OP_MARK, .lane = 8, .name = NAME("own flush")},
		{.op = OP_GETATTR, .lane = 8, .iid = 3},
		{.op = OP_FLUSH, .lane = 8, .iid = 3, .oid = 1},
	};
	size_t at = 0, k = ARRAY_SIZE(more);

	replayed(ev, n);
	while (ev[at].op != OP_RELEASE)
		at++;
	memmove(ev + at + k, ev + at, (*n - at) * sizeof(*ev));
	memcpy(ev + at, more, sizeof(more));
	*n += k;
}

/* ---- not the same ---- */
static struct event *first_of(struct event *ev, enum op op)
{
	while (ev->op != op)
		ev++;
	return ev;
}

static void other_size(struct event *ev, size_t *n)
{
	(void)n;
	first_of(ev, OP_WRITE)->size = 4097;
}

static void other_name(struct event *ev, size_t *n)
{
	(void)n;
	first_of(ev, OP_CREATE)->name = BYTES_STR("g");
}

static void other_result(struct event *ev, size_t *n)
{
	(void)n;
	first_of(ev, OP_FSYNC)->result = -5;
}

static void other_inode(struct event *ev, size_t *n)
{
	(void)n;
	first_of(ev, OP_UNLINK)->iid = 9;
}

static void other_entries(struct event *ev, size_t *n)
{
	(void)n;
	first_of(ev, OP_READDIR)->result = 4;
}

static void other_flags(struct event *ev, size_t *n)
{
	(void)n;
	first_of(ev, OP_CREATE)->flags |= 0200; /* O_EXCL */
}

static void without(struct event *ev, size_t *n, struct event *gone)
{
	memmove(gone, gone + 1, (size_t)(ev + *n - gone - 1) * sizeof(*ev));
	--*n;
}

/* A mark excuses one call, of the kind that it names, right behind it, on its own lane, in a
 * replay. */
static void own_twice(struct event *ev, size_t *n)
{
	size_t at = 0;

	own_close(ev, n);
	while (ev[at].op != OP_RELEASE)
		at++;
	memmove(ev + at + 1, ev + at, (*n - at) * sizeof(*ev));
	ev[at] = ev[at - 1];
	++*n;
}

static void own_other_kind(struct event *ev, size_t *n)
{
	own_close(ev, n);
	while (ev->op != OP_MARK || ev->name.n == 6)
		ev++;
	ev->name = BYTES_STR("own open");
}

static void own_other_lane(struct event *ev, size_t *n)
{
	own_close(ev, n);
	while (ev->op != OP_MARK || ev->name.n == 6)
		ev++;
	ev->lane = 7;
}

static void own_no_handle(struct event *ev, size_t *n)
{
	own_close(ev, n);
	while (ev->op != OP_MARK || ev->name.n == 6)
		ev++;
	ev[0].name = BYTES_STR("own fsync");
	ev[2].op = OP_FSYNC;
}

static void own_no_replay(struct event *ev, size_t *n)
{
	own_close(ev, n);
	for (size_t i = 0; i < *n; i++)
		if (ev[i].op == OP_MARK && ev[i].name.n == 6)
			ev[i].name = BYTES_STR("repla");
}

static void missing(struct event *ev, size_t *n)
{
	without(ev, n, first_of(ev, OP_FSYNC));
}

static void missing_stat(struct event *ev, size_t *n)
{
	without(ev, n, first_of(ev, OP_LOOKUP));
}

static void missing_close(struct event *ev, size_t *n)
{
	without(ev, n, first_of(ev, OP_RELEASEDIR));
}

static void one_more(struct event *ev, size_t *n)
{
	ev[(*n)++] = (struct event){.op = OP_STATFS, .lane = 1, .iid = 1};
}

static void failed_getattr(struct event *ev, size_t *n)
{
	ev[(*n)++] = (struct event){.op = OP_GETATTR, .lane = 1, .iid = 2, .result = -116};
}

static void swapped(struct event *ev, size_t *n)
{
	struct event *w = first_of(ev, OP_WRITE), t = w[0];

	(void)n;
	w[0] = w[1];
	w[1] = t;
}

static void lane_missing(struct event *ev, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (ev[i].lane == 2)
			without(ev, n, &ev[i--]);
}

static void every_change_is_seen(void **state)
{
	static const struct {
		const char *what;
		change_fn change;
		uint64_t different, only_a, only_b;
	} cases[] = {
		{"nothing", nothing, 0, 0, 0},
		{"renumbered", renumbered, 0, 0, 0},
		{"replayed", replayed, 0, 0, 0},
		{"own close", own_close, 0, 0, 0},
		{"own twice", own_twice, 0, 0, 1},
		{"own of another kind", own_other_kind, 0, 0, 1},
		{"own of another lane", own_other_lane, 0, 0, 1},
		{"own but not about a handle", own_no_handle, 0, 0, 1},
		{"size", other_size, 1, 0, 0},
		{"name", other_name, 1, 0, 0},
		{"result", other_result, 1, 0, 0},
		{"inode", other_inode, 1, 0, 0},
		{"entries", other_entries, 1, 0, 0},
		{"flags", other_flags, 1, 0, 0},
		{"missing", missing, 0, 1, 0},
		{"missing stat", missing_stat, 0, 1, 0},
		{"missing close", missing_close, 0, 1, 0},
		{"one more", one_more, 0, 0, 1},
		{"attributes that could not be read", failed_getattr, 0, 0, 1},
		{"lane missing", lane_missing, 0, 3, 0},
	};
	static struct diff_result d;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		diff_of(cases[i].change, &d);
		if (d.different != cases[i].different || d.only_a != cases[i].only_a ||
			d.only_b != cases[i].only_b)
			fail_msg("%s: %u different, %u only a, %u only b: %s", cases[i].what,
				(unsigned)d.different, (unsigned)d.only_a, (unsigned)d.only_b,
				d.first[0]);
		assert_int_equal(d.n_first, d.different + d.only_a + d.only_b);
	}
	diff_of(nothing, &d);
	assert_int_equal(d.lanes, 2);
	/* ten calls in lanes, one close of a directory, its entries */
	assert_int_equal(d.compared, 12);
	diff_of(own_close, &d);
	assert_int_equal(d.own_b, 1);
	assert_int_equal(d.own_a, 0);
	diff_of(own_no_replay, &d);
	assert_int_equal(d.own_b, 0);
	assert_true(d.only_b > 0);
	diff_of(swapped, &d);
	assert_true(d.different + d.only_a + d.only_b > 0);
	diff_of(other_size, &d);
	assert_non_null(strstr(d.first[0], "lane 1 (cp):\n- "));
	assert_non_null(strstr(d.first[0], "size=4096"));
	assert_non_null(strstr(d.first[0], "size=4097"));
}

/* ---- reads of the storage view ---- */

struct read_case {
	const char *what;
	const char *a, *b; /* "OFFSET+SIZE ...", w in front: written, d: by O_DIRECT */
	bool replay;       /* b is of a replay of a */
	uint64_t only_a, only_b, ahead;
};

static const struct read_case reads[] = {
	{"cut otherwise", "0+4096 4096+8192", "0+12288", false, 0, 0, 0},
	{"in another order, twice", "0+4096 4096+4096", "4096+4096 0+4096 0+4096", false, 0, 0, 0},
	{"a part is missing", "0+4096 4096+8192", "0+4096 8192+4096", false, 1, 0, 0},
	{"of a replay, too", "0+4096 4096+8192", "0+4096 8192+4096", true, 1, 0, 0},
	{"all is missing", "0+4096", "", true, 1, 0, 0},
	{"cached: it was written there", "0+4096 4096+100", "0+4096 w4096+4096", true, 0, 0, 0},
	{"cached: it was written here", "0+4096 w4096+4096", "0+8192", true, 0, 0, 0},
	{"more, of no replay", "0+4096", "0+8192", false, 0, 1, 0},
	{"read ahead of a replay", "0+4096", "0+8192", true, 0, 0, 4096},
	{"around it, too", "65536+4096", "0+131072", true, 0, 0, 126976},
	{"too far ahead", "0+4096", "0+4096 2000000+4096", true, 0, 1, 0},
	{"a file that was not read", "w0+10", "w0+10 4096+4096", true, 0, 1, 0},
	{"O_DIRECT is compared as calls", "d0+4096 d4096+4096", "d0+8192", true, 1, 0, 0},
};

static size_t put_reads(struct event *ev, const char *spec, bool replay)
{
	unsigned long long at, size;
	size_t n = 0;
	int used;

	ev[n++] = (struct event){.op = OP_LANE, .lane = 1, .name = NAME("lane-1")};
	if (replay)
		ev[n++] = (struct event){.op = OP_MARK, .name = NAME("replay")};
	ev[n++] = (struct event){
		.op = OP_OPEN, .lane = 1, .iid = 2, .oid = 1, .flags = *spec == 'd' ? O_DIRECT : 0};
	for (; *spec; spec += used) {
		bool write = *spec == 'w';

		spec += *spec == 'w' || *spec == 'd';
		assert_int_equal(sscanf(spec, "%llu+%llu%n", &at, &size, &used), 2);
		used += spec[used] == ' ';
		ev[n] = (struct event){.op = OP_READ,
			.lane = 1,
			.iid = 2,
			.oid = 1,
			.offset = at,
			.size = size,
			.result = (int64_t)size};
		if (write)
			ev[n].op = OP_WRITE;
		n++;
	}
	return n;
}

/* Writes are calls of their own: only the rest counts here. */
static void reads_by_their_bytes(void **state)
{
	static struct diff_result d;
	struct event a[16], b[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		const struct read_case *c = &reads[i];
		size_t n = put_reads(a, c->a, false), m = put_reads(b, c->b, c->replay);
		struct trace_reader *ra, *rb;
		uint64_t writes = 0;
		int fa, fb;

		for (const char *p = c->a; *p; p++)
			writes += *p == 'w';
		for (const char *p = c->b; *p; p++)
			writes -= *p == 'w';
		ra = trace_view(a, n, &fa, "storage");
		rb = trace_view(b, m, &fb, "storage");
		if (diff_traces(ra, rb, &d))
			fail_msg("diff: %s", fail_text());
		if (d.only_a + d.different != c->only_a + (writes == 1) + (*c->a == 'd') ||
			d.only_b != c->only_b + (writes == UINT64_MAX) || d.ahead_bytes != c->ahead)
			fail_msg("%s: %u different, %u only a, %u only b, %u ahead: %s", c->what,
				(unsigned)d.different, (unsigned)d.only_a, (unsigned)d.only_b,
				(unsigned)d.ahead_bytes, d.first[0]);
		trace_reader_close(ra);
		trace_reader_close(rb);
		close(fa);
		close(fb);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_change_is_seen),
		cmocka_unit_test(reads_by_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
