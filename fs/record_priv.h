/* SPDX-License-Identifier: MIT */
/* A recording and its mount: what record.c, serve.c, mount.c and walk.c share. */
#ifndef RECORD_PRIV_H
#define RECORD_PRIV_H

#include "fs_priv.h"
#include "queue_priv.h"

/* A recording; record.c opens and closes it, serve.c serves. */
struct record_mount {
	char *path;     /* absolute, symlinks resolved */
	int id;         /* of the mount in mountinfo; 0: none */
	unsigned minor; /* of its st_dev: the kernel's name for the connection */
	int dev_fd;     /* of its connection; the session's */
	bool self;      /* over the source itself */
};
struct record {
	char *source; /* absolute */
	int source_fd;
	struct record_mount mount;
	char *trace_path, *made_path; /* made_path: as created; renamed when the mount stands */
	bool snapshot_full;
	int64_t start_ns;
	struct queue_log *log; /* NULL, like queue: not recording */
	struct queue *queue;
	struct fs *fs;
	struct fuse_session *session;
	int stop_fd, done_fd; /* eventfd: stop asked for; the loop has ended */
	_Atomic(const char *) reason;
	bool busy;
	pthread_t loop; /* where the session's loop runs */
	int loop_error;
	bool stuck;   /* it does not end: what it uses is left alone */
	uint64_t cut; /* requests whose users were cut off */
};

/* walk.c: all of the source as snap events, for those who want it before the workload begins. */
int record_snapshot(struct fs *fs);

/* mount.c: the mount itself, beyond what libfuse does. */
/* A dead mount of ours at path is taken away; 0 when there is none, else -errno and what to do. */
int record_mount_clear_dead(const char *path);
/* Mounts and attaches the session. m->path is set. opts: for libfuse, also in the trace. */
int record_mount_up(struct record_mount *m, struct fuse_session *se, const char *fsname,
	const char *opts, unsigned long flags);
/* 0: it is gone (or was before), -EBUSY: files are open below it. */
int record_mount_down(struct record_mount *m, bool lazy);
/* Ends the connection under its users: their calls fail at once. For a mount of which no thread
 * reads requests any more. *cut: how many were under way, 0 where that is not known. */
int record_mount_abort(const struct record_mount *m, uint64_t *cut);
/* Type of the file system that an open file is on, "" if not known. */
void record_mount_fs_type(int fd, char *type, size_t cap);
/* Is the directory dir (or an ancestor of it, over mount points) the same as the open one? */
int record_mount_inside(const char *dir, int fd);

#endif
