/* SPDX-License-Identifier: MIT */
/*
 * The trace log (docs/format.md): writer, reader, damage check, text twin. No threads, no FUSE.
 * Errors: -EBADMSG corrupt, -EPROTONOSUPPORT unknown version, -ENODATA cut or empty, else the errno
 * of the file.
 */
#ifndef IOTAPE_TRACE_H
#define IOTAPE_TRACE_H

#include <stdio.h>

#include "iotape/event.h"

/* What the header frame says about the recording. Strings are owned by the struct
 * (trace_header_fini frees them); NULL: not known. */
struct trace_header {
	char *recorder;    /* "iotape 0.1.0" */
	char *source_kind; /* "record", "replay", "import:text", ... */
	char *view;        /* "app", "storage" */
	char *host_kernel; /* uname -r */
	char *libfuse;
	char *mount_options;
	char *fs_type; /* of the directory below */
	char *command; /* of `record -- COMMAND`, shell-quoted */
	char *content; /* "none", "summary", "full" */
	uint64_t fs_free_bytes, fs_total_bytes;
	uint32_t page_size, cpus;
	int64_t start_mono_ns, start_wall_ns;
	int level; /* zstd */
};
int trace_header_copy(struct trace_header *out, const struct trace_header *h);
void trace_header_fini(struct trace_header *h);

struct trace_trailer {
	uint64_t events, drops;
	uint64_t op_count[OP_COUNT];
	int64_t end_mono_ns;
	uint64_t stalls, stall_ns; /* times and time that operations waited for room in the
				      recorder's queue */
	char *reason; /* why the recording ended: "unmounted", "SIGTERM", "max-size", "log device
			 full"; NULL unknown */
};

/* ---- writer: single-threaded; events in order of completion ---- */
struct trace_writer;
#define TRACE_CHUNK_EVENTS 8192u
#define TRACE_FLUSH_NS     INT64_C(100000000)
/* Writes the header frame to fd (borrowed, must stay open, append position). h->level 0 means 1. */
int trace_writer_open(struct trace_writer **out, int fd, const struct trace_header *h);
/* Takes a copy. ev->seq 0: the writer numbers it. Writes a chunk when TRACE_CHUNK_EVENTS are
 * gathered. */
int trace_writer_put(struct trace_writer *w, const struct event *ev);
/* Writes what is gathered as a chunk now; callers with a clock do it every TRACE_FLUSH_NS. */
int trace_writer_flush(struct trace_writer *w);
uint64_t trace_writer_bytes(const struct trace_writer *w); /* in the file so far */
uint64_t trace_writer_events(const struct trace_writer *w);
/* Flush, trailer, index. events and op_count of t are filled in by the writer; the rest is the
 * caller's. t may be NULL. */
int trace_writer_finish(struct trace_writer *w, const struct trace_trailer *t);
/* Frees; NULL is fine. Without finish the file stays a cut trace. */
void trace_writer_close(struct trace_writer *w);
/* trace_writer_put as an event_fn. */
int trace_writer_sink(void *writer, const struct event *ev);

/* ---- reader ---- */
struct trace_reader;
/* path "-" is stdin. Needs no index; works on pipes. */
int trace_reader_open(struct trace_reader **out, const char *path);
/* fd is borrowed. name is for messages. */
int trace_reader_open_fd(struct trace_reader **out, int fd, const char *name);
const struct trace_header *trace_reader_header(const struct trace_reader *r);
/* 1: *ev filled (strings valid until the next call), 0: end, negative: damage. A cut trace ends
 * with 0 after its last whole frame, and trace_reader_cut() is then true. Events are checked with
 * event_check(). */
int trace_reader_next(struct trace_reader *r, struct event *ev);
/* Number of the chunk that the last event came from, from 0. */
uint64_t trace_reader_chunk(const struct trace_reader *r);
/* Events of operations that this program does not know, left out so far. */
uint64_t trace_reader_skipped(const struct trace_reader *r);
/* After the end: NULL when the trace has no trailer (it was cut). */
const struct trace_trailer *trace_reader_trailer(const struct trace_reader *r);
bool trace_reader_cut(const struct trace_reader *r);
/* Back to the first event; -ESPIPE on a pipe. */
int trace_reader_rewind(struct trace_reader *r);
void trace_reader_close(struct trace_reader *r);
/* Calls fn for every event; returns 0 at the end, what fn returned when not 0, or the reader's
 * error. */
int trace_reader_each(struct trace_reader *r, event_fn fn, void *ctx);

/* Measures data for ratio[] of an event: 255 * compressed / plain size at zstd -5 and 1, of pieces
 * of at most max_bytes. For one thread. Ratios: 0, or negative (without fail text) when the piece
 * cannot be measured. */
struct trace_sampler;
int trace_sampler_new(struct trace_sampler **out, size_t max_bytes);
void trace_sampler_free(struct trace_sampler *s);
int trace_sampler_ratios(struct trace_sampler *s, const void *p, size_t n, uint8_t ratio[2]);

/* ---- damage ---- */
struct trace_damage {
	uint64_t file_bytes,
		good_bytes; /* good_bytes: offset of the end of the last good frame in sequence */
	uint64_t frames, bad_frames, events,
		lost_events; /* lost: gaps in sequence numbers plus the trailer's drops */
	bool has_trailer, has_index, index_good;
	char first_bad[256]; /* "frame 7 at byte 1234: checksum mismatch"; empty when none */
};
/* Walks every frame, going on behind damaged ones where a frame's size can still be told. 0 when it
 * could be looked at at all (it may still be damaged or cut: see *d). repair_fd >= 0: good frames,
 * a new trailer and a new index are written there. */
int trace_check(const char *path, struct trace_damage *d, int repair_fd);

/* ---- text twin ---- */
/* '#' lines with the header, or with the trailer. */
int trace_text_header(FILE *out, const struct trace_header *h);
int trace_text_trailer(FILE *out, const struct trace_trailer *t);
/* "#chunk": import flushes here, so that the same chunks come out again. */
int trace_text_chunk(FILE *out);
int trace_text_event(FILE *out, const struct event *ev);
/* One JSON object on one line with the keys of cli.md that the operation has. */
int trace_json_event(FILE *out, const struct event *ev);
/* CSV: the fields of field_info[] in order, absent ones empty. */
int trace_csv_header(FILE *out);
int trace_csv_event(FILE *out, const struct event *ev);
/* Text back into a trace on out_fd. Names the line that is wrong. name is for messages. */
int trace_text_import(FILE *in, const char *name, int out_fd);

#endif
