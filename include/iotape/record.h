/* SPDX-License-Identifier: MIT */
/* The recorder: a FUSE mirror of a directory that writes every request into a trace. */
#ifndef IOTAPE_RECORD_H
#define IOTAPE_RECORD_H

#include <sys/ioctl.h>

#include "iotape/trace.h"

enum record_view { RECORD_VIEW_APP, RECORD_VIEW_STORAGE };
enum record_content { RECORD_CONTENT_NONE, RECORD_CONTENT_SUMMARY, RECORD_CONTENT_FULL };

struct record_opts {
	const char *source;     /* directory */
	const char *mountpoint; /* NULL or the same as source: over the source itself */
	const char *trace_path; /* "-": standard output; NULL: no recording at all (--no-record) */
	const char *command;    /* for the header; NULL */
	enum record_view view;
	enum record_content content;
	bool snapshot_full;      /* note all that is in the source before the workload begins */
	bool allow_other, force; /* force: the trace file may exist and is replaced */
	uint64_t max_bytes;      /* of the trace; 0: no limit */
	int level;
};

struct record_stats {
	uint64_t events, drops, stalls, stall_ns, read_bytes, write_bytes, trace_bytes;
	int trace_error; /* 0, or -errno of the log device: the recording ended early, the mirror
			    went on */
	char trace_text[256]; /* what happened, when trace_error */
	bool busy;            /* files were open at the end: unmounted lazily, they are cut off */
	uint64_t cut;         /* requests under way at the end that were failed, as far as known */
	int64_t dur_ns;       /* from open to the end */
	const char *reason;   /* of the end, as in the trailer */
};

struct record;
/* Checks, creates the trace file (mode 0600), mounts. Starts no thread, so the caller may fork
 * between open and serve. On failure nothing stays mounted and no trace file that it made stays
 * behind. */
int record_open(struct record **out, const struct record_opts *o);
/* Serves until unmounted or record_stop(); starts the threads and ends them. 0 or -errno:
 * -ETIMEDOUT when calls of the file system below do not come back. Then threads and memory are left
 * behind, the trace can still be closed, and the process should end soon. */
int record_serve(struct record *r);
/* Ends record_serve() with this reason for the trailer (a string literal). Async-signal-safe; may
 * come from any thread, and before serve. */
void record_stop(struct record *r, const char *reason);
/* Unmounts when still mounted (lazily when busy), closes the trace. *st may be NULL. */
int record_close(struct record *r, struct record_stats *st);

/* On any handle of the mount: writes a `mark` event with this name. The replayer uses it to tell
 * phases apart when it is itself recorded. */
#define RECORD_MARK_MAX 64
struct record_mark {
	char name[RECORD_MARK_MAX]; /* NUL-terminated */
};
#define RECORD_IOC_MARK _IOW('T', 0x17, struct record_mark)
/* "own OP": between the marks "replay" and "done" the next call of this thread, when it is an OP,
 * is the replayer's own: no call of the trace that it replays. */
#define RECORD_MARK_OWN "own "

#endif
