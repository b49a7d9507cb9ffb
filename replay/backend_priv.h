/* SPDX-License-Identifier: MIT */
/* Storage from inside: shared by backend*.c. */
#ifndef BACKEND_PRIV_H
#define BACKEND_PRIV_H

#include "iotape/backend.h"
#include "tool_priv.h"

/* backend_spec.c */
enum backend_provision { BACKEND_THIN, BACKEND_LAZY, BACKEND_EAGER };
enum backend_key {
	BACKEND_KEY_SIZE = 1,
	BACKEND_KEY_FS = 2,
	BACKEND_KEY_PROVISION = 4,
	BACKEND_KEY_DEGRADED = 8,
	BACKEND_KEY_DELAY = 16,
	BACKEND_KEY_RATE = 32,
	BACKEND_KEY_ENGINE = 64,
};
int backend_spec_parse(struct backend *b, const char *spec);

/* backend.c */
struct backend_ops {
	const char *kind, *what, *syntax, *means; /* means: of a usable kind, for `backend list` */
	unsigned paths, keys;
	const char *default_fs;
	/* What the machine must have; paths are not looked at. NULL: nothing. */
	int (*need)(const struct backend *b);
	/* The paths of this one. Touches nothing. NULL: nothing to check. */
	int (*check)(struct backend *b);
	/* May leave things half done: backend_down() is called on failure. */
	int (*up)(struct backend *b);
	/* Of what the generic part of backend_down() does not know. NULL: nothing. */
	int (*down)(struct backend *b);
	/* The files that up makes, absolute, into paths[BACKEND_MADE_MAX]; the caller frees them.
	 * Their number. NULL: none. */
	int (*files)(const struct backend *b, char **paths);
};
extern const struct backend_ops backend_dir_ops, backend_null_ops, backend_rdm_ops,
	backend_vmdk_ops, backend_raid1_ops;
/* What a mirror leg or single disk stands on. */
struct backend_disk {
	char *path;       /* as given */
	char *image;      /* absolute; the file below the loop, or the device */
	bool device;      /* a block device, or a file that was there: stays, is wiped at down */
	struct loop loop; /* of a file */
	dev_t dev;        /* of the block device while throttled or attached; 0: none */
	char node[64];    /* "/dev/loop3"; "": not attached */
};
#define BACKEND_MADE_MAX 4
struct backend_made { /* a file to remove at down */
	char *path;   /* absolute; NULL: none */
	char id[72];  /* what tells it from another file of that name */
};
struct backend {
	const struct backend_ops *ops;
	char *name, *spec;
	struct backend_policy pol;
	char **destroy;
	/* of the spec */
	struct backend_disk disk[2];
	uint64_t size_bytes;
	bool size_given;
	const char *fs;
	enum backend_provision provision;
	bool degraded, engine_md;
	int64_t delay_ns;
	uint64_t rate_bytes;
	/* of up */
	bool resumed, unmounted; /* unmounted: it was still mounted at down */
	bool is_up, failed;      /* failed: up did not get through, so keep does not count */
	int mount_fd, root_fd;
	struct throttle_guard guard;
	char *mount_dir; /* NULL: a detached mount, seen by this process alone */
	char *root_path;
	struct backend_made made[BACKEND_MADE_MAX];
	char fs_name[32];
	char how[640];
};
/* The table of kinds, NULL-terminated. */
extern const struct backend_ops *const backend_table[];
void backend_how_add(struct backend *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* backend_disk.c */
char *backend_absolute(const char *path); /* NULL and fail text when its directory is missing */
/* Is this path usable for a new file, or as a device that may be destroyed? */
int backend_disk_check(const struct backend *b, const struct backend_disk *d);
/* Refuses a size= that nothing is made of. */
int backend_disk_check_size(const struct backend *b);
/* Makes the file (preallocated) or opens the device, and attaches it: node, dev, loop. */
int backend_disk_up(struct backend *b, struct backend_disk *d);
/* Loop over an image that is already there. */
int backend_disk_attach(struct backend *b, struct backend_disk *d, uint64_t offset, uint64_t size);
/* "/dev/loop3 (direct I/O) over d.img, 8.0 GiB preallocated" added to how. */
void backend_disk_how(struct backend *b, const struct backend_disk *d);
int backend_disk_detach(struct backend_disk *d, bool wipe);
/* backend_ops.files of kinds whose disks are files as they are named. */
int backend_disk_files(const struct backend *b, char **paths);

/* backend_file.c */
/* Refuses what is there already; says what to do when it is one of ours. */
int backend_file_absent(const struct backend *b, const char *path);
/* A new empty file, marked as ours and noted for down: its descriptor, or -errno; never a file that
 * was there. */
int backend_file_make(struct backend *b, const char *path);
/* Removes it unless another file has taken its place. */
int backend_file_remove(const struct backend_made *m);
void backend_file_keep(const struct backend_made *m); /* is the user's from now on */
void backend_files_stay_up(struct backend *b);        /* marks them as of a backend that is up */
/* Notes for down what the process pid, now gone, had made of this spec. */
void backend_files_reclaim(struct backend *b, int pid);

/* backend_space.c */
/* "8.0 GiB"; returns buf. */
const char *backend_human(char *buf, size_t cap, uint64_t bytes);
/* Space that will really be taken in the directory of path. */
int backend_space(const char *path, uint64_t need_bytes);
/* Gives a file blocks: none, unwritten ones, or zeros written. Checked afterwards by FIEMAP where
 * the file system has it. */
int backend_allocate(
	const struct backend *b, int fd, const char *path, enum backend_provision p, uint64_t size);
/* mkfs zeroes its journal by making the extents unwritten again; this makes them written. They read
 * as zeros before and after. */
int backend_zero_unwritten(const struct backend *b, int fd, const char *path, uint64_t size);

/* backend_fs.c */
int backend_need_fs(const char *fs);     /* mkfs tool and kernel support */
int backend_need_loop(const char *kind); /* root and loop devices */
/* Always a refusal, with the reason on this machine. */
int backend_need_md(void);
/* mkfs on one node, or btrfs raid1 on two (node2 not NULL). */
int backend_mkfs(const char *fs, const char *node, const char *node2);
/* Mounts node and opens an empty directory in it: mount_fd, root_fd, root_path. */
int backend_mount(struct backend *b, const char *node, bool degraded);
int backend_unmount(struct backend *b);
/* For a mount that others are to see: a directory for it, then, when that is noted, the mount. */
int backend_mount_point(struct backend *b);
int backend_attach(struct backend *b);

/* backend_raid1.c */
void backend_btrfs_forget(const char *node);

/* backend_tree.c */
/* Empties and removes directory name below dir_fd, whatever the modes, however deep. */
int backend_tree_remove(int dir_fd, const char *name);
uint64_t backend_tree_allocated(int root_fd);
/* Writes back and drops the pages of every regular file below: what a user may do. */
int backend_tree_drop_pages(int root_fd);

#endif
