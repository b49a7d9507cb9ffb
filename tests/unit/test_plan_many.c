/* SPDX-License-Identifier: MIT */
/* Plans in the large: the space that a replay needs, many pieces of a file, many lanes. */
#include "plan_help.h"

#include <errno.h>

static const struct {
	const char *what, *text;
	uint64_t nodes, bytes;
} spaces[] = {
	{"holes of the initial tree take nothing",
		ROOT "2 +0.000002000s 100ns q0 L1 snap iid=2 parent=1 name=\"f\" "
		     "size=4611686018427387904 = 0 mode=0100644 flags=0x1\n"
		     "3 +0.000003000s 100ns q0 L1 snap_data iid=2 offset=1048576 size=65536 = 0\n",
		2, 65536},
	{"what is listed only is not known",
		ROOT "2 +0.000002000s 100ns q0 L1 snap iid=2 parent=1 name=\"f\" size=0 = 0 "
		     "mode=0100000 flags=0x2\n",
		2, 0},
	{"a length that was set takes nothing, what is written does",
		ROOT
		"2 +0.000002000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 flags=0x42 "
		"mode=0100644\n"
		"3 +0.000003000s 100ns q0 L1 setattr iid=2 size=4611686018427387904 = 0 arg=8\n"
		"4 +0.000004000s 100ns q0 L1 write iid=2 oid=1 offset=1099511627776 size=4096 = "
		"4096 content=like\n"
		"5 +0.000005000s 100ns q0 L1 write iid=2 oid=1 offset=100 size=10 = 10 "
		"content=like\n",
		2, 8192},
	{"written again it is not more",
		ROOT "2 +0.000002000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000003000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=10000 = 10000 "
		     "content=like\n"
		     "4 +0.000004000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=10000 = 10000 "
		     "content=like\n"
		     "5 +0.000005000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=10000 = 10000 "
		     "content=like\n",
		2, 12288},
	{"removed while open it stays until the last close",
		ROOT "2 +0.000002000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000003000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=200000 = 200000 "
		     "content=like\n"
		     "4 +0.000004000s 100ns q0 L1 unlink iid=2 parent=1 name=\"f\" = 0\n"
		     "5 +0.000005000s 100ns q0 L1 create iid=3 oid=2 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "6 +0.000006000s 100ns q0 L1 write iid=3 oid=2 offset=0 size=90000 = 90000 "
		     "content=like\n"
		     "7 +0.000007000s 100ns q0 L1 release iid=2 oid=1 = 0\n"
		     "8 +0.000008000s 100ns q0 L1 write iid=3 oid=2 offset=0 size=180000 = 180000 "
		     "content=like\n",
		3, 290816},
	{"a rename frees what it replaces",
		ROOT "2 +0.000002000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000003000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=102400 = 102400 "
		     "content=like\n"
		     "4 +0.000004000s 100ns q0 L1 flush iid=2 oid=1 = 0\n"
		     "5 +0.000005000s 100ns q0 L1 release iid=2 oid=1 = 0\n"
		     "6 +0.000006000s 100ns q0 L1 create iid=3 oid=2 parent=1 name=\"g\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "7 +0.000007000s 100ns q0 L1 write iid=3 oid=2 offset=0 size=102400 = 102400 "
		     "content=like\n"
		     "8 +0.000008000s 100ns q0 L1 rename iid=3 parent=1 name=\"g\" parent2=1 "
		     "name2=\"f\" iid2=2 = 0\n"
		     "9 +0.000009000s 100ns q0 L1 write iid=3 oid=2 offset=102400 size=102400 = "
		     "102400 content=like\n",
		3, 204800},
	{"cut, punched and given ahead",
		ROOT "2 +0.000002000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000003000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=1048576 = "
		     "1048576 content=like\n"
		     "4 +0.000004000s 100ns q0 L1 setattr iid=2 oid=1 size=524288 = 0 arg=8\n"
		     "5 +0.000005000s 100ns q0 L1 fallocate iid=2 oid=1 offset=0 size=262144 = 0 "
		     "mode=03\n"
		     "6 +0.000006000s 100ns q0 L1 fallocate iid=2 oid=1 offset=1048576 size=917504 "
		     "= 0 mode=01\n",
		2, 1179648},
	{"told of late, it was there from the beginning",
		ROOT "2 +0.000002000s 100ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 "
		     "flags=0x42 mode=0100644\n"
		     "3 +0.000003000s 100ns q0 L1 write iid=2 oid=1 offset=0 size=204800 = 204800 "
		     "content=like\n"
		     "4 +0.000004000s 100ns q0 L1 unlink iid=2 parent=1 name=\"f\" = 0\n"
		     "5 +0.000005000s 100ns q0 L1 release iid=2 oid=1 = 0\n"
		     "6 +0.000006000s 100ns q0 L1 snap iid=3 parent=1 name=\"old\" size=204800 = 0 "
		     "mode=0100644\n",
		3, 409600},
};

static void test_space(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		struct plan *p = plan_of(spaces[i].text, REPLAY_ORDER_RESOURCE);
		uint64_t want = spaces[i].bytes + (spaces[i].nodes + 1) * 4096;

		if (p->info.space_bytes != want)
			fail_msg("%s: %llu, not %llu", spaces[i].what,
				(unsigned long long)p->info.space_bytes, (unsigned long long)want);
		plan_free(p);
	}
}

/* A file in very many pieces: an upper bound, and less than its length. */
static void test_space_of_pieces(void **state)
{
	struct plan *p;
	size_t cap;
	char *text;
	FILE *out = open_memstream(&text, &cap);

	(void)state;
	fputs(ROOT
		"2 +0.000000001s 1ns q0 L1 create iid=2 oid=1 parent=1 name=\"f\" = 0 flags=0x42 "
		"mode=0100644\n",
		out);
	for (unsigned i = 3; i < 20003; i++)
		fprintf(out,
			"%u +%u.000000000s 1ns q0 L1 write iid=2 oid=1 offset=%llu size=1 = 1 "
			"content=like\n",
			i, i, (unsigned long long)((i * 7919u) % 20000u) << 14);
	fclose(out);
	p = plan_of(text, REPLAY_ORDER_RESOURCE);
	assert_true(p->info.space_bytes >= 20000 * 4096 && p->info.space_bytes <= (20001u << 14));
	assert_true(p->nodes[2]->space.cap <= 2048);
	plan_free(p);
	free(text);
}

/* ---- many lanes: nothing that must wait does not ---- */

#define MANY_LANES 200u
#define MANY_STEPS 6000u

struct made {
	uint64_t start, end;
	unsigned lane;
};

static int by_end(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	return x->end < y->end ? -1 : x->end > y->end;
}

static unsigned dice(uint64_t *state, unsigned n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33) % n;
}

/* Calls of many lanes on one name and one inode, in order of completion: some of them make or
 * remove the name, some change the inode. Every lane's calls follow each other; those of different
 * lanes overlap. */
static char *many_calls(unsigned overlap, uint64_t seed)
{
	struct made *m = calloc(MANY_STEPS, sizeof(*m));
	uint64_t now = 1000, free_at[MANY_LANES] = {0};
	size_t n, cap;
	char *text;
	FILE *out = open_memstream(&text, &cap);

	for (unsigned i = 0; i < MANY_STEPS; i++) {
		unsigned lane = dice(&seed, MANY_LANES);
		uint64_t start = MAX(now, free_at[lane]);

		m[i] = (struct made){start, start + 1 + dice(&seed, 10 * overlap), lane + 1};
		free_at[lane] = m[i].end + 1;
		now += 1 + dice(&seed, 19);
	}
	qsort(m, MANY_STEPS, sizeof(*m), by_end);
	fputs(ROOT "2 +0.000000000s 0ns q0 L0 snap iid=2 parent=1 name=\"f\" = 0 mode=0100644\n",
		out);
	for (n = 0; n < MANY_STEPS; n++) {
		unsigned d = dice(&seed, 100);

		fprintf(out, "%zu +0.%09llus %lluns q0 L%u ", n + 3, (unsigned long long)m[n].start,
			(unsigned long long)(m[n].end - m[n].start), m[n].lane);
		if (d < 45)
			fputs("unlink parent=1 name=\"d\" = -2 ENOENT", out);
		else if (d < 48)
			fprintf(out, "mkdir iid=%zu parent=1 name=\"d\" = 0 mode=040755", n + 3);
		else if (d < 50)
			fprintf(out, "rmdir iid=%zu parent=1 name=\"d\" = 0", n + 3);
		else if (d < 95)
			fputs("access iid=2 = 0 mode=04", out);
		else
			fputs("setattr iid=2 = 0 mode=0100644 arg=1", out);
		fputc('\n', out);
	}
	fclose(out);
	free(m);
	return text;
}

static int by_start(const void *a, const void *b)
{
	const struct plan_step *x = *(struct plan_step *const *)a,
			       *y = *(struct plan_step *const *)b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* What each step waits for in the end, by way of others too: 1 + the latest place in every lane. */
static uint32_t *closure(const struct plan *p, struct plan_step **all)
{
	uint32_t *c = calloc(p->info.steps * p->n_lanes, sizeof(*c)), *own;
	uint32_t *first = calloc(p->n_lanes + 1, sizeof(*first));

	for (uint32_t l = 0; l < p->n_lanes; l++)
		first[l + 1] = first[l] + p->lanes[l].n;
	for (size_t i = 0; i < p->info.steps; i++) {
		const struct plan_step *s = all[i];

		own = &c[(size_t)(first[s->lane] + s->index) * p->n_lanes];
		for (uint32_t k = 0; k <= s->n_preds; k++) {
			struct plan_pred e = {
				s->lane, s->index - 1}; /* the one before in the lane */

			if (k < s->n_preds)
				e = p->preds[s->preds + k];
			else if (!s->index)
				break;
			own[e.lane] = MAX(own[e.lane], e.index + 1);
			for (uint32_t l = 0; l < p->n_lanes; l++)
				own[l] = MAX(own[l],
					c[(size_t)(first[e.lane] + e.index) * p->n_lanes + l]);
		}
	}
	free(first);
	return c;
}

/* One name, one inode: does what one does change what the other finds? */
static bool conflict(const struct plan_step *a, const struct plan_step *b)
{
	bool inode_a = a->op == OP_ACCESS || a->op == OP_SETATTR;
	bool inode_b = b->op == OP_ACCESS || b->op == OP_SETATTR;

	if (inode_a != inode_b)
		return false;
	return inode_a ? a->op == OP_SETATTR || b->op == OP_SETATTR
		       : a->result >= 0 || b->result >= 0;
}

static void all_wait(const struct plan *p, enum replay_order order)
{
	struct plan_step **all = calloc(p->info.steps, sizeof(struct plan_step *));
	uint32_t *c, *own;
	size_t n = 0;

	for (uint32_t l = 0; l < p->n_lanes; l++)
		for (uint32_t i = 0; i < p->lanes[l].n; i++)
			all[n++] = p->lanes[l].steps[i];
	assert_int_equal(n, p->info.steps);
	qsort(all, n, sizeof(*all), by_start);
	c = closure(p, all);
	own = c;
	for (uint32_t l = 0; l < p->n_lanes; l++)
		for (uint32_t i = 0; i < p->lanes[l].n; i++, own += p->n_lanes) {
			const struct plan_step *s = p->lanes[l].steps[i];

			for (size_t k = 0; k < n && all[k]->start_ns <= s->start_ns; k++) {
				const struct plan_step *u = all[k];

				if (u == s || plan_step_end(u) > s->start_ns ||
					(order == REPLAY_ORDER_RESOURCE && !conflict(u, s)))
					continue;
				if (own[u->lane] <= u->index)
					fail_msg("order %u: %llu does not wait for %llu", order,
						(unsigned long long)s->seq,
						(unsigned long long)u->seq);
			}
		}
	free(c);
	free(all);
}

static void test_many_lanes(void **state)
{
	static const unsigned overlaps[] = {1, 30, 2000}; /* hardly, some, all at once */

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(overlaps); i++)
		for (unsigned order = 0; order < 2; order++) {
			char *text = many_calls(overlaps[i], 7 + i);
			struct plan *p = plan_of(text, (enum replay_order)order);

			assert_int_equal(p->info.steps, MANY_STEPS);
			all_wait(p, (enum replay_order)order);
			plan_free(p);
			free(text);
		}
}

/* The work must not grow with the square of the lanes; without that, this takes minutes. */
static void test_lanes_after_each_other(void **state)
{
	const unsigned lanes = 40000;
	size_t cap;
	char *text;
	FILE *out = open_memstream(&text, &cap);

	(void)state;
	fputs(ROOT, out);
	for (unsigned i = 2; i < lanes + 2; i++)
		fprintf(out, "%u +%u.000000000s 1ns q0 L%u %s iid=%u parent=1 name=\"d\" = 0%s\n",
			i, i, i, i % 2 ? "rmdir" : "mkdir", i - i % 2, i % 2 ? "" : " mode=040755");
	fclose(out);
	for (unsigned order = 0; order < 2; order++) {
		struct plan *p = plan_of(text, (enum replay_order)order);

		assert_int_equal(p->n_lanes, lanes);
		assert_true(p->n_preds >= lanes - 1 && p->n_preds < lanes * 70);
		plan_free(p);
	}
	free(text);
}

/* A trace that is too long for the memory there is gets refused, with a line that says so. */
static void test_memory(void **state)
{
	struct trace_reader *r;
	struct plan *p = NULL;
	size_t cap;
	char *text;
	FILE *out = open_memstream(&text, &cap);

	(void)state;
	fputs(ROOT, out);
	for (unsigned i = 2; i < 200000; i++)
		fprintf(out, "%u +%u.000000000s 1ns q0 L1 mkdir parent=1 name=\"d\" = -28 ENOSPC\n",
			i, i);
	fclose(out);
	r = reader_of(text);
	assert_int_equal(plan_read_within(&p, r, REPLAY_ORDER_RESOURCE, NULL, 8 << 20), -ENOMEM);
	assert_null(p);
	assert_non_null(strstr(fail_text(), "too long to be replayed here"));
	assert_non_null(strstr(fail_text(), "may have 8 MiB"));
	assert_int_equal(trace_reader_rewind(r), 0);
	assert_int_equal(plan_read(&p, r, REPLAY_ORDER_RESOURCE, NULL), 0);
	assert_true(plan_memory_limit() > 64 << 20);
	plan_free(p);
	trace_reader_close(r);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_space),
		cmocka_unit_test(test_space_of_pieces),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_many_lanes),
		cmocka_unit_test(test_lanes_after_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
