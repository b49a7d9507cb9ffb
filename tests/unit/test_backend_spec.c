/* SPDX-License-Identifier: MIT */
/* Specs of backends: what each field becomes, and what is refused with which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail
#include <errno.h>
#include <string.h>

#include "../../replay/backend_priv.h"

#define M (1024ull * 1024)

static const struct {
	const char *spec, *name, *kind, *a, *b, *fs;
	uint64_t size, rate;
	int64_t delay;
	enum backend_provision provision;
	bool degraded;
} good[] = {
	{.spec = "/x/y", .name = "dir", .kind = "dir", .a = "/x/y", .size = 8192 * M},
	{.spec = "dir:/x,y=z", .name = "dir", .kind = "dir", .a = "/x,y=z", .size = 8192 * M},
	{.spec = "dir:rdm:", .name = "dir", .kind = "dir", .a = "rdm:", .size = 8192 * M},
	{.spec = "a.b-1=dir:q=r", .name = "a.b-1", .kind = "dir", .a = "q=r", .size = 8192 * M},
	{.spec = "./a,b", .name = "dir", .kind = "dir", .a = "./a,b", .size = 8192 * M},
	{.spec = "null:", .name = "null", .kind = "null", .size = 8192 * M},
	{.spec = "rdm:/dev/sdz",
		.name = "rdm",
		.kind = "rdm",
		.a = "/dev/sdz",
		.fs = "ext4",
		.size = 8192 * M},
	{.spec = "slow=rdm:f,size=64M,fs=xfs,delay=5ms,rate=50M",
		.name = "slow",
		.kind = "rdm",
		.a = "f",
		.fs = "xfs",
		.size = 64 * M,
		.rate = 50 * M,
		.delay = 5000000},
	{.spec = "rdm:a\\,b\\\\c,size=1M",
		.name = "rdm",
		.kind = "rdm",
		.a = "a,b\\c",
		.fs = "ext4",
		.size = M},
	{.spec = "rdm:f,size=2000001",
		.name = "rdm",
		.kind = "rdm",
		.a = "f",
		.fs = "ext4",
		.size = 1998848},
	{.spec = "vmdk:v.vmdk",
		.name = "vmdk",
		.kind = "vmdk",
		.a = "v.vmdk",
		.fs = "ext4",
		.size = 8192 * M,
		.provision = BACKEND_THIN},
	{.spec = "vmdk:v.vmdk,provision=eager,fs=btrfs",
		.name = "vmdk",
		.kind = "vmdk",
		.a = "v.vmdk",
		.fs = "btrfs",
		.size = 8192 * M,
		.provision = BACKEND_EAGER},
	{.spec = "vmdk:v.vmdk,provision=lazy",
		.name = "vmdk",
		.kind = "vmdk",
		.a = "v.vmdk",
		.fs = "ext4",
		.size = 8192 * M,
		.provision = BACKEND_LAZY},
	{.spec = "raid1:/p/a,/p/b,degraded",
		.name = "raid1",
		.kind = "raid1",
		.a = "/p/a",
		.b = "/p/b",
		.fs = "btrfs",
		.size = 8192 * M,
		.degraded = true},
	{.spec = "raid1:a,/x=y,engine=btrfs,size=1G",
		.name = "raid1",
		.kind = "raid1",
		.a = "a",
		.b = "/x=y",
		.fs = "btrfs",
		.size = 1024 * M},
};

static void same(const char *got, const char *want)
{
	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
}

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct backend *b = NULL;

		print_message("%s\n", good[i].spec);
		assert_int_equal(backend_new(&b, good[i].spec, NULL), 0);
		assert_string_equal(backend_name(b), good[i].name);
		assert_string_equal(backend_kind(b), good[i].kind);
		same(b->disk[0].path, good[i].a);
		same(b->disk[1].path, good[i].b);
		same(b->fs, good[i].fs);
		assert_true(b->size_bytes == good[i].size);
		assert_true(b->rate_bytes == good[i].rate);
		assert_true(b->delay_ns == good[i].delay);
		assert_int_equal(b->provision, good[i].provision);
		assert_int_equal(b->degraded, good[i].degraded);
		assert_int_equal(backend_root_fd(b), -1);
		assert_int_equal(backend_down(b), 0);
		backend_free(b);
	}
}

static const struct {
	const char *spec, *says; /* a part of the text */
} bad[] = {
	{"", "is empty"},
	{"x=", "is empty"},
	{"=dir:/x", "name before '='"},
	{"dir:", "a path is missing; write DIR or dir:DIR"},
	{"rdm:", "a path is missing; write rdm:DEVICE-OR-FILE"},
	{"rdm:,size=1G", "a path is missing"},
	{"raid1:a", "a path is missing; write raid1:A,B"},
	{"raid1:a,size=1G", "a path is missing before 'size=1G'"},
	{"vmdk:", "a path is missing; write vmdk:FILE.vmdk"},
	{"null:x", "takes nothing behind it"},
	{"iscsi:x", "unknown kind 'iscsi:'; it is one of dir:, rdm:, vmdk:, raid1:, null:"},
	{"vmkd:x.vmdk", "unknown kind 'vmkd:'; it is one of dir:, rdm:, vmdk:, raid1:, null: (a "
			"directory of that name: dir:vmkd:x.vmdk); did you mean vmdk?"},
	{"raid:", "did you mean raid1?"},
	{"disk=raid:a,b", "did you mean raid1?"},
	{"nul:", "did you mean null?"},
	{"null", "'null' is no directory; the kind of storage is written null:"},
	{"raid1", "the kind of storage is written raid1:A,B"},
	{"vmdk:x.vmdk,provison=thin", "unknown key 'provison'; vmdk: takes size=8G, "},
	{"vmdk:x.vmdk,provison=thin", "; did you mean provision?"},
	{"raid1:a,b,degarded", "; did you mean degraded?"},
	{"rdm:f,sise=1G", "unknown key 'sise'; rdm: takes size=8G, fs=ext4|xfs|btrfs, delay=5ms, "
			  "rate=50M; did you mean size?"},
	{"rdm:f,provision=thin", "unknown key 'provision'"},
	{"rdm:f,degraded", "unknown key 'degraded'"},
	{"rdm:f,", "unknown key ''"},
	{"raid1:a,b,degraded=1", "write degraded"},
	{"rdm:f,size", "write size=8G"},
	{"rdm:f,size=", ""},
	{"rdm:f,size=big", "big"},
	{"rdm:f,size=0", "at least 1M"},
	{"rdm:f,size=-1", "-1"},
	{"rdm:f,size=9999999T", ""},
	{"rdm:f,size=1G,size=2G", "given twice"},
	{"rdm:f,fs=brtfs", "did you mean btrfs?"},
	{"rdm:f,fs=ntfs", "fs: 'ntfs' is none of ext4, xfs, btrfs"},
	{"vmdk:f.vmdk,provision=thick", "provision: 'thick' is none of thin, lazy, eager"},
	{"rdm:f,delay=0ms", "more than 0 and at most 1s"},
	{"rdm:f,delay=2s", "more than 0 and at most 1s"},
	{"rdm:f,delay=5", ""},
	{"rdm:f,rate=0", "leave it out"},
	{"raid1:a,b,engine=zfs", "none of btrfs, md"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct backend *b = (struct backend *)-1;

		fail(0, "nothing");
		assert_int_equal(backend_new(&b, bad[i].spec, NULL), -EINVAL);
		print_message("%s: %s\n", bad[i].spec, fail_text());
		assert_ptr_equal(b, (struct backend *)-1);
		assert_non_null(strstr(fail_text(), bad[i].says));
		assert_non_null(strstr(fail_text(), bad[i].spec));
		assert_null(strchr(fail_text(), '\n'));
	}
}

/* A program's output becomes one line, its status a failure. */
static void test_run(void **state)
{
	static const char *const yes[] = {"true", NULL};
	static const char *const no[] = {"false", NULL};
	static const char *const lines[] = {"sh", "-c", "printf 'a\\n\\n b\\n' >&2; exit 3", NULL};
	static const char *const killed[] = {"sh", "-c", "kill -9 $$", NULL};
	static const char *const none[] = {"iotape-no-such-tool", NULL};
	static const char *const out[] = {"sh", "-c", "echo out; echo err >&2; exit 7", NULL};
	char text[8];
	int status = 0;

	(void)state;
	assert_int_equal(run_tool(yes), 0);
	assert_int_equal(run_tool(no), -EIO);
	assert_string_equal(fail_text(), "false failed with status 1");
	assert_int_equal(run_tool(lines), -EIO);
	assert_string_equal(fail_text(), "sh: a; b");
	assert_int_equal(run_tool(killed), -EINTR);
	assert_string_equal(fail_text(), "sh was killed by signal 9");
	assert_int_equal(run_tool(none), -ENOENT);
	assert_int_equal(run_output(out, text, sizeof(text), &status), 0);
	assert_int_equal(status, 7);
	assert_string_equal(text, "out\n");
	assert_int_equal(run_output(out, text, 3, &status), 0);
	assert_string_equal(text, "ou");
}

static void test_missing_tool_names_package(void **state)
{
	(void)state;
	if (run_find("mkfs.xfs", NULL, 0) < 0)
		assert_non_null(strstr(fail_text(), "apt-get install xfsprogs"));
	assert_int_equal(run_find("iotape-no-such-tool", NULL, 0), -ENOENT);
	assert_string_equal(fail_text(), "iotape-no-such-tool is not installed");
}

static void test_kinds(void **state)
{
	struct backend_kind_info k[8];

	(void)state;
	assert_int_equal(backend_kinds(NULL, 0), 5);
	assert_int_equal(backend_kinds(k, 8), 5);
	assert_string_equal(k[0].kind, "dir");
	assert_true(k[0].usable);
	for (size_t i = 0; i < 5; i++)
		assert_true(k[i].how[0] && k[i].what[0] && k[i].syntax[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_missing_tool_names_package),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
