/* SPDX-License-Identifier: MIT */
/* Storage to replay on: stood up, made fresh, taken down. */
#ifndef IOTAPE_BACKEND_H
#define IOTAPE_BACKEND_H

#include <stdio.h>

#include "iotape/util.h"

struct backend;
struct backend_policy {
	const char *const *destroy; /* devices that may be formatted, NULL-terminated; NULL: none */
	bool keep;                  /* leave directory, files and mounts at down */
	bool visible; /* mounts are to be seen by other programs after backend_leave(); else they
			 are attached nowhere and vanish with the process */
	const char *work_dir; /* where visible mount points are made; NULL: $TMPDIR or /var/tmp */
	const volatile int *stop; /* not 0: up ends soon with -EINTR; may be NULL */
};

/* Parses "[NAME=]SPEC" (docs/iotape.1, BACKENDS). -EINVAL with fail text for a spec that means
 * nothing. */
int backend_new(struct backend **out, const char *spec, const struct backend_policy *pol);
const char *backend_name(
	const struct backend *b); /* as given, else the kind, made unique by the caller */
const char *backend_kind(const struct backend *b); /* "dir", "null", "rdm", "vmdk", "raid1" */
const char *backend_spec(const struct backend *b);
const char *backend_fs(const struct backend *b);  /* "ext4"; of the directory for dir: */
const char *backend_how(const struct backend *b); /* after up: "ext4 on /dev/loop3 (direct I/O) over
						     d.img, 8.0 GiB preallocated" */
/* Can it stand up here? 0, or -errno with one line that names what is missing and its Debian
 * package. Touches nothing. */
int backend_check(struct backend *b);
/* Storage made anew and mounted; an empty directory to replay in. On failure everything is undone.
 */
int backend_up(struct backend *b);
int backend_root_fd(
	const struct backend *b); /* O_PATH-less directory descriptor, borrowed; -1 for null: */
const char *backend_root_path(const struct backend *b);
/* Dirty data written, caches dropped: the next read comes from the device. 0, or -errno when the
 * caches could not be dropped (text says so). */
int backend_cold(struct backend *b);
uint64_t backend_allocated_bytes(const struct backend *b); /* on the storage below, now */
uint64_t backend_capacity_bytes(const struct backend *b);  /* free for a replay, when up */
/* For a failure while it is up: adds to the fail text that what it stands on is full, when it is (a
 * file system over a file that cannot grow says EIO). Returns err. */
int backend_explain(const struct backend *b, int err);
/* Everything that up made is gone (unless keep). Goes on past failures; returns the first. NULL and
 * a backend that is down are fine. */
int backend_down(struct backend *b);
void backend_free(struct backend *b);

/* For a visible backend that outlives the program. begin, before up, writes enough to find again
 * what a killed up leaves; leave writes what down needs, attaches the mount and lets go of it (the
 * backend is then down for this program, the storage stays). resume makes a backend of it again,
 * good for backend_down() alone: 0, or 1 when up was killed and only files of it may be left. */
int backend_begin(const struct backend *b, FILE *state);
int backend_leave(struct backend *b, FILE *state);
int backend_resume(struct backend **out, FILE *state);
/* Frees what resume gave without touching the storage. */
void backend_forget(struct backend *b);

/* `iotape backend list`: one row per kind. */
struct backend_kind_info {
	const char *kind, *what, *syntax;
	bool usable;
	char how[256]; /* by what means, or what to install */
};
size_t backend_kinds(struct backend_kind_info *rows, size_t cap);

#endif
