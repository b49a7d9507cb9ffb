/* SPDX-License-Identifier: MIT */
/* The initial tree from snapshots, honest and hostile ones: what is made is exactly what was told,
 * nothing lies outside, nothing that the workload will allocate is allocated. */
#include "log_help.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/xattr.h>

#include "iotape/replay.h"

#define NAME(s)                                                                                    \
	{                                                                                          \
		s, sizeof(s) - 1                                                                   \
	}
#define BIG (UINT64_C(1) << 62)

static char dir[64];
static int root;

static struct plan *plan_of(const struct event *ev, size_t n)
{
	struct trace_writer *w = NULL;
	struct trace_reader *r;
	struct plan *p = NULL;
	int fd = memory_file();

	assert_int_equal(trace_writer_open(&w, fd, some_header()), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(trace_writer_put(w, &ev[i]), 0);
	assert_int_equal(trace_writer_finish(w, NULL), 0);
	trace_writer_close(w);
	r = open_fd(fd);
	if (plan_read(&p, r, REPLAY_ORDER_RESOURCE, NULL))
		fail_msg("plan: %s", fail_text());
	trace_reader_close(r);
	close(fd);
	return p;
}

static int begin(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/var/tmp/test-prepare-XXXXXX");
	assert_non_null(mkdtemp(dir));
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(root >= 0);
	return 0;
}

static int end(void **state)
{
	char cmd[192];

	(void)state;
	close(root);
	snprintf(cmd, sizeof(cmd), "chmod -R u+rwx %s; rm -rf %s", dir, dir);
	return system(cmd);
}

static struct stat stat_of(const char *path)
{
	struct stat st;

	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW))
		fail_msg("%s: %s", path, strerror(errno));
	return st;
}

static bool there(const char *path)
{
	return !faccessat(root, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void attributes_are_exact(void)
{
	unsigned char buf[4096];
	struct stat st;
	int fd;

	st = stat_of("d");
	assert_int_equal(st.st_mode, 040550);
	assert_int_equal(st.st_mtim.tv_sec, 1234567890);
	assert_int_equal(st.st_mtim.tv_nsec, 123456789);
	st = stat_of("d/f");
	assert_int_equal(st.st_mode, 0100640);
	assert_int_equal(st.st_size, 100001);
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(st.st_mtim.tv_sec, 5);
	assert_int_equal(st.st_mtim.tv_nsec, 7);
	assert_int_equal(stat_of("l").st_ino, st.st_ino);
	assert_int_equal(stat_of("p").st_mode, 010600);
	st = stat_of("hole");
	assert_int_equal(st.st_size, 64 << 20);
	assert_int_equal(st.st_mode, 0100755);
	assert_in_range(st.st_blocks * 512, 65536, 131072);
	assert_true(S_ISREG(stat_of("dev").st_mode));
	fd = openat(root, "d/f", O_RDONLY);
	assert_int_equal(util_pread_all(fd, buf, sizeof(buf), 0), sizeof(buf));
	assert_null(memchr(buf, 0, sizeof(buf)));
	close(fd);
}

static void changes_are_found(const struct plan *p)
{
	uint64_t differences;
	char text[256];
	int fd;

	assert_int_equal(replay_check_tree(p, root, &differences, text, sizeof(text)), 0);
	if (differences)
		fail_msg("fresh tree differs: %s", text);
	fd = openat(root, "more", O_WRONLY | O_CREAT | O_EXCL, 0600);
	close(fd);
	assert_int_equal(unlinkat(root, "p", 0), 0);
	assert_int_equal(truncate((snprintf(text, sizeof(text), "%s/l", dir), text), 5), 0);
	assert_int_equal(replay_check_tree(p, root, &differences, text, sizeof(text)), 0);
	assert_int_equal(differences, 4); /* more, p, and the size under both names */
	assert_true(*text);
}

static void as_told(void **state)
{
	const uint32_t uid = geteuid(), gid = getegid();
	const struct event snaps[] = {
		{.op = OP_SNAP, .iid = 1, .mode = 040755, .uid = uid, .gid = gid},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("d"),
			.iid = 2,
			.mode = 040000,
			.flags = EVENT_SNAP_LISTED},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("d"),
			.iid = 2,
			.mode = 040550,
			.uid = uid,
			.gid = gid,
			.mtime_ns = INT64_C(1234567890123456789)},
		{.op = OP_SNAP,
			.parent = 2,
			.name = NAME("f"),
			.iid = 3,
			.mode = 0100640,
			.uid = uid,
			.gid = gid,
			.size = 100001,
			.mtime_ns = 5000000007},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("l"),
			.iid = 3,
			.mode = 0100640,
			.uid = uid,
			.gid = gid,
			.size = 100001,
			.mtime_ns = 5000000007},
		{.op = OP_SNAP,
			.parent = 2,
			.name = NAME("s"),
			.iid = 4,
			.mode = 0120777,
			.uid = uid,
			.gid = gid,
			.target = NAME("../../etc")},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("p"),
			.iid = 5,
			.mode = 010600,
			.uid = uid,
			.gid = gid},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("hole"),
			.iid = 6,
			.mode = 0104755,
			.uid = uid,
			.gid = gid,
			.size = 64 << 20,
			.flags = EVENT_SNAP_SPARSE},
		{.op = OP_SNAP_DATA, .iid = 6, .offset = 1 << 20, .size = 65536},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("dev"),
			.iid = 7,
			.mode = 060600,
			.uid = uid,
			.gid = gid,
			.rdev = 0x700},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("listed"),
			.mode = 0100000,
			.flags = EVENT_SNAP_LISTED},
	};
	struct plan *p = plan_of(snaps, ARRAY_SIZE(snaps));
	struct prepare_report rep;

	(void)state;
	if (prepare_tree(p, root, NULL, &rep))
		fail_msg("prepare: %s", fail_text());
	assert_int_equal(rep.dirs, 1);
	assert_int_equal(rep.files, 4);
	assert_int_equal(rep.links, 1);
	assert_int_equal(rep.others, 2);
	assert_int_equal(rep.bytes, 100001 + 65536);
	assert_int_equal(rep.skipped, 2); /* the device, the set-id bit */
	attributes_are_exact();
	changes_are_found(p);
	plan_free(p);
}

static void hostile_stays_inside(void **state)
{
	static const struct event snaps[] = {
		/* through a symlink */
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("s"),
			.iid = 2,
			.mode = 0120777,
			.target = NAME("/var/tmp")},
		{.op = OP_SNAP,
			.parent = 2,
			.name = NAME("iotape-escaped"),
			.iid = 3,
			.mode = 0100644},
		/* the same name again, now a directory with children */
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("s"),
			.iid = 4,
			.mode = 0120777,
			.target = NAME("/var/tmp")},
		{.op = OP_SNAP,
			.parent = 4,
			.name = NAME("iotape-escaped"),
			.iid = 5,
			.mode = 0100644},
		/* in a circle, below themselves, below nothing */
		{.op = OP_SNAP, .parent = 11, .name = NAME("a"), .iid = 10, .mode = 040755},
		{.op = OP_SNAP, .parent = 10, .name = NAME("b"), .iid = 11, .mode = 040755},
		{.op = OP_SNAP, .parent = 12, .name = NAME("c"), .iid = 12, .mode = 040755},
		{.op = OP_SNAP, .parent = 999, .name = NAME("d"), .iid = 13, .mode = 0100644},
		/* two names of one directory; a file that is a directory elsewhere */
		{.op = OP_SNAP, .parent = 1, .name = NAME("e"), .iid = 14, .mode = 040755},
		{.op = OP_SNAP, .parent = 14, .name = NAME("e"), .iid = 14, .mode = 040755},
		{.op = OP_SNAP, .parent = 1, .name = NAME("g"), .iid = 14, .mode = 0100644},
	};
	struct plan *p = plan_of(snaps, ARRAY_SIZE(snaps));
	struct prepare_report rep;

	(void)state;
	if (prepare_tree(p, root, NULL, &rep))
		fail_msg("prepare: %s", fail_text());
	assert_int_equal(rep.dirs, 1);
	assert_int_equal(rep.files, 0);
	assert_int_equal(rep.others, 1);
	assert_int_not_equal(access("/var/tmp/iotape-escaped", F_OK), 0);
	assert_true(there("s") && there("e") && !there("e/e") && !there("g") && !there("a"));
	plan_free(p);
}

/* What only an administrator may have, when told so. */
static void privileged_makes_all(void **state)
{
	static const struct event snaps[] = {
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("f"),
			.iid = 2,
			.mode = 0106755,
			.size = 10},
		{.op = OP_SNAP_XATTR, .iid = 2, .name = NAME("trusted.a"), .size = 5},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("null"),
			.iid = 3,
			.mode = 020622,
			.rdev = 259},
	};
	const struct replay_opts o = {.privileged = true};
	struct plan *p = plan_of(snaps, ARRAY_SIZE(snaps));
	struct prepare_report rep;
	char path[96], value[16];
	bool device;

	(void)state;
	if (geteuid())
		skip();
	device = !mknodat(root, "probe", S_IFCHR | 0600, 259); /* not in every container */
	snprintf(path, sizeof(path), "%s/f", dir);
	assert_int_equal(prepare_tree(p, root, NULL, &rep), 0);
	assert_int_equal(rep.skipped, 3);
	assert_int_equal(stat_of("f").st_mode, 0100755);
	assert_int_equal(stat_of("null").st_mode & S_IFMT, S_IFREG);
	assert_int_equal(getxattr(path, "trusted.a", value, sizeof(value)), -1);
	assert_int_equal(unlinkat(root, "f", 0) | unlinkat(root, "null", 0), 0);
	assert_int_equal(prepare_tree(p, root, &o, &rep), 0);
	assert_int_equal(stat_of("f").st_mode, 0106755);
	assert_int_equal(getxattr(path, "trusted.a", value, sizeof(value)), 5);
	if (device) {
		assert_int_equal(rep.skipped, 0);
		assert_int_equal(stat_of("null").st_mode, 020622);
		assert_int_equal(stat_of("null").st_rdev, 259);
	}
	plan_free(p);
}

static volatile int stop;

static void on_alarm(int sig)
{
	stop = sig;
}

/* A file of a gigabyte takes longer than the timer; what was begun is left for the backend. */
static void stops_when_told(void **state)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
	const struct event snaps[] = {
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("big"),
			.iid = 2,
			.mode = 0100644,
			.size = 1 << 30},
		{.op = OP_SNAP, .parent = 1, .name = NAME("next"), .iid = 3, .mode = 0100644},
	};
	struct plan *p = plan_of(snaps, ARRAY_SIZE(snaps));
	struct replay_opts o = {.stop = &stop};
	struct prepare_report rep;

	(void)state;
	signal(SIGALRM, on_alarm);
	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	assert_int_equal(prepare_tree(p, root, &o, &rep), -EINTR);
	assert_non_null(strstr(fail_text(), "interrupted"));
	assert_true(rep.bytes < 1 << 30);
	assert_false(there("next"));
	signal(SIGALRM, SIG_DFL);
	plan_free(p);
}

static void too_large_is_refused_first(void **state)
{
	static const struct event snaps[] = {
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("small"),
			.iid = 2,
			.mode = 0100644,
			.size = 10},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("a"),
			.iid = 3,
			.mode = 0100644,
			.size = BIG},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("b"),
			.iid = 4,
			.mode = 0100644,
			.size = INT64_MAX},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("c"),
			.iid = 5,
			.mode = 0100644,
			.size = INT64_MAX},
	};
	struct plan *p = plan_of(snaps, ARRAY_SIZE(snaps));
	struct prepare_report rep;

	(void)state;
	assert_int_equal(prepare_tree(p, root, NULL, &rep), -ENOSPC);
	assert_non_null(strstr(fail_text(), "larger backend"));
	assert_false(there("small"));
	plan_free(p);
}

static void sparse_needs_what_it_holds(void **state)
{
	static const struct event snaps[] = {
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("f"),
			.iid = 2,
			.mode = 0100644,
			.size = UINT64_C(1) << 40,
			.flags = EVENT_SNAP_SPARSE},
		{.op = OP_SNAP_DATA, .iid = 2, .offset = UINT64_C(1) << 39, .size = 4096},
	};
	static const struct event endless[] = {
		{.op = OP_SNAP, .parent = 1, .name = NAME("small"), .iid = 2, .mode = 0100644},
		{.op = OP_SNAP,
			.parent = 1,
			.name = NAME("long"),
			.iid = 3,
			.mode = 0100644,
			.size = INT64_MAX,
			.flags = EVENT_SNAP_SPARSE},
	};
	const struct rlimit limit = {1 << 20, RLIM_INFINITY};
	struct rlimit old;
	struct plan *p = plan_of(snaps, ARRAY_SIZE(snaps)), *q = plan_of(endless, 2);
	struct prepare_report rep;
	struct plan_info info;

	(void)state;
	plan_info(p, &info);
	assert_in_range(info.space_bytes, 4096, 65536);
	assert_int_equal(prepare_tree(p, root, NULL, &rep), 0);
	assert_int_equal(stat_of("f").st_size, UINT64_C(1) << 40);
	assert_in_range(stat_of("f").st_blocks, 8, 64);
	assert_int_equal(unlinkat(root, "f", 0), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(prepare_tree(q, root, NULL, &rep), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_non_null(strstr(fail_text(), "\"long\""));
	assert_false(there("small"));
	plan_free(p);
	plan_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_told, begin, end),
		cmocka_unit_test_setup_teardown(hostile_stays_inside, begin, end),
		cmocka_unit_test_setup_teardown(privileged_makes_all, begin, end),
		cmocka_unit_test_setup_teardown(stops_when_told, begin, end),
		cmocka_unit_test_setup_teardown(sparse_needs_what_it_holds, begin, end),
		cmocka_unit_test_setup_teardown(too_large_is_refused_first, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
