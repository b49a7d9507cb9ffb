/* SPDX-License-Identifier: MIT */
/* Which events are steps and which are part of another call: tables of streams with the answer for
 * each event, in the order in which they come out. */
#include "test.h"

#include <string.h>

#include "../../replay/replay_priv.h"

#define E(o, l, ...)                                                                               \
	{                                                                                          \
		.op = OP_##o, .lane = (l), __VA_ARGS__                                             \
	}
#define NAME(s)  .name = {s, sizeof(s) - 1}
#define NAME2(s) .name2 = {s, sizeof(s) - 1}

struct stream {
	const char *what;
	struct event ev[12];
	const char *expect; /* one letter an event: s step, f folded */
};

static const struct stream streams[] = {
	{"stat: nobody follows up", {E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2)}, "s"},
	{"open follows its lookup",
		{E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2), E(OPEN, 1, .iid = 2, .oid = 1)},
		"fs"},
	{"a chain down a path",
		{E(LOOKUP, 1, .parent = 1, NAME("d"), .iid = 2),
			E(LOOKUP, 1, .parent = 2, NAME("a"), .iid = 3),
			E(OPEN, 1, .iid = 3, .oid = 1)},
		"ffs"},
	{"stat below a directory: only the last is the call",
		{E(LOOKUP, 1, .parent = 1, NAME("d"), .iid = 2),
			E(LOOKUP, 1, .parent = 2, NAME("a"), .iid = 3)},
		"fs"},
	{"another lane does not follow up",
		{E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2), E(OPEN, 2, .iid = 2, .oid = 1)},
		"ss"},
	{"create after a failed lookup",
		{E(LOOKUP, 1, .parent = 1, NAME("a"), .result = -2),
			E(CREATE, 1, .parent = 1, NAME("a"), .iid = 2, .oid = 1)},
		"fs"},
	{"a failed lookup of another name is a stat",
		{E(LOOKUP, 1, .parent = 1, NAME("b"), .result = -2),
			E(CREATE, 1, .parent = 1, NAME("a"), .iid = 2, .oid = 1)},
		"ss"},
	{"rename takes two chains",
		{E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2),
			E(LOOKUP, 1, .parent = 3, NAME("b"), .result = -2),
			E(RENAME, 1, .parent = 1, NAME("a"), .iid = 2, .parent2 = 3, NAME2("b"))},
		"ffs"},
	{"link: the file and the new name",
		{E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2),
			E(LOOKUP, 1, .parent = 1, NAME("b"), .result = -2),
			E(LINK, 1, .parent = 1, NAME("b"), .iid = 2)},
		"ffs"},
	{"lanes mixed: the order stays",
		{E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2),
			E(LOOKUP, 2, .parent = 1, NAME("b"), .iid = 3),
			E(OPEN, 2, .iid = 3, .oid = 1),
			E(UNLINK, 1, .parent = 1, NAME("a"), .iid = 2)},
		"ffss"},
	{"capabilities asked for before a write, and by a user",
		{E(GETXATTR, 1, .iid = 2, NAME("security.capability"), .result = -61),
			E(WRITE, 1, .iid = 2, .oid = 1, .size = 1, .result = 1),
			E(GETXATTR, 1, .iid = 2, NAME("user.x"), .result = -61)},
		"fss"},
	{"capabilities asked for by a truncating open, while another file is read",
		{E(OPEN, 1, .iid = 2, .oid = 1, .flags = 01001),
			E(GETXATTR, 1, .iid = 2, NAME("security.capability"), .result = -61),
			E(READ, 1, .iid = 3, .oid = 2)},
		"sfs"},
	{"capabilities asked for by execve",
		{E(OPEN, 1, .iid = 2, .oid = 1, .flags = 0x8020), E(READ, 1, .iid = 2, .oid = 1),
			E(GETXATTR, 1, .iid = 2, NAME("security.capability"), .result = -61),
			E(OPEN, 1, .iid = 3, .oid = 2)},
		"ssfs"},
	{"capabilities asked for by a user: after a plain open, of another file, later, another "
	 "name",
		{E(OPEN, 1, .iid = 2, .oid = 1),
			E(GETXATTR, 1, .iid = 2, NAME("security.capability"), .result = -61),
			E(OPEN, 1, .iid = 3, .oid = 2, .flags = 01001),
			E(GETXATTR, 1, .iid = 2, NAME("security.capability"), .result = -61),
			E(READ, 1, .iid = 4, .oid = 4),
			E(GETXATTR, 1, .iid = 3, NAME("security.capability"), .result = -61),
			E(OPEN, 1, .iid = 5, .oid = 3, .flags = 01001),
			E(GETXATTR, 1, .iid = 5, NAME("user.x"), .result = -61),
			E(STATFS, 1, .iid = 1)},
		"sssssssss"},
	{"getattr before a read", {E(GETATTR, 1, .iid = 2), E(READ, 1, .iid = 2, .oid = 1)}, "fs"},
	{"getattr of another file", {E(GETATTR, 1, .iid = 3), E(READ, 1, .iid = 2, .oid = 1)},
		"ss"},
	{"a release after a flush",
		{E(FLUSH, 1, .iid = 2, .oid = 1), E(RELEASE, 0, .iid = 2, .oid = 1)}, "sf"},
	{"a release without one", {E(RELEASE, 0, .iid = 2, .oid = 1)}, "s"},
	{"a release of another handle",
		{E(FLUSH, 1, .iid = 2, .oid = 1), E(RELEASE, 0, .iid = 2, .oid = 2)}, "ss"},
	{"releases do not come between",
		{E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2), E(RELEASE, 1, .iid = 9, .oid = 9),
			E(OPEN, 1, .iid = 2, .oid = 1)},
		"fss"},
};

struct got {
	char letters[64];
	uint64_t next_seq;
	const struct event *sent;
};

static int take(void *ctx, const struct event *ev, bool folded)
{
	struct got *g = ctx;
	size_t n = strlen(g->letters);

	assert_int_equal(ev->seq, g->next_seq++);
	assert_true(bytes_equal(ev->name, g->sent[n].name));
	g->letters[n] = folded ? 'f' : 's';
	return 0;
}

static void test_streams(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		struct got g = {.next_seq = 1, .sent = streams[i].ev};
		struct fold *f;

		assert_int_equal(fold_new(&f, take, &g), 0);
		for (size_t k = 0; k < strlen(streams[i].expect); k++) {
			struct event ev = streams[i].ev[k];
			char name[64];

			/* strings are borrowed: they are gone after the call */
			ev.seq = k + 1;
			memcpy(name, ev.name.p ? ev.name.p : "", ev.name.n);
			ev.name.p = name;
			assert_int_equal(fold_put(f, &ev), 0);
			memset(name, '!', sizeof(name));
		}
		assert_int_equal(fold_end(f), 0);
		fold_free(f);
		if (strcmp(g.letters, streams[i].expect))
			fail_msg("%s: %s, not %s", streams[i].what, g.letters, streams[i].expect);
	}
}

struct counts {
	uint64_t steps, folded, next_seq;
};

static int tally(void *ctx, const struct event *ev, bool folded)
{
	struct counts *c = ctx;

	assert_int_equal(ev->seq, c->next_seq++);
	*(folded ? &c->folded : &c->steps) += 1;
	return 0;
}

/* A lane that falls silent holds nothing back for ever, and memory stays bounded. */
static void test_window(void **state)
{
	struct event first = E(LOOKUP, 1, .parent = 1, NAME("a"), .iid = 2, .seq = 1);
	struct counts c = {.next_seq = 1};
	struct fold *f;

	(void)state;
	assert_int_equal(fold_new(&f, tally, &c), 0);
	assert_int_equal(fold_put(f, &first), 0);
	for (uint64_t i = 0; i < 3 * FOLD_WINDOW; i++) {
		struct event ev = E(READ, 2, .iid = 5, .oid = 5, .seq = i + 2);

		assert_int_equal(fold_put(f, &ev), 0);
		assert_true(i + 2 - (c.next_seq - 1) <= FOLD_WINDOW);
	}
	assert_int_equal(fold_end(f), 0);
	assert_int_equal(c.steps, 3 * FOLD_WINDOW + 1);
	fold_free(f);
}

static void test_many_pending(void **state)
{
	struct counts c = {.next_seq = 1};
	struct event last =
		E(OPEN, 1, .iid = 1000 + 2 * FOLD_PENDING - 1, .seq = 2 * FOLD_PENDING + 1);
	struct fold *f;

	(void)state;
	assert_int_equal(fold_new(&f, tally, &c), 0);
	for (unsigned i = 0; i < 2 * FOLD_PENDING; i++) {
		struct event ev =
			E(LOOKUP, 1, .parent = 1, NAME("x"), .iid = 1000 + i, .seq = i + 1);

		assert_int_equal(fold_put(f, &ev), 0);
	}
	assert_int_equal(c.steps, FOLD_PENDING);
	assert_int_equal(fold_put(f, &last), 0);
	assert_int_equal(c.folded, 1);
	assert_int_equal(c.steps, 2 * FOLD_PENDING);
	fold_free(f);
}

static int refuse(void *ctx, const struct event *ev, bool folded)
{
	(void)ctx;
	(void)folded;
	return ev->seq == 2 ? -7 : 0;
}

static void test_callee_stops(void **state)
{
	struct event ev = E(READ, 1, .iid = 2, .oid = 1, .seq = 1);
	struct fold *f;

	(void)state;
	assert_int_equal(fold_new(&f, refuse, NULL), 0);
	assert_int_equal(fold_put(f, &ev), 0);
	ev.seq = 2;
	assert_int_equal(fold_put(f, &ev), -7);
	fold_free(f);
	fold_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_many_pending),
		cmocka_unit_test(test_callee_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
