/* SPDX-License-Identifier: MIT */
/*
 * iotape info: what a trace is, at a glance: header, operations by count, bytes, lanes, files,
 * times, and whether it ends properly. It reads the whole trace once and keeps counts only;
 * latencies are `stat`'s.
 */
#include "cli_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "iotape/json.h"
#include "iotape/map.h"
#include "iotape/trace.h"

struct info {
	const char *path;
	const struct trace_header *h;
	const struct trace_trailer *t; /* NULL: cut */
	uint64_t events, skipped, count[OP_COUNT], read_bytes, write_bytes;
	int64_t first_ns, last_ns; /* of calls */
	bool timed;
	struct u64map lanes, files;
	uint64_t file_bytes; /* 0: a pipe */
};
#define WALL_MAX (INT64_C(1) << 62)

static int count(void *ctx, const struct event *ev)
{
	struct info *i = ctx;
	enum op_class class = op_info[ev->op].class;
	uint64_t bytes = event_bytes(ev);
	int r = 0;

	i->events++;
	i->count[ev->op]++;
	if (class == OPC_SNAP || class == OPC_NOTE)
		return 0;
	if (!i->timed || ev->start_ns < i->first_ns)
		i->first_ns = ev->start_ns;
	if (!i->timed || ev->start_ns + (int64_t)ev->dur_ns > i->last_ns)
		i->last_ns = ev->start_ns + (int64_t)ev->dur_ns;
	i->timed = true;
	if (op_info[ev->op].effects & EFF_DATA_READ)
		i->read_bytes += bytes;
	if (op_info[ev->op].effects & (EFF_DATA_WRITE | EFF_DATA2_WRITE))
		i->write_bytes += bytes;
	if (ev->lane)
		r = u64map_put(&i->lanes, ev->lane, 1);
	if (!r && class == OPC_DATA)
		r = u64map_put(&i->files, ev->iid, 1);
	return r;
}

static double seconds(const struct info *i)
{
	return (i->last_ns - i->first_ns) / 1e9;
}

static double bytes_per_event(const struct info *i)
{
	return i->events && i->file_bytes ? (double)i->file_bytes / i->events : 0.0 / 0.0;
}

static void format_wall(char *out, size_t cap, int64_t ns)
{
	int64_t part = (ns % 1000000000 + 1000000000) % 1000000000;
	time_t s = (ns - part) / 1000000000;
	struct tm tm;
	size_t n;

	*out = '\0';
	if (!gmtime_r(&s, &tm))
		return;
	n = strftime(out, cap, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(out + n, cap - n, ".%03d UTC", (int)(part / 1000000));
}

static void line(const char *key, const char *value)
{
	if (value) {
		_free_ char *safe = malloc(4 * strlen(value) + 1);

		if (safe) /* a trace may come from anywhere: nothing of it steers the terminal */
			bytes_escape(safe, 4 * strlen(value) + 1, BYTES_STR(value));
		printf("%-15s %s\n", key, safe ? safe : "");
	}
}

static int by_count(const void *a, const void *b, void *ctx)
{
	const struct info *i = ctx;
	uint64_t x = i->count[*(const int *)a], y = i->count[*(const int *)b];

	return x < y ? 1 : x > y ? -1 : *(const int *)a - *(const int *)b;
}

/* Operations that occur, most first. */
static int sorted_ops(struct info *i, int op[OP_COUNT])
{
	int n = 0;

	for (int k = 1; k < OP_COUNT; k++)
		if (i->count[k])
			op[n++] = k;
	qsort_r(op, n, sizeof(*op), by_count, i);
	return n;
}

static void print_times(const struct info *i)
{
	char wall[64];

	if (!i->timed)
		return;
	/* until 2116; a trace may claim anything */
	if (i->h->start_wall_ns > 0 && i->h->start_wall_ns < WALL_MAX) {
		format_wall(wall, sizeof(wall), i->h->start_wall_ns + i->first_ns);
		line("first call", wall);
		format_wall(wall, sizeof(wall), i->h->start_wall_ns + i->last_ns);
		line("last call ends", wall);
	}
	printf("%-15s %.6f s\n", "duration", seconds(i));
}

static void print_end(const struct info *i)
{
	if (!i->t) {
		line("end", "cut: the trace has no trailer; `iotape check` tells more");
		return;
	}
	line("end", i->t->reason ? i->t->reason : "complete");
	printf("%-15s %" PRIu64 "\n", "drops", i->t->drops);
	if (i->t->stalls)
		printf("%-15s %" PRIu64 " times, %.3f ms in all\n", "stalls", i->t->stalls,
			i->t->stall_ns / 1e6);
}

static void print_text(struct info *i)
{
	int op[OP_COUNT], n = sorted_ops(i, op);

	line("trace", i->path);
	line("recorder", i->h->recorder);
	line("source", i->h->source_kind);
	line("command", i->h->command);
	line("view", i->h->view);
	line("content", i->h->content);
	line("kernel", i->h->host_kernel);
	line("libfuse", i->h->libfuse);
	line("mount options", i->h->mount_options);
	line("file system", i->h->fs_type);
	print_times(i);
	printf("%-15s %" PRIu64 "\n", "events", i->events);
	if (i->skipped)
		printf("%-15s %" PRIu64 " of operations that this iotape does not know\n",
			"skipped", i->skipped);
	printf("%-15s %zu\n", "lanes", i->lanes.used);
	printf("%-15s %zu read or written\n", "files", i->files.used);
	printf("%-15s %" PRIu64 " bytes\n", "read", i->read_bytes);
	printf("%-15s %" PRIu64 " bytes\n", "written", i->write_bytes);
	if (i->file_bytes && i->events)
		printf("%-15s %" PRIu64 " bytes, %.1f an event\n", "trace size", i->file_bytes,
			bytes_per_event(i));
	print_end(i);
	printf("operations\n");
	for (int k = 0; k < n; k++)
		printf("  %-17s %12" PRIu64 "\n", op_info[op[k]].name, i->count[op[k]]);
}

static void print_json(struct info *i)
{
	int op[OP_COUNT], n = sorted_ops(i, op);
	struct json j;

	json_init(&j, stdout, 2);
	json_object(&j, NULL);
	json_str(&j, "trace", i->path);
	json_u64(&j, "version", 1);
	json_str(&j, "recorder", i->h->recorder);
	json_str(&j, "source", i->h->source_kind);
	json_str(&j, "view", i->h->view);
	json_str(&j, "content", i->h->content);
	json_str(&j, "kernel", i->h->host_kernel);
	json_str(&j, "libfuse", i->h->libfuse);
	json_str(&j, "fs_type", i->h->fs_type);
	json_str(&j, "command", i->h->command);
	json_i64(&j, "start_wall_ns", i->h->start_wall_ns);
	json_i64(&j, "first_call_ns", i->first_ns);
	json_i64(&j, "last_end_ns", i->last_ns);
	json_f64(&j, "duration_seconds", seconds(i));
	json_u64(&j, "events", i->events);
	json_u64(&j, "skipped", i->skipped);
	json_object(&j, "operations");
	for (int k = 0; k < n; k++)
		json_u64(&j, op_info[op[k]].name, i->count[op[k]]);
	json_end(&j, '}');
	json_u64(&j, "read_bytes", i->read_bytes);
	json_u64(&j, "write_bytes", i->write_bytes);
	json_u64(&j, "lanes", i->lanes.used);
	json_u64(&j, "files", i->files.used);
	json_u64(&j, "drops", i->t ? i->t->drops : 0);
	json_u64(&j, "stalls", i->t ? i->t->stalls : 0);
	json_bool(&j, "complete", i->t != NULL);
	json_str(&j, "reason", i->t ? i->t->reason : NULL);
	json_u64(&j, "file_bytes", i->file_bytes);
	json_f64(&j, "bytes_per_event", bytes_per_event(i));
	json_end(&j, '}');
	putchar('\n');
}

static int info(void *ctx, const struct cli_trace *t)
{
	const enum cli_format *format = ctx;
	struct info i = {.path = t->path, .h = trace_reader_header(t->reader)};
	struct stat st;
	int r;

	u64map_init(&i.lanes);
	u64map_init(&i.files);
	r = trace_reader_each(t->reader, count, &i);
	i.t = trace_reader_trailer(t->reader);
	i.skipped = trace_reader_skipped(t->reader);
	if (strcmp(t->path, "-") != 0 && !stat(t->path, &st) && S_ISREG(st.st_mode))
		i.file_bytes = st.st_size;
	if (!r && *format == CLI_JSON)
		print_json(&i);
	else if (!r)
		print_text(&i);
	u64map_fini(&i.lanes);
	u64map_fini(&i.files);
	return r;
}

static const struct cli_spec spec = {
	.cmd = &cmd_info,
	.longs = cli_format_option,
	.set = cli_set_format,
	.min = 1,
	.max = 1,
};

static int run(int argc, char **argv)
{
	enum cli_format format = CLI_TEXT;

	return cli_on_traces(&spec, argc, argv, &format, info);
}

const struct command cmd_info = {"info", "what a trace holds, at a glance",
	"usage: iotape info [options] TRACE\n"
	"Prints where TRACE comes from, its operations by count, bytes read and written, lanes,\n"
	"duration, and whether it ends properly. TRACE may be - for standard input.\n\n"
	"    iotape info copy.tape\n\n"
	"  --format=text|json\n"
	"  --help               print this\n\n"
	"Bytes of copy_file_range count as read and as written.\n",
	run};
