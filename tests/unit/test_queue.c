/* SPDX-License-Identifier: MIT */
/*
 * The recorder's hand-over: rings, the order of the trace, lanes, and a log that comes to its limit
 * or its device's. What arrives is read back from the trace file.
 */
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../../fs/queue_priv.h"

#define THREADS 8
#define EACH    100000

struct rig {
	char path[64];
	struct queue_log *log;
	struct queue *q;
};

static void rig_open(struct rig *g, uint64_t max_bytes)
{
	struct trace_header h = {.level = 1};
	int fd;

	strcpy(g->path, "/var/tmp/iotape-queue-XXXXXX");
	fd = mkostemp(g->path, O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(queue_log_open(&g->log, fd, &h, max_bytes), 0);
	assert_int_equal(queue_new(&g->q, g->log, util_now_ns()), 0);
}

static void rig_finish(struct rig *g, struct record_stats *st)
{
	memset(st, 0, sizeof(*st));
	queue_stop(g->q);
	queue_counts(g->q, &st->drops, &st->stalls, &st->stall_ns);
	queue_log_finish(g->log, "done", st);
	queue_free(g->q);
	queue_log_close(g->log);
}

static struct trace_reader *rig_read(struct rig *g)
{
	struct trace_reader *r;

	assert_int_equal(trace_reader_open(&r, g->path), 0);
	return r;
}

/* ---- rings ---- */

static void ring_keeps_order_over_its_end(void **state)
{
	struct queue_ring *r;
	uint64_t in = 0, out = 0, full = 0;
	unsigned x = 12345;

	(void)state;
	assert_int_equal(queue_ring_new(&r, 1 << 15), 0);
	assert_null(queue_ring_peek(r));
	while (out < 20000) {
		x = x * 1103515245 + 12345;
		size_t extra = (x >> 16) % 3000;
		struct queue_rec *rec = queue_ring_reserve(r, sizeof(*rec) + extra);
		if (rec) {
			rec->head.sample_len = (uint32_t)extra;
			rec->ev.seq = ++in;
			memset(rec->data, (int)(in & 255), extra);
			queue_ring_publish(r);
		} else {
			full++;
		}
		for (unsigned n = rec ? (x >> 8) & 1 : 3; n; n--) {
			rec = queue_ring_peek(r);
			if (!rec)
				break;
			assert_int_equal(rec->ev.seq, ++out);
			for (uint32_t i = 0; i < rec->head.sample_len; i++)
				assert_int_equal((unsigned char)rec->data[i], out & 255);
			queue_ring_consume(r, rec);
		}
	}
	assert_true(full > 100);
	queue_ring_free(r);
}

/* ---- the queue ---- */

struct job {
	struct queue *q;
	uint32_t lane;
	unsigned n;
};

static void *produce(void *arg)
{
	struct job *j = arg;
	char name[32];

	for (unsigned i = 1; i <= j->n; i++) {
		struct event ev = {.op = OP_LOOKUP,
			.lane = j->lane,
			.parent = i,
			.iid = j->lane,
			.mode = 0100644};
		snprintf(name, sizeof(name), "%u.%u", j->lane, i);
		ev.name = BYTES_STR(name);
		queue_put(j->q, &ev, NULL, 0);
		memset(name, '/', sizeof(name)); /* it was copied, or the trace is refused */
	}
	return NULL;
}

static void check_threads(struct rig *g, unsigned threads, unsigned each)
{
	struct trace_reader *r = rig_read(g);
	uint64_t seq = 0, *next = calloc(threads + 1, sizeof(*next));
	struct event ev;
	char name[32];

	assert_non_null(next);
	while (trace_reader_next(r, &ev) == 1) {
		assert_int_equal(ev.seq, ++seq);
		assert_in_range(ev.lane, 1, threads);
		assert_int_equal(ev.parent, ++next[ev.lane]);
		snprintf(name, sizeof(name), "%u.%u", ev.lane, (unsigned)ev.parent);
		assert_int_equal(ev.name.n, strlen(name));
		assert_memory_equal(ev.name.p, name, ev.name.n);
		assert_true(ev.start_ns >= 0);
	}
	assert_int_equal(seq, (uint64_t)threads * each);
	assert_false(trace_reader_cut(r));
	assert_int_equal(trace_reader_trailer(r)->drops, 0);
	trace_reader_close(r);
	free(next);
	unlink(g->path);
}

static void eight_threads_lose_nothing(void **state)
{
	struct job jobs[THREADS];
	pthread_t threads[THREADS];
	struct record_stats st;
	struct rig g;

	(void)state;
	rig_open(&g, 0);
	assert_int_equal(queue_start(g.q), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){g.q, i + 1, EACH};
		assert_int_equal(pthread_create(&threads[i], NULL, produce, &jobs[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	rig_finish(&g, &st);
	assert_int_equal(st.events, (uint64_t)THREADS * EACH);
	assert_int_equal(st.drops, 0);
	assert_int_equal(st.trace_error, 0);
	check_threads(&g, THREADS, EACH);
}

/* Threads that come and go take over each other's rings. */
static void short_threads(void **state)
{
	struct record_stats st;
	struct rig g;

	(void)state;
	rig_open(&g, 0);
	assert_int_equal(queue_start(g.q), 0);
	for (unsigned i = 0; i < 40; i++) {
		struct job j = {g.q, i + 1, 50};
		pthread_t t;
		assert_int_equal(pthread_create(&t, NULL, produce, &j), 0);
		pthread_join(t, NULL);
	}
	rig_finish(&g, &st);
	check_threads(&g, 40, 50);
}

/* Nobody drains: the producer waits, is counted, and goes on once the writer runs. */
static void full_ring_waits(void **state)
{
	struct job j = {.lane = 1, .n = 20000};
	struct record_stats st;
	struct rig g;
	pthread_t t;

	(void)state;
	rig_open(&g, 0);
	j.q = g.q;
	assert_int_equal(pthread_create(&t, NULL, produce, &j), 0);
	usleep(1000000);
	assert_int_equal(queue_start(g.q), 0);
	pthread_join(t, NULL);
	rig_finish(&g, &st);
	assert_true(st.stalls >= 1);
	assert_true(st.stall_ns > 1000000);
	check_threads(&g, 1, 20000);
}

/* An event is in the file soon, also the first one after a long sleep of the writer. */
static void idle_writer_wakes(void **state)
{
	struct job j = {.lane = 1, .n = 1};
	struct record_stats st;
	struct rig g;
	struct stat before, after;

	(void)state;
	rig_open(&g, 0);
	j.q = g.q;
	assert_int_equal(queue_start(g.q), 0);
	usleep(600000);
	assert_int_equal(stat(g.path, &before), 0);
	produce(&j);
	for (int i = 0; i < 100; i++) {
		usleep(30000);
		assert_int_equal(stat(g.path, &after), 0);
		if (after.st_size > before.st_size)
			break;
	}
	assert_true(after.st_size > before.st_size);
	rig_finish(&g, &st);
	check_threads(&g, 1, 1);
}

static void samples_are_measured(void **state)
{
	static const struct {
		bool random;
		unsigned lo, hi;
	} cases[] = {{true, 250, 255}, {false, 1, 40}};
	struct record_stats st;
	struct trace_reader *r;
	struct event ev;
	struct rig g;
	char data[2 * QUEUE_SAMPLE_MAX];

	(void)state;
	rig_open(&g, 0);
	assert_int_equal(queue_start(g.q), 0);
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		unsigned x = 1;
		for (size_t i = 0; i < sizeof(data); i++)
			data[i] = (char)((x = x * 1664525 + 1013904223) >>
					 (cases[c].random ? 24 : 31));
		ev = (struct event){.op = OP_WRITE,
			.lane = 1,
			.iid = 2,
			.oid = 1,
			.size = sizeof(data),
			.result = sizeof(data),
			.content = EVENT_CONTENT_SAMPLE};
		if (!cases[c].random)
			memset(data + 3000, 'a', sizeof(data) - 3000);
		queue_put(g.q, &ev, data, sizeof(data));
	}
	rig_finish(&g, &st);
	r = rig_read(&g);
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		assert_int_equal(trace_reader_next(r, &ev), 1);
		assert_int_equal(ev.content, EVENT_CONTENT_SAMPLE);
		for (int i = 0; i < 2; i++)
			assert_in_range(ev.ratio[i], cases[c].lo, cases[c].hi);
	}
	assert_int_equal(trace_reader_next(r, &ev), 0);
	trace_reader_close(r);
	unlink(g.path);
}

/* ---- lanes ---- */

static void lanes_name_threads(void **state)
{
	pid_t me = (pid_t)syscall(SYS_gettid), child;
	struct record_stats st;
	struct trace_reader *r;
	struct event ev;
	struct rig g;

	(void)state;
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	rig_open(&g, 0);
	assert_int_equal(queue_lane(NULL, me), 0);
	assert_int_equal(queue_lane(g.q, 0), 0);
	assert_int_equal(queue_lane(g.q, -1), 0);
	assert_int_equal(queue_lane(g.q, me), 1);
	assert_int_equal(queue_lane(g.q, child), 2);
	assert_int_equal(queue_lane(g.q, me), 1);
	assert_int_equal(queue_lane(g.q, child), 2);
	assert_int_equal(queue_start(g.q), 0);
	rig_finish(&g, &st);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	r = rig_read(&g);
	for (unsigned lane = 1; lane <= 2; lane++) {
		assert_int_equal(trace_reader_next(r, &ev), 1);
		assert_int_equal(ev.op, OP_LANE);
		assert_int_equal(ev.lane, lane);
		assert_int_equal(ev.arg, lane == 1 ? me : child);
		assert_int_equal(ev.size, lane == 1 ? getpid() : child);
		assert_int_equal(ev.name.n, strlen("test_queue"));
		assert_memory_equal(ev.name.p, "test_queue", ev.name.n);
	}
	assert_int_equal(trace_reader_next(r, &ev), 0);
	trace_reader_close(r);
	unlink(g.path);
}

/* ---- a log that ends early ---- */

static void limit_ends_the_recording(void **state)
{
	const uint64_t max = 200000;
	struct job j = {.lane = 1, .n = 300000};
	struct record_stats st;
	struct stat sb;
	struct rig g;

	(void)state;
	rig_open(&g, max);
	j.q = g.q;
	assert_int_equal(queue_start(g.q), 0);
	produce(&j);
	rig_finish(&g, &st);
	assert_string_equal(st.reason, "max-size");
	assert_int_equal(st.drops, 0);
	assert_int_equal(st.trace_error, 0);
	assert_int_equal(stat(g.path, &sb), 0);
	assert_in_range(sb.st_size, max / 2, max);
	assert_true(st.events < 300000);
	check_threads(&g, 1, (unsigned)st.events);
}

static void full_device_is_counted(void **state)
{
	struct job j = {.lane = 1, .n = 300000};
	struct rlimit old, small;
	struct trace_reader *r;
	struct record_stats st;
	struct event ev;
	struct rig g;
	uint64_t n = 0;

	(void)state;
	rig_open(&g, 0);
	j.q = g.q;
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){200000, old.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(queue_start(g.q), 0);
	produce(&j);
	rig_finish(&g, &st);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(st.trace_error, -EFBIG);
	assert_string_equal(st.reason, "log device full");
	assert_non_null(strstr(st.trace_text, "no room for the trace"));
	assert_true(st.events > 1000);
	assert_int_equal(st.events + st.drops, 300000);
	r = rig_read(&g);
	while (trace_reader_next(r, &ev) == 1)
		assert_int_equal(ev.seq, ++n);
	assert_int_equal(n, st.events);
	assert_false(trace_reader_cut(r));
	assert_int_equal(trace_reader_trailer(r)->drops, st.drops);
	trace_reader_close(r);
	unlink(g.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_keeps_order_over_its_end),
		cmocka_unit_test(eight_threads_lose_nothing),
		cmocka_unit_test(short_threads),
		cmocka_unit_test(full_ring_waits),
		cmocka_unit_test(idle_writer_wakes),
		cmocka_unit_test(samples_are_measured),
		cmocka_unit_test(lanes_name_threads),
		cmocka_unit_test(limit_ends_the_recording),
		cmocka_unit_test(full_device_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
