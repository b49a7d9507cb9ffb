/* SPDX-License-Identifier: MIT */
/* The executor on a real directory: results judged, order kept, events handed out, no storage. */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../replay/plan_priv.h"

#define ROOT "1 +0.000000000s 1ns q0 L0 snap iid=1 size=4096 = 0 mode=040755 arg=3\n"

static struct plan *plan_of(const char *text)
{
	struct trace_reader *r = NULL;
	struct plan *p = NULL;
	char *all = NULL;
	FILE *in;
	int fd = memfd_create("trace", 0);

	assert_true(asprintf(&all, "#iotape 1\n#chunk\n%s", text) > 0);
	in = fmemopen(all, strlen(all), "r");
	assert_non_null(in);
	assert_int_equal(trace_text_import(in, "test", fd), 0);
	fclose(in);
	free(all);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(trace_reader_open_fd(&r, fd, "test"), 0);
	assert_int_equal(plan_read(&p, r, REPLAY_ORDER_RESOURCE, NULL), 0);
	trace_reader_close(r);
	close(fd);
	return p;
}

struct seen {
	char ops[256];
	uint64_t next_seq;
	int64_t last_end;
};

static int look(void *ctx, const struct event *ev)
{
	struct seen *s = ctx;

	assert_int_equal(ev->seq, s->next_seq++);
	strcat(s->ops, op_info[ev->op].name);
	strcat(s->ops, " ");
	return 0;
}

static const struct {
	const char *what, *text;
	uint64_t matched, mismatched, environmental, skipped;
} cases[] = {
	{"a call that failed must fail alike",
		ROOT
		"2 +0.000001000s 10ns q0 L1 lookup parent=1 name=\"a\" = -2 ENOENT\n"
		"3 +0.000002000s 10ns q0 L1 mkdir iid=2 parent=1 name=\"a\" = 0 mode=040755\n"
		"4 +0.000003000s 10ns q0 L1 mkdir parent=1 name=\"a\" = -17 EEXIST mode=040755\n"
		"5 +0.000004000s 10ns q0 L1 rmdir iid=2 parent=1 name=\"a\" = -39 ENOTEMPTY\n",
		2, 1, 0, 0}, /* the lookup is part of the mkdir */
	{"a full disk is nobody's mismatch",
		ROOT
		"2 +0.000001000s 10ns q0 L1 mkdir parent=1 name=\"b\" = -28 ENOSPC mode=040755\n",
		0, 0, 1, 0},
	{"reads are compared by length",
		ROOT
		"2 +0.000001000s 10ns q0 L1 create iid=2 oid=1 parent=1 name=\"c\" = 0 flags=0x42 "
		"mode=0100644\n"
		"3 +0.000002000s 10ns q0 L1 write iid=2 oid=1 offset=0 size=100 = 60 content=like\n"
		"4 +0.000003000s 10ns q0 L1 read iid=2 oid=1 offset=0 size=4096 = 60\n"
		"5 +0.000004000s 10ns q0 L1 read iid=2 oid=1 offset=0 size=4096 = 100\n",
		3, 1, 0, 0},
	{"unknown handles are skipped, devices not made",
		ROOT "2 +0.000001000s 10ns q0 L1 read iid=2 oid=1 offset=0 size=10 = 10\n"
		     "3 +0.000002000s 10ns q0 L1 mknod iid=3 parent=1 name=\"d\" = 0 mode=020644 "
		     "rdev=259\n",
		0, 0, 0, 2},
	{"what is done to a device that was not made is skipped, and no more",
		ROOT
		"2 +0.000001000s 10ns q0 L1 mknod iid=3 parent=1 name=\"d\" = 0 mode=020644 "
		"rdev=259\n"
		"3 +0.000002000s 10ns q0 L1 getattr iid=3 = 0\n"
		"4 +0.000003000s 10ns q0 L1 mkdir parent=1 name=\"d\" = -17 EEXIST mode=040755\n"
		"5 +0.000004000s 10ns q0 L1 link iid=3 parent=1 name=\"e\" = 0\n"
		"6 +0.000005000s 10ns q0 L1 rename iid=3 parent=1 name=\"e\" parent2=1 name2=\"f\" "
		"= 0\n"
		"7 +0.000006000s 10ns q0 L1 create iid=4 oid=1 parent=1 name=\"g\" = 0 flags=0x42 "
		"mode=0104755\n"
		"8 +0.000007000s 10ns q0 L1 setattr iid=4 = 0 mode=0106711 arg=1\n"
		"9 +0.000008000s 10ns q0 L1 rename iid=4 parent=1 name=\"g\" parent2=1 name2=\"f\" "
		"iid2=3 = 0\n"
		"10 +0.000009000s 10ns q0 L1 setattr iid=3 = 0 mode=020600 arg=1\n"
		"11 +0.000010000s 10ns q0 L1 unlink iid=3 parent=1 name=\"d\" = 0\n"
		"12 +0.000011000s 10ns q0 L1 mkdir iid=5 parent=1 name=\"d\" = 0 mode=040755\n"
		"13 +0.000012000s 10ns q0 L1 unlink iid=4 parent=1 name=\"f\" = 0\n",
		5, 0, 0, 7},
	{"attributes that give rights are left out together",
		ROOT
		"2 +0.000001000s 10ns q0 L1 create iid=2 oid=1 parent=1 name=\"c\" = 0 flags=0x42 "
		"mode=0100644\n"
		"3 +0.000002000s 10ns q0 L1 setxattr iid=2 name=\"security.capability\" size=20 = "
		"0\n"
		"4 +0.000003000s 10ns q0 L1 getxattr iid=2 name=\"trusted.a\" size=9 = -61 "
		"ENODATA\n"
		"5 +0.000004000s 10ns q0 L1 setxattr iid=2 name=\"trusted.a\" size=5 = 0\n"
		"6 +0.000005000s 10ns q0 L1 getxattr iid=2 name=\"trusted.a\" size=9 = 5\n"
		"7 +0.000006000s 10ns q0 L1 removexattr iid=2 name=\"trusted.a\" = 0\n"
		"8 +0.000007000s 10ns q0 L1 removexattr iid=2 name=\"security.capability\" = 0\n",
		2, 0, 0, 5},
	{"a list of attributes has none to go by",
		ROOT
		"2 +0.000001000s 10ns q0 L1 create iid=2 oid=1 parent=1 name=\"c\" = 0 flags=0x42 "
		"mode=0100644\n"
		"3 +0.000002000s 10ns q0 L1 listxattr iid=2 = 0\n"
		"4 +0.000003000s 10ns q0 L1 listxattr iid=2 size=64 = 0\n"
		"5 +0.000004000s 10ns q0 L1 unlink iid=2 parent=1 name=\"c\" = 0\n",
		4, 0, 0, 0},
	{"a call of 2^62 bytes asks for what one call can move",
		ROOT
		"2 +0.000001000s 10ns q0 L1 create iid=2 oid=1 parent=1 name=\"c\" = 0 flags=0x42 "
		"mode=0100644\n"
		"3 +0.000002000s 10ns q0 L1 write iid=2 oid=1 offset=0 size=4611686018427387904 = "
		"60 "
		"content=like\n"
		"4 +0.000003000s 10ns q0 L1 read iid=2 oid=1 offset=0 size=4611686018427387904 = "
		"60\n"
		"5 +0.000004000s 10ns q0 L1 write iid=2 oid=1 offset=0 size=4611686018427387904 = "
		"-27 "
		"EFBIG\n"
		"6 +0.000005000s 10ns q0 L1 copy_file_range iid=2 oid=1 offset=0 "
		"size=4611686018427387904 iid2=2 oid2=1 offset2=4096 = 60\n",
		4, 0, 1, 0},
	{"a directory is used after it was renamed and removed",
		ROOT
		"2 +0.000001000s 10ns q0 L1 mkdir iid=2 parent=1 name=\"e\" = 0 mode=040755\n"
		"3 +0.000002000s 10ns q0 L2 rename iid=2 parent=1 name=\"e\" parent2=1 name2=\"f\" "
		"= 0\n"
		"4 +0.000003000s 10ns q0 L1 mkdir iid=3 parent=2 name=\"g\" = 0 mode=040755\n"
		"5 +0.000004000s 10ns q0 L2 rmdir iid=3 parent=2 name=\"g\" = 0\n"
		"6 +0.000005000s 10ns q0 L1 rmdir iid=2 parent=1 name=\"f\" = 0\n"
		"7 +0.000006000s 10ns q0 L2 mkdir parent=2 name=\"h\" = -2 ENOENT mode=040755\n",
		6, 0, 0, 0},
};

static void test_results(void **state)
{
	struct replay_result *r = calloc(1, sizeof(*r));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned threads = 0; threads < 2; threads++) {
			char dir[] = "/var/tmp/iotape-exec-XXXXXX", cmd[64];
			struct plan *p = plan_of(cases[i].text);
			struct replay_opts o = {.speed = 1, .threads = threads};
			int fd;

			assert_non_null(mkdtemp(dir));
			fd = open(dir, O_RDONLY | O_DIRECTORY);
			assert_int_equal(replay_run(p, fd, &o, r), 0);
			if (r->matched != cases[i].matched ||
				r->mismatched != cases[i].mismatched ||
				r->environmental != cases[i].environmental ||
				r->skipped != cases[i].skipped || r->order_violations)
				fail_msg("%s: %d %d %d %d, first %s", cases[i].what,
					(int)r->matched, (int)r->mismatched, (int)r->environmental,
					(int)r->skipped, r->n_first ? r->first[0].what : "-");
			replay_result_fini(r);
			plan_free(p);
			close(fd);
			snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
			assert_int_equal(system(cmd), 0);
		}
	free(r);
}

static void test_null_emits(void **state)
{
	struct plan *p = plan_of(ROOT
		"2 +0.000000500s 0ns q0 L1 lane name=\"w\" size=7 = 0 arg=7\n"
		"3 +0.000001000s 10ns q0 L1 create iid=2 oid=1 parent=1 name=\"c\" = 0 flags=0x42 "
		"mode=0100644\n"
		"4 +0.000002000s 10ns q0 L1 write iid=2 oid=1 offset=0 size=100 = 60 content=like\n"
		"5 +0.000002500s 0ns q0 L1 mark name=\"phase\" = 0\n"
		"6 +0.000003000s 10ns q0 L1 flush iid=2 oid=1 = 0\n"
		"7 +0.000004000s 10ns q0 L0 release iid=2 oid=1 = 0\n");
	struct seen s = {.next_seq = 1};
	struct replay_opts o = {.speed = 1, .emit = look, .emit_ctx = &s};
	struct replay_result *r = calloc(1, sizeof(*r));

	(void)state;
	assert_int_equal(replay_run(p, -1, &o, r), 0);
	assert_int_equal(r->matched, 3);
	assert_int_equal(r->stats.write_bytes, 60);
	assert_string_equal(s.ops, "snap lane create write mark flush release ");
	replay_result_fini(r);
	plan_free(p);
	free(r);
}

static void test_stop(void **state)
{
	struct plan *p = plan_of(ROOT
		"2 +100.000001000s 10ns q0 L1 mkdir iid=2 parent=1 name=\"a\" = 0 mode=040755\n");
	const volatile int stop = 1;
	struct replay_opts o = {.speed = 1, .pace = REPLAY_PACE_CLOCK, .stop = &stop};
	struct replay_result *r = calloc(1, sizeof(*r));
	int64_t from = util_now_ns();

	(void)state;
	assert_int_equal(replay_run(p, -1, &o, r), -EINTR);
	assert_true(util_now_ns() - from < INT64_C(10000000000));
	plan_free(p);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_null_emits),
		cmocka_unit_test(test_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
