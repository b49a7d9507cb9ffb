/* SPDX-License-Identifier: MIT */
/* Steps and their predecessors: traces as text, with the edges that must come out of them. */
#include "plan_help.h"

#include <string.h>
#include <sys/stat.h>

static struct plan_step *by_seq(const struct plan *p, uint64_t seq)
{
	for (uint32_t l = 0; l < p->n_lanes; l++)
		for (uint32_t i = 0; i < p->lanes[l].n; i++)
			if (p->lanes[l].steps[i]->seq == seq)
				return p->lanes[l].steps[i];
	return NULL;
}

/* "A>B" for every edge, in order of the waiting step's number. */
static void edges(const struct plan *p, char *out, size_t cap)
{
	size_t n = 0;

	*out = 0;
	for (uint64_t seq = 1; seq < 100; seq++) {
		const struct plan_step *s = by_seq(p, seq);

		for (uint32_t i = 0; s && i < s->n_preds; i++) {
			const struct plan_pred *e = &p->preds[s->preds + i];

			n += (size_t)snprintf(out + n, cap - n, "%s%llu>%llu", n ? " " : "",
				(unsigned long long)p->lanes[e->lane].steps[e->index]->seq,
				(unsigned long long)seq);
		}
	}
}

struct graph {
	const char *what, *text;
	const char *resource, *trace; /* edges */
};

static const struct graph graphs[] = {
	{"two lanes, nothing in common",
		ROOT
		"2 +0.000001000s 100ns q0 L1 mkdir iid=2 parent=1 name=\"a\" = 0 mode=040755\n"
		"3 +0.000002000s 100ns q0 L2 mkdir iid=3 parent=1 name=\"b\" = 0 mode=040755\n",
		"", "2>3"},
	{"a directory before what is made in it",
		ROOT
		"2 +0.000001000s 100ns q0 L1 mkdir iid=2 parent=1 name=\"a\" = 0 mode=040755\n"
		"3 +0.000002000s 100ns q0 L2 mkdir iid=3 parent=2 name=\"b\" = 0 mode=040755\n",
		"2>3", "2>3"},
	{"the maker comes first even when the recording overlaps",
		ROOT
		"2 +0.000001000s 1500ns q0 L1 mkdir iid=2 parent=1 name=\"a\" = 0 mode=040755\n"
		"3 +0.000002000s 1000ns q0 L2 mkdir iid=3 parent=2 name=\"b\" = 0 mode=040755\n",
		"2>3", ""},
	{"children are gone before their directory",
		ROOT "2 +0.000001000s 100ns q0 L1 mkdir iid=2 parent=1 name=\"a\" = 0 mode=040755\n"
		     "3 +0.000002000s 100ns q0 L1 mkdir iid=3 parent=2 name=\"b\" = 0 mode=040755\n"
		     "4 +0.000003000s 100ns q0 L2 rmdir iid=3 parent=2 name=\"b\" = 0\n"
		     "5 +0.000004000s 100ns q0 L1 rmdir iid=2 parent=1 name=\"a\" = 0\n",
		"3>4 4>5", "3>4 4>5"},
	{"absence is a generation: ENOENT between removal and making",
		ROOT
		"2 +0.000001000s 100ns q0 L1 mkdir iid=2 parent=1 name=\"a\" = 0 mode=040755\n"
		"3 +0.000002000s 100ns q0 L1 rmdir iid=2 parent=1 name=\"a\" = 0\n"
		"4 +0.000003000s 100ns q0 L2 lookup parent=1 name=\"a\" = -2 ENOENT\n"
		"5 +0.000004000s 100ns q0 L1 mkdir iid=3 parent=1 name=\"a\" = 0 mode=040755\n",
		"3>4 4>5", "3>4 4>5"},
	{"data: overlapping ranges keep their order, others do not",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "4 +0.000003000s 100ns q0 L1 read iid=2 oid=1 offset=0 size=4096 = 0\n"
		     "5 +0.000004000s 100ns q0 L2 write iid=2 oid=2 offset=65536 size=4096 = 4096 "
		     "content=like\n"
		     "6 +0.000005000s 100ns q0 L1 write iid=2 oid=1 offset=8192 size=4096 = 4096 "
		     "content=like\n"
		     "7 +0.000006000s 100ns q0 L2 write iid=2 oid=2 offset=8192 size=4096 = 4096 "
		     "content=like\n"
		     "8 +0.000007000s 100ns q0 L1 read iid=2 oid=1 offset=65536 size=4096 = 4096\n",
		/* 4>5: ranges are told apart from the second lane on */
		"2>3 4>5 6>7 5>8", "2>3 3>4 4>5 5>6 6>7 7>8"},
	{"overlapping in time: nobody ordered them",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "4 +0.000003000s 900ns q0 L1 write iid=2 oid=1 offset=0 size=4096 = 4096 "
		     "content=like\n"
		     "5 +0.000003500s 900ns q0 L2 write iid=2 oid=2 offset=0 size=4096 = 4096 "
		     "content=like\n",
		"2>3", "2>3 3>4"},
	{"calls on a name keep the order in which they came out, also when they overlap",
		ROOT
		"2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		"flags=0x42 mode=0100644\n"
		"3 +0.000002000s 100ns q0 L1 flush iid=2 oid=1 = 0\n"
		"4 +0.000002200s 100ns q0 L0 release iid=2 oid=1 = 0\n"
		"5 +0.000004500s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0\n"
		"6 +0.000004000s 2000ns q0 L1 unlink iid=2 parent=1 name=\"f\" = 0\n"
		"7 +0.000005500s 1000ns q0 L3 mkdir iid=3 parent=1 name=\"f\" = 0 mode=040755\n",
		"2>5 5>6 6>7", "3>5 5>7"},
	{"a name that is gone: its remover comes first",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L1 flush iid=2 oid=1 = 0\n"
		     "4 +0.000002200s 100ns q0 L0 release iid=2 oid=1 = 0\n"
		     "5 +0.000004000s 1000ns q0 L1 unlink iid=2 parent=1 name=\"f\" = 0\n"
		     "6 +0.000003000s 3000ns q0 L2 open iid=2 oid=2 = 0 flags=0\n",
		"5>6", "3>6"},
	{"a read that overlaps with a write saw the new end",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L1 write iid=2 oid=1 size=100 = 100 content=like\n"
		     "4 +0.000003000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "5 +0.000005000s 1000ns q0 L1 write iid=2 oid=1 size=200 = 200 content=like\n"
		     "6 +0.000005500s 1000ns q0 L2 read iid=2 oid=2 size=512 = 200\n",
		"2>4 5>6", "3>4 4>5"},
	{"a read that overlaps with a write saw the old end",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L1 write iid=2 oid=1 size=100 = 100 content=like\n"
		     "4 +0.000003000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "5 +0.000005000s 1000ns q0 L1 write iid=2 oid=1 size=200 = 200 content=like\n"
		     "6 +0.000005500s 1000ns q0 L2 read iid=2 oid=2 size=512 = 100\n",
		"2>4 6>5 3>6", "3>4 4>5"},
	{"the same, when the read came out first",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L1 write iid=2 oid=1 size=100 = 100 content=like\n"
		     "4 +0.000003000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "5 +0.000005500s 100ns q0 L2 read iid=2 oid=2 size=512 = 100\n"
		     "6 +0.000005000s 1000ns q0 L1 write iid=2 oid=1 size=200 = 200 content=like\n",
		"2>4 3>5 5>6", "3>4 4>6"},
	{"a write that came out late was seen",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L1 write iid=2 oid=1 size=100 = 100 content=like\n"
		     "4 +0.000003000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "5 +0.000005500s 100ns q0 L2 read iid=2 oid=2 size=512 = 200\n"
		     "6 +0.000005000s 1000ns q0 L1 write iid=2 oid=1 size=200 = 200 content=like\n",
		"2>4 3>5 6>5 4>6", "3>4 4>6"},
	{"a read that cannot tell is free",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L1 write iid=2 oid=1 size=100 = 100 content=like\n"
		     "4 +0.000003000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "5 +0.000005000s 1000ns q0 L1 write iid=2 oid=1 size=200 = 200 content=like\n"
		     "6 +0.000005500s 1000ns q0 L2 read iid=2 oid=2 size=50 = 50\n",
		"2>4 3>6", "3>4 4>5"},
	{"a lock that was waited for comes after what let it go, be it a close",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "4 +0.000003000s 100ns q0 L1 setlk iid=2 oid=1 size=1 = 0 flags=1 arg=1\n"
		     "5 +0.000005000s 100ns q0 L1 flush iid=2 oid=1 = 0 arg=1\n"
		     "6 +0.000004000s 2000ns q0 L2 setlk iid=2 oid=2 size=1 = 0 flags=0x101 arg=2\n"
		     "7 +0.000007000s 100ns q0 L1 statfs iid=1 = 0\n"
		     "8 +0.000008000s 100ns q0 L2 flush iid=2 oid=2 = 0\n",
		"2>3 5>6", "2>3 3>4 5>6 6>7 7>8"},
	{"fsync after the writes that had completed",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000002000s 100ns q0 L2 open iid=2 oid=2 = 0 flags=0x2\n"
		     "4 +0.000003000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=4096 = 4096 "
		     "content=like\n"
		     "5 +0.000004000s 100ns q0 L2 fsync iid=2 oid=2 = 0\n",
		"2>3 4>5", "2>3 3>4 4>5"},
	{"lane 0 completes out of order: the edge goes to its latest start",
		ROOT "2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000003000s 100ns q0 L0 write iid=2 oid=1 offset=4096 size=4096 = 4096 "
		     "content=like\n"
		     "4 +0.000002000s 2000ns q0 L0 write iid=2 oid=1 offset=0 size=4096 = 4096 "
		     "content=like\n"
		     "5 +0.000005000s 100ns q0 L1 read iid=2 oid=1 offset=0 size=4096 = 4096\n",
		"2>3 2>4 3>5", "2>4 3>5"},
};

static void test_graphs(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(graphs); i++) {
		const struct graph *g = &graphs[i];
		const char *const expect[] = {g->trace, g->resource, ""};

		for (unsigned order = 0; order < 3; order++) {
			struct plan *p = plan_of(g->text, (enum replay_order)order);
			char got[512];

			edges(p, got, sizeof(got));
			if (strcmp(got, expect[order]))
				fail_msg("%s, order %u: \"%s\", not \"%s\"", g->what, order, got,
					expect[order]);
			plan_free(p);
		}
	}
}

static void test_names(void **state)
{
	static const char text[] =
		ROOT "2 +0.000001000s 100ns q0 L1 mkdir iid=2 parent=1 name=\"d\" = 0 mode=040755\n"
		     "3 +0.000002000s 100ns q0 L1 create iid=3 oid=1 parent=2 name=\"f\" = 0 "
		     "flags=0x42 mode=0100600\n"
		     "4 +0.000003000s 100ns q0 L1 write iid=3 oid=1 offset=0 size=100 = 100 "
		     "content=sample:9/7\n"
		     "5 +0.000004000s 100ns q0 L1 write iid=3 oid=1 offset=100 size=100 = 100 "
		     "content=like\n"
		     "6 +0.000005000s 100ns q0 L1 flush iid=3 oid=1 = 0\n"
		     "7 +0.000006000s 100ns q0 L1 rename iid=3 parent=2 name=\"f\" parent2=1 "
		     "name2=\"g\" = 0\n"
		     "8 +0.000007000s 100ns q0 L1 setattr iid=3 = 0 mode=0100644 arg=1\n"
		     "9 +0.000008000s 100ns q0 L1 unlink iid=3 parent=1 name=\"g\" = 0\n"
		     "10 +0.000009000s 100ns q0 L1 setattr iid=3 = 0 mode=0100600 arg=1\n"
		     "11 +0.000010000s 100ns q0 L0 release iid=3 oid=1 = 0\n"
		     "12 +0.000011000s 100ns q0 L1 read iid=9 oid=9 offset=0 size=10 = 10\n";
	struct plan *p = plan_of(text, REPLAY_ORDER_RESOURCE);
	struct plan_info info;

	(void)state;
	plan_info(p, &info);
	assert_int_equal(info.steps, 10);
	assert_int_equal(info.folded, 1);
	assert_int_equal(info.lanes, 1);
	assert_int_equal(info.write_bytes, 200);
	assert_string_equal(by_seq(p, 8)->name->s, "g");
	assert_int_equal(p->nodes[by_seq(p, 8)->dir]->iid, 1);
	assert_null(by_seq(p, 10)->name); /* no name left: through the open handle */
	assert_int_equal(by_seq(p, 10)->handle, by_seq(p, 3)->handle);
	assert_int_equal(by_seq(p, 5)->ratio[0], 9); /* like the last sample */
	assert_int_equal(by_seq(p, 5)->ratio[1], 7);
	assert_false(by_seq(p, 6)->bits & STEP_CLOSES); /* the handle was used after it */
	assert_true(by_seq(p, 12)->bits & STEP_SKIP);
	plan_free(p);
}

struct seen {
	unsigned n;
	uint64_t size;
	uint32_t mode, links;
};

static int look(void *ctx, const struct plan_final *f)
{
	struct seen *s = ctx;

	s->n++;
	if (f->iid == 3) {
		s->size = f->size;
		s->mode = f->mode;
		s->links = f->links;
	}
	return 0;
}

/* Calls that come when the name is gone go through what its remover left. */
static void test_gone(void **state)
{
	struct plan *p = plan_of(ROOT
		"2 +0.000001000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		"flags=0x42 mode=0100644\n"
		"3 +0.000002000s 100ns q0 L1 flush iid=2 oid=1 = 0\n"
		"4 +0.000002200s 100ns q0 L0 release iid=2 oid=1 = 0\n"
		"5 +0.000003000s 100ns q0 L1 create iid=3 oid=2 parent=1 name=\"g\" = 0 "
		"flags=0x42 mode=0100644\n"
		"6 +0.000004000s 100ns q0 L1 rename iid=3 parent=1 name=\"g\" parent2=1 "
		"name2=\"f\" iid2=2 = 0\n"
		"7 +0.000005000s 100ns q0 L2 open iid=2 oid=3 = 0 flags=0\n"
		"8 +0.000006000s 100ns q0 L3 setattr iid=9 = 0 mode=0100600 arg=1\n"
		"9 +0.000006000s 100ns q0 L4 setattr iid=2 = 0 mode=0100600 arg=1\n",
		REPLAY_ORDER_RESOURCE);
	const struct plan_step *gone = by_seq(p, 6), *open = by_seq(p, 7), *set = by_seq(p, 9);
	const struct plan_handle *pin = p->handles[gone->ext->handle2];

	(void)state;
	assert_true(pin->path);
	assert_int_equal(pin->uses, 2);
	assert_int_equal(open->bits & STEP_SKIP, 0);
	assert_int_equal(open->ext->handle2, pin->index);
	/* by then there is a handle */
	assert_int_equal(set->bits & (STEP_SKIP | STEP_PINNED), 0);
	assert_int_equal(set->handle, open->handle);
	assert_int_equal(by_seq(p, 8)->bits & STEP_SKIP, STEP_SKIP);
	plan_free(p);
}

static void test_final(void **state)
{
	static const char text[] = ROOT
		"2 +0.000001000s 100ns q0 L0 snap iid=3 parent=1 name=\"old\" size=50 = 0 "
		"mode=0100644 arg=1\n"
		"3 +0.000002000s 100ns q0 L1 open iid=3 oid=1 = 0 flags=0x1\n"
		"4 +0.000003000s 100ns q0 L1 write iid=3 oid=1 offset=40 size=60 = 60 "
		"content=like\n"
		"5 +0.000004000s 100ns q0 L1 flush iid=3 oid=1 = 0\n"
		"6 +0.000005000s 100ns q0 L0 release iid=3 oid=1 = 0\n"
		"7 +0.000006000s 100ns q0 L1 link iid=3 parent=1 name=\"other\" = 0\n"
		"8 +0.000007000s 100ns q0 L1 setattr iid=3 = 0 mode=0100600 arg=1\n"
		"9 +0.000008000s 100ns q0 L1 mkdir iid=4 parent=1 name=\"gone\" = 0 mode=040755\n"
		"10 +0.000009000s 100ns q0 L1 rmdir iid=4 parent=1 name=\"gone\" = 0\n";
	struct plan *p = plan_of(text, REPLAY_ORDER_RESOURCE);
	const struct event *snaps;
	struct seen s = {0};

	(void)state;
	assert_int_equal(plan_snaps(p, &snaps), 2);
	assert_int_equal(plan_final(p, look, &s), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.size, 100);
	assert_int_equal(s.mode, S_IFREG | 0600);
	assert_int_equal(s.links, 2);
	assert_true(by_seq(p, 5)->bits & STEP_CLOSES);
	plan_free(p);
}

/* Directories that contain one another must not send anybody round and round. */
static void test_hostile_cycle(void **state)
{
	static const char text[] = ROOT
		"2 +0.000001000s 100ns q0 L0 snap iid=5 parent=6 name=\"x\" = 0 mode=040755 arg=1\n"
		"3 +0.000002000s 100ns q0 L0 snap iid=6 parent=5 name=\"y\" = 0 mode=040755 arg=1\n"
		"4 +0.000003000s 100ns q0 L1 mkdir iid=7 parent=6 name=\"z\" = 0 mode=040755\n";
	struct plan *p = plan_of(text, REPLAY_ORDER_RESOURCE);

	(void)state;
	assert_true(by_seq(p, 4)->bits & STEP_SKIP);
	plan_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_graphs),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_final),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_hostile_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
