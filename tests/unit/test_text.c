/* SPDX-License-Identifier: MIT */
/* The text twin line by line, and whole: text to trace to text, trace to text to trace. */
#include "log_help.h"

#include <errno.h>
#include <fcntl.h>

#include "../../trace/text_priv.h"

static char ff[255];

/* What event_text() gives is freed by the caller. */
static char *event_text(const struct event *ev, int (*put)(FILE *, const struct event *))
{
	char *s = NULL;
	size_t n;
	FILE *f = open_memstream(&s, &n);

	assert_non_null(f);
	assert_int_equal(put(f, ev), 0);
	fclose(f);
	return s;
}

static void event_lines(void **state)
{
	const struct {
		struct event ev;
		const char *text;
	} t[] = {
		{{.seq = 17,
			 .start_ns = 1234567890,
			 .dur_ns = 4512,
			 .queue_ns = 1200,
			 .lane = 3,
			 .op = OP_WRITE,
			 .iid = 5,
			 .oid = 2,
			 .offset = 32768,
			 .size = 32768,
			 .result = 32768,
			 .first_touch = 1,
			 .content = EVENT_CONTENT_SAMPLE,
			 .ratio = {250, 248}},
			"17 +1.234567890s 4512ns q1200 L3 write iid=5 oid=2 offset=32768 "
			"size=32768 = 32768 first_touch=1 content=sample:250/248\n"},
		{{.seq = 1,
			 .op = OP_LOOKUP,
			 .parent = 1,
			 .name = {"a \"b\"\n\0\xff", 8},
			 .result = -2},
			"1 +0.000000000s 0ns q0 L0 lookup parent=1 "
			"name=\"a \\\"b\\\"\\n\\x00\\xff\" = -2 ENOENT\n"},
		{{.seq = UINT64_MAX,
			 .start_ns = -1,
			 .op = OP_LSEEK,
			 .offset = UINT64_MAX,
			 .flags = 4,
			 .result = -4095},
			"18446744073709551615 -0.000000001s 0ns q0 L0 lseek "
			"offset=18446744073709551615 = -4095 flags=0x4\n"},
		{{.seq = 2,
			 .op = OP_SETATTR,
			 .uid = UINT32_MAX,
			 .mode = 0100644,
			 .atime_ns = INT64_MIN,
			 .mtime_ns = INT64_MAX,
			 .arg = 255},
			"2 +0.000000000s 0ns q0 L0 setattr = 0 mode=0100644 uid=4294967295 arg=255 "
			"atime_ns=-9223372036854775808 mtime_ns=9223372036854775807\n"},
		{{.seq = 3, .op = OP_WRITE, .content = EVENT_CONTENT_ZERO},
			"3 +0.000000000s 0ns q0 L0 write = 0 content=zero\n"},
		{{.seq = 3, .op = OP_WRITE, .content = EVENT_CONTENT_LIKE, .ratio = {1, 2}},
			"3 +0.000000000s 0ns q0 L0 write = 0 content=like ratio=1/2\n"},
		{{.seq = 4,
			 .op = OP_RENAME,
			 .iid = 3,
			 .parent = 1,
			 .name = {"a", 1},
			 .parent2 = 2,
			 .name2 = {"b", 1},
			 .iid2 = 4,
			 .flags = 1},
			"4 +0.000000000s 0ns q0 L0 rename iid=3 parent=1 name=\"a\" parent2=2 "
			"name2=\"b\" iid2=4 = 0 flags=0x1\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct event back;
		char *s = event_text(&t[i].ev, trace_text_event);
		size_t n = strlen(s);

		assert_string_equal(s, t[i].text);
		if (t[i].ev.op == OP_LOOKUP) {
			/* printed all the same, but no name of a file */
			assert_int_equal(trace_text_parse(s, n - 1, &back), -EBADMSG);
		} else if (trace_text_parse(s, n - 1, &back)) {
			fail_msg("%s: %s", t[i].text, fail_text());
		} else {
			char *again = event_text(&back, trace_text_event);

			assert_string_equal(again, t[i].text);
			free(again);
		}
		free(s);
	}
}

static void long_names(void **state)
{
	struct event ev = {.seq = 1, .op = OP_CREATE, .parent = 1, .name = {ff, sizeof(ff)}}, back;
	static char value[EVENT_NAME_MAX];
	char *s;

	(void)state;
	memset(ff, 0xff, sizeof(ff));
	s = event_text(&ev, trace_text_event);
	assert_int_equal(trace_text_parse(s, strlen(s) - 1, &back), 0);
	assert_true(bytes_equal(back.name, ev.name));
	free(s);
	/* the largest that there is: two strings of 65535 bytes, all escaped */
	ev = (struct event){.seq = 1,
		.op = OP_SETXATTR,
		.name = {value, sizeof(value)},
		.target = {value, sizeof(value)}};
	memset(value, 1, sizeof(value));
	s = event_text(&ev, trace_text_event);
	assert_int_equal(trace_text_parse(s, strlen(s) - 1, &back), 0);
	assert_true(bytes_equal(back.target, ev.target));
	assert_true(bytes_equal(back.name, ev.name));
	free(s);
}

#define FRONT "1 +0.000000000s 0ns q0 L0 "

static void bad_lines(void **state)
{
	static const struct {
		const char *line, *text;
	} t[] = {
		{"", "begins with its number"},
		{"x", "begins with its number, not 'x'"},
		{"-1 +0.000000000s 0ns q0 L0 flush = 0", "begins with its number"},
		{"18446744073709551616 +0.000000000s 0ns q0 L0 flush = 0", "begins with"},
		{"1", "start ''"},
		{"1 0.000000000s 0ns q0 L0 flush = 0", "start '0.000000000s'"},
		{"1 +0.00000000s 0ns q0 L0 flush = 0", "start"},
		{"1 +0.0000000000s 0ns q0 L0 flush = 0", "start"},
		{"1 +9223372036.000000000s 0ns q0 L0 flush = 0", "start"},
		{"1 +99999999999999999999.000000000s 0ns q0 L0 flush = 0", "start"},
		{"1 +0.000000000s 5 q0 L0 flush = 0", "duration '5'"},
		{"1 +0.000000000s 18446744073709551616ns q0 L0 flush = 0", "duration"},
		{"1 +0.000000000s 1e9ns q0 L0 flush = 0", "duration '1e9ns'"},
		{"1 +0.000000000s 0ns 0 L0 flush = 0", "time in the daemon '0'"},
		{"1 +0.000000000s 0ns q0 0 flush = 0", "lane '0'"},
		{"1 +0.000000000s 0ns q0 L4294967296 flush = 0", "lane"},
		{FRONT "fluhs = 0", "unknown operation 'fluhs'"},
		{FRONT "none = 0", "unknown operation 'none'"},
		{FRONT "flush", "no result"},
		{FRONT "flush =", "result '' is no number"},
		{FRONT "flush = 1e9", "result '1e9' is no number"},
		{FRONT "flush = 9223372036854775808", "is no number"},
		{FRONT "lseek = -9223372036854775808", "no errno"},
		{FRONT "lseek = -9223372036854775809", "is no number"},
		{FRONT "flush = 0 = 0", "a second result"},
		{FRONT "flush = -2 EPERM", "result -2 is ENOENT, not 'EPERM'"},
		{FRONT "flush = -4000 EPERM", "nameless"},
		{FRONT "flush = 0 ENOENT", "'ENOENT' is no KEY=VALUE"},
		{FRONT "flush iid = 0", "'iid' is no KEY=VALUE"},
		{FRONT "flush iid= = 0", "iid=''"},
		{FRONT "flush iid=1 iid=1 = 0", "iid stands twice"},
		{FRONT "flush idd=1 = 0", "'idd' is no field"},
		{FRONT "flush lane=1 = 0", "'lane' is no field"},
		{FRONT "flush result=1 = 0", "'result' is no field"},
		{FRONT "write size=1e9 = 0", "size='1e9'"},
		{FRONT "write size=-1 = 0", "size='-1'"},
		{FRONT "write size=64K = 0", "size='64K'"},
		{FRONT "write size=9223372036854775808 = 0", "size beyond 2^63"},
		{FRONT "write size=18446744073709551616 = 0", "size='18446744073709551616'"},
		{FRONT "write size=1 = 2", "more bytes moved"},
		{FRONT "write first_touch=256 = 0", "first_touch='256'"},
		{FRONT "write first_touch=2 = 0", "first_touch is neither"},
		{FRONT "write content=none = 0", "content='none'"},
		{FRONT "write content=zero:1/2 = 0", "content="},
		{FRONT "write content=sample = 0", "content="},
		{FRONT "write content=sample:256/1 = 0", "content="},
		{FRONT "write content=sample:1 = 0", "content="},
		{FRONT "write ratio=1/2/3 = 0", "ratio="},
		{FRONT "mkdir name=\"a\" mode=0888 = 0", "mode='0888'"},
		{FRONT "mkdir name=\"a\" uid=4294967296 = 0", "uid="},
		{FRONT "open flags=0x100000000 = 0", "flags="},
		{FRONT "open flags=0xG = 0", "flags="},
		{FRONT "mkdir name=a = 0", "name: a string stands in"},
		{FRONT "mkdir name=\"a = 0", "name: a \"string\" has no end"},
		{FRONT "mkdir name=\"a\\\" = 0", "name: a \"string\" has no end"},
		{FRONT "mkdir name=\"a\"b = 0", "name: no space"},
		{FRONT "mkdir name=\"\\q\" = 0", "begins no escape"},
		{FRONT "mkdir name=\"a\\x00b\" = 0", "not one component"},
		{FRONT "mkdir name=\"..\" = 0", "not one component"},
		{FRONT "mkdir = 0", "not one component"},
	};
	char line[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct event ev;

		strcpy(line, t[i].line);
		if (!trace_text_parse(line, strlen(line), &ev))
			fail_msg("'%s' was taken", t[i].line);
		if (!strstr(fail_text(), t[i].text))
			fail_msg("'%s': %s", t[i].line, fail_text());
	}
	memcpy(line, FRONT "flush\0 = 0", sizeof(FRONT "flush\0 = 0"));
	{
		struct event ev;

		assert_int_equal(
			trace_text_parse(line, sizeof(FRONT "flush\0 = 0") - 1, &ev), -EINVAL);
		assert_non_null(strstr(fail_text(), "NUL"));
	}
}

static void free_form(void **state)
{
	/* order of the fields, spaces, tabs, decimal flags and modes are the writer's choice */
	char line[] = "  1\t+0.000000001s 2ns q3 L4   create = 0 mode=33188 flags=65 "
		      "name=\"x\" parent=1  ";
	struct event ev;

	(void)state;
	assert_int_equal(trace_text_parse(line, strlen(line), &ev), 0);
	assert_int_equal(ev.seq, 1);
	assert_int_equal(ev.start_ns, 1);
	assert_int_equal(ev.dur_ns, 2);
	assert_int_equal(ev.queue_ns, 3);
	assert_int_equal(ev.lane, 4);
	assert_int_equal(ev.mode, 0100644);
	assert_int_equal(ev.flags, 0x41);
	assert_int_equal(ev.parent, 1);
	assert_true(bytes_equal(ev.name, BYTES_STR("x")));
}

/* ---- whole texts ---- */

static int import_fd(const char *text, size_t n, int *out)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, n, "r");
	int r;

	*out = memfd_create("trace", 0);
	assert_true(in && *out >= 0);
	r = trace_text_import(in, "t.txt", *out);
	fclose(in);
	return r;
}

/* As `iotape dump` does it */
static char *dump_fd(int fd, size_t *n)
{
	struct trace_reader *r;
	uint64_t chunk = UINT64_MAX;
	struct event ev;
	char *s = NULL;
	FILE *f = open_memstream(&s, n);
	int e;

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(trace_reader_open_fd(&r, fd, "t.tape"), 0);
	trace_text_header(f, trace_reader_header(r));
	while ((e = trace_reader_next(r, &ev)) > 0) {
		if (trace_reader_chunk(r) != chunk)
			trace_text_chunk(f);
		chunk = trace_reader_chunk(r);
		assert_int_equal(trace_text_event(f, &ev), 0);
	}
	assert_int_equal(e, 0);
	if (trace_reader_trailer(r))
		trace_text_trailer(f, trace_reader_trailer(r));
	trace_reader_close(r);
	fclose(f);
	return s;
}

static void same_file(int a, int b)
{
	off_t n = lseek(a, 0, SEEK_END);
	char *pa = malloc((size_t)n + 1), *pb = malloc((size_t)n + 1);

	assert_int_equal(lseek(b, 0, SEEK_END), n);
	assert_int_equal(util_pread_all(a, pa, (size_t)n, 0), n);
	assert_int_equal(util_pread_all(b, pb, (size_t)n, 0), n);
	assert_memory_equal(pa, pb, n);
	free(pa);
	free(pb);
}

static void round_trip(const char *text)
{
	int a, b;
	size_t n, m;
	char *s, *again;

	if (import_fd(text, strlen(text), &a))
		fail_msg("%s", fail_text());
	s = dump_fd(a, &n);
	assert_string_equal(s, text);
	assert_int_equal(import_fd(s, n, &b), 0);
	same_file(a, b);
	again = dump_fd(b, &m);
	assert_string_equal(s, again);
	free(s);
	free(again);
	close(a);
	close(b);
}

static void whole_texts(void **state)
{
	(void)state;
	round_trip("#iotape 1\n#level 1\n#trailer\n");
	round_trip("#iotape 1\n#level 3\n"); /* cut before the first event */
	round_trip("#iotape 1\n"
		   "#recorder \"iotape 0.1.0\"\n#source_kind \"record\"\n#view \"app\"\n"
		   "#host_kernel \"6.1\"\n#libfuse \"3.14\"\n#mount_options \"a,b\"\n"
		   "#fs_type \"ext4\"\n#command \"sh -c 'a \\\"b\\\"\\n'\"\n#content \"summary\"\n"
		   "#fs_free_bytes 18446744073709551615\n#fs_total_bytes 1\n#page_size 4096\n"
		   "#cpus 2\n#start_mono_ns 5\n#start_wall_ns 1700000000000000000\n#level 5\n"
		   "#chunk\n" FRONT "flush = 0\n"
		   "#chunk\n2 +0.000000000s 0ns q0 L0 flush iid=1 = 0\n"
		   "3 +0.000000000s 0ns q0 L0 flush iid=1 = 0\n"
		   "#trailer events=3 drops=7 end_mono_ns=9 stalls=1 stall_ns=2 "
		   "reason=\"log device full\"\n");
}

/* Every operation and extreme values in many chunks, with a trailer and cut */
static void random_events(void **state)
{
	(void)state;
	for (int finish = 0; finish <= 1; finish++) {
		int a = memory_file(), b;
		size_t n;
		char *s;

		write_random(a, 42, 30000, 700, finish);
		s = dump_fd(a, &n);
		if (import_fd(s, n, &b))
			fail_msg("%s", fail_text());
		same_file(a, b);
		free(s);
		close(a);
		close(b);
	}
}

static void bad_texts(void **state)
{
	static const struct {
		const char *text;
		int r;
		const char *message;
	} t[] = {
		{"\n", -EINVAL, "t.txt:1: no text of a trace"},
		{"#iotape", -EINVAL, "t.txt:1: no text"},
		{"#iotape 2\n", -EPROTONOSUPPORT, "t.txt:1: text of version '2'"},
		{"#iotape 11\n", -EPROTONOSUPPORT, "version '11'"},
		{"#iotape 1\n#colour \"red\"\n", -EINVAL, "t.txt:2: unknown key 'colour'"},
		{"#iotape 1\n#view app\n", -EINVAL, "t.txt:2: view: a string stands"},
		{"#iotape 1\n#view\n", -EINVAL, "t.txt:2: view has no value"},
		{"#iotape 1\n#view \"a\\x00\"\n", -EINVAL, "t.txt:2: view: NUL"},
		{"#iotape 1\n#view \"a\" b\n", -EINVAL, "t.txt:2: more behind"},
		{"#iotape 1\n#cpus 4294967296\n", -EINVAL, "t.txt:2: cpus"},
		{"#iotape 1\n#cpus -1\n", -EINVAL, "t.txt:2: cpus"},
		{"#iotape 1\n#cpus 1e9\n", -EINVAL, "t.txt:2: cpus: '1e9'"},
		{"#iotape 1\n#level 99999999\n", -EINVAL, "t.txt:2: level"},
		{"#iotape 1\n\n# remark\n#\n" FRONT "flsh = 0\n", -EINVAL,
			"t.txt:5: unknown operation 'flsh'"},
		{"#iotape 1\n" FRONT "flush = 0\n#view \"app\"\n", -EINVAL,
			"t.txt:3: a line of the header behind"},
		{"#iotape 1\n#trailer\n" FRONT "flush = 0\n", -EINVAL, "t.txt:3: more behind"},
		{"#iotape 1\n#trailer evts=3\n", -EINVAL, "t.txt:2: unknown key 'evts'"},
		{"#iotape 1\n#trailer drops=x\n", -EINVAL, "t.txt:2: drops"},
	};
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		int r = import_fd(t[i].text, strlen(t[i].text), &fd);

		close(fd);
		if (r != t[i].r || !strstr(fail_text(), t[i].message))
			fail_msg("'%s': %d %s", t[i].text, r, fail_text());
	}
	/* a line without end costs no memory */
	{
		FILE *zero = fopen("/dev/zero", "r");

		fd = memfd_create("trace", 0);
		assert_int_equal(trace_text_import(zero, "/dev/zero", fd), -EINVAL);
		assert_non_null(strstr(fail_text(), "/dev/zero:1: a line of more than"));
		fclose(zero);
		close(fd);
	}
}

static void windows_text(void **state)
{
	static const char text[] = "#iotape 1\r\n#view \"app\"\r\n" FRONT "flush = 0\r\n#trailer";
	int fd;
	size_t n;
	char *s;

	(void)state;
	assert_int_equal(import_fd(text, sizeof(text) - 1, &fd), 0);
	s = dump_fd(fd, &n);
	assert_non_null(strstr(s, "#view \"app\"\n"));
	assert_non_null(strstr(s, "#trailer events=1"));
	free(s);
	close(fd);
}

static void tables(void **state)
{
	struct event ev = {.seq = 9,
		.lane = 2,
		.op = OP_CREATE,
		.start_ns = 7,
		.iid = 3,
		.oid = 4,
		.parent = 1,
		.name = {"a,\"\xff\n", 5},
		.result = -13,
		.mode = 0100600};
	char *s = event_text(&ev, trace_json_event);

	(void)state;
	assert_string_equal(s,
		"{\"seq\": 9, \"lane\": 2, \"op\": \"create\", \"start_ns\": 7, \"dur_ns\": 0, "
		"\"queue_ns\": 0, \"iid\": 3, \"oid\": 4, \"parent\": 1, "
		"\"name\": \"a,\\\"\\udcff\\n\", \"result\": -13, \"errno\": \"EACCES\", "
		"\"flags\": 0, \"mode\": 33152, \"uid\": 0, \"gid\": 0}\n");
	free(s);
	s = event_text(&ev, trace_csv_event);
	assert_string_equal(s, "9,2,create,7,0,0,3,4,1,\"a,\\\"\"\\xff\\n\",,,,,,,,,-13,0,33152,0,0"
			       ",,,,,,,\n");
	free(s);
	ev = (struct event){.op = OP_WRITE, .content = EVENT_CONTENT_SAMPLE, .ratio = {1, 2}};
	s = event_text(&ev, trace_json_event);
	assert_non_null(strstr(s, "\"content\": \"sample\", \"ratio\": [1, 2]}\n"));
	assert_null(strstr(s, "errno"));
	free(s);
	ev.op = OP_COUNT;
	assert_int_equal(trace_json_event(stdout, &ev), -EINVAL);
	assert_int_equal(trace_csv_event(stdout, &ev), -EINVAL);
	assert_int_equal(trace_text_event(stdout, &ev), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_lines),
		cmocka_unit_test(long_names),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(free_form),
		cmocka_unit_test(whole_texts),
		cmocka_unit_test(random_events),
		cmocka_unit_test(bad_texts),
		cmocka_unit_test(windows_text),
		cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
