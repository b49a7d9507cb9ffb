/* SPDX-License-Identifier: MIT */
/*
 * A recording from its checks to its closed trace. Everything that can be refused is refused
 * before anything is made; the trace file is made before the mount (its header says what will be
 * mounted), and a failure takes both away again. A file that is replaced (force) stays as it was
 * until the mount stands.
 */
#include "mirror_priv.h"
#include "record_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>

static int check_fuse(void)
{
	_close_ int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return 0;
	if (errno == EACCES || errno == EPERM)
		return fail(-errno, "/dev/fuse: %s; run as root or give this user access to it",
			strerror(errno));
	return fail(-errno,
		"no FUSE on this machine (/dev/fuse: %s); as root: modprobe fuse, apt-get install "
		"fuse3",
		strerror(errno));
}

static int open_source(struct record *r, const char *source)
{
	int e;

	e = record_mount_clear_dead(source);
	if (e < 0)
		return e;
	r->source_fd = open(source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r->source_fd < 0)
		return fail(-errno, "%s: %s", source,
			errno == ENOENT    ? "no such directory"
			: errno == ENOTDIR ? "not a directory"
					   : strerror(errno));
	r->source = realpath(source, NULL);
	if (!r->source)
		return fail(-errno, "%s: %s", source, strerror(errno));
	return 0;
}

static int check_empty(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int r = 0;

	if (!d)
		return fail(-errno, "%s: %s", path,
			errno == ENOENT ? "no such directory to mount on" : strerror(errno));
	while (!r && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			r = fail(-ENOTEMPTY,
				"%s: the mount point is not empty ('%s'); give an empty directory, "
				"or none to mount over the source",
				path, e->d_name);
	closedir(d);
	return r;
}

/* The mirror must not walk into its own mount: below it works on a copy of the mounts as they are
 * now, which nobody else sees. */
static int leave_mount_out(struct record *r)
{
	int fd = (int)syscall(SYS_open_tree, r->source_fd, "",
		AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd >= 0) {
		struct mount_attr private = {.propagation = MS_PRIVATE};
		if (!syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &private,
			    sizeof(private))) {
			close(r->source_fd);
			r->source_fd = fd;
			return 0;
		}
		close(fd);
	}
	return fail(-EINVAL,
		"%s: the mount point lies inside the recorded directory; put it elsewhere, or run "
		"as "
		"root on Linux 5.12 or later",
		r->mount.path);
}

static int check_mountpoint(struct record *r, const char *path)
{
	struct stat a, b;
	int e;

	if (path) {
		e = record_mount_clear_dead(path);
		if (e < 0)
			return e;
	}
	if (!path || (!stat(path, &a) && !fstat(r->source_fd, &b) && a.st_dev == b.st_dev &&
			     a.st_ino == b.st_ino)) {
		r->mount.self = true;
		r->mount.path = realpath(path ? path : r->source, NULL);
		return r->mount.path ? 0 : fail(-errno, "%s: %s", path, strerror(errno));
	}
	e = check_empty(path);
	if (e < 0)
		return e;
	r->mount.path = realpath(path, NULL);
	if (!r->mount.path)
		return fail(-errno, "%s: %s", path, strerror(errno));
	e = record_mount_inside(r->mount.path, r->source_fd);
	return e > 0 ? leave_mount_out(r) : e;
}

/* Where the trace goes must be neither in the source nor below the mount point. */
static int check_trace_place(struct record *r, const char *path)
{
	_free_ char *dir = strdup(path);
	_close_ int mnt = open(r->mount.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	int in;

	if (!dir)
		return fail(-ENOMEM, "out of memory");
	if (slash)
		slash[slash == dir] = 0;
	in = record_mount_inside(slash ? dir : ".", r->source_fd);
	if (!in)
		in = record_mount_inside(slash ? dir : ".", mnt);
	if (in > 0)
		return fail(-EINVAL,
			"%s: the trace must not lie inside the recorded directory; name a file "
			"elsewhere with -o",
			path);
	return in < 0 ? fail(in, "%s: cannot create the trace: %s", path, strerror(-in)) : 0;
}

static int create_trace(struct record *r, const char *path, bool force)
{
	struct stat st;
	int fd;

	if (!strcmp(path, "-")) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? fail(-errno, "standard output: %s", strerror(errno)) : fd;
	}
	if (force && !stat(path, &st) && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? fail(-errno, "%s: %s", path, strerror(errno)) : fd;
	}
	r->trace_path = strdup(path);
	if (!r->trace_path ||
		asprintf(&r->made_path, force ? "%s.new-%d" : "%s", path, (int)getpid()) < 0) {
		r->made_path = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	fd = open(r->made_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0)
		return fd;
	free(STEAL(r->made_path));
	if (errno == EEXIST)
		return fail(-EEXIST, "%s: the file exists; --force replaces it", path);
	return fail(-errno, "%s: cannot create the trace: %s", path, strerror(errno));
}

/* Strings are borrowed: the header is written at once. */
static int open_log(struct record *r, const struct record_opts *o, const char *mount_options)
{
	static const char *const contents[] = {"none", "summary", "full"};
	struct timespec wall;
	struct utsname uts;
	struct statvfs vfs;
	char fs_type[64];
	struct trace_header h = {
		.recorder = (char *)"iotape " IOTAPE_VERSION,
		.source_kind = (char *)"record",
		.view = (char *)(o->view == RECORD_VIEW_STORAGE ? "storage" : "app"),
		.libfuse = (char *)fuse_pkgversion(),
		.mount_options = (char *)mount_options,
		.fs_type = fs_type,
		.command = (char *)o->command,
		.content = (char *)contents[o->content],
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.start_mono_ns = r->start_ns,
		.level = o->level,
	};
	int fd, e;

	if (!uname(&uts))
		h.host_kernel = uts.release;
	if (!fstatvfs(r->source_fd, &vfs)) {
		h.fs_free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
		h.fs_total_bytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
	}
	record_mount_fs_type(r->source_fd, fs_type, sizeof(fs_type));
	clock_gettime(CLOCK_REALTIME, &wall);
	h.start_wall_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec;
	fd = create_trace(r, o->trace_path, o->force);
	if (fd < 0)
		return fd;
	e = queue_log_open(&r->log, fd, &h, o->max_bytes);
	if (e < 0) {
		close(fd);
		return fail(e, "%s: cannot write the trace: %s", o->trace_path, strerror(-e));
	}
	return queue_new(&r->queue, r->log, r->start_ns);
}

static int mount_it(struct record *r, const struct record_opts *o, const char *opts)
{
	char *argv[] = {(char *)"iotape", (char *)"-o", NULL, NULL};
	struct fuse_args args = {3, argv, 0};
	_free_ char *lib_opts = NULL;
	struct statvfs vfs;
	unsigned long flags = 0;
	int e;

	/* what the mount below forbids stays forbidden; devices and set-id bits are as there */
	if (!fstatvfs(r->source_fd, &vfs))
		flags = vfs.f_flag & (ST_NOSUID | ST_NODEV | ST_NOEXEC);
	if (asprintf(&lib_opts, "subtype=iotape,fsname=iotape,%s", opts) < 0)
		return fail(-ENOMEM, "out of memory");
	argv[2] = lib_opts;
	e = fs_new(&r->fs, r->source_fd, r->queue, o->view, o->content != RECORD_CONTENT_NONE);
	if (e < 0)
		return e;
	r->session = fuse_session_new(&args, &mirror_ops, sizeof(mirror_ops), r->fs);
	fuse_opt_free_args(&args);
	if (!r->session)
		return fail(-EINVAL, "libfuse refuses the mount options '%s'", lib_opts);
	e = record_mount_up(&r->mount, r->session, r->source, opts, flags);
	if (e < 0)
		return e;
	r->fs->session = r->session;
	return fs_init_session(r->fs, r->session);
}

static void release(struct record *r)
{
	if (r->session)
		fuse_session_destroy(r->session);
	fs_free(r->fs);
	queue_free(r->queue);
	queue_log_close(r->log);
	if (r->source_fd >= 0)
		close(r->source_fd);
	if (r->stop_fd >= 0)
		close(r->stop_fd);
	if (r->done_fd >= 0)
		close(r->done_fd);
	free(r->mount.path);
	free(r->source);
	free(r->trace_path);
	free(r->made_path);
	free(r);
}

static int open_all(struct record *r, const struct record_opts *o)
{
	const char *opts =
		o->allow_other ? "default_permissions,allow_other" : "default_permissions";
	int e;

	r->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->stop_fd < 0 || r->done_fd < 0)
		return fail(-errno, "eventfd: %s", strerror(errno));
	e = open_source(r, o->source);
	if (!e)
		e = check_fuse();
	if (!e)
		e = check_mountpoint(r, o->mountpoint);
	if (!e && o->trace_path && strcmp(o->trace_path, "-") != 0)
		e = check_trace_place(r, o->trace_path);
	if (!e && o->trace_path)
		e = open_log(r, o, opts);
	if (!e)
		e = mount_it(r, o, opts);
	if (!e && r->made_path && strcmp(r->made_path, r->trace_path) &&
		rename(r->made_path, r->trace_path))
		e = fail(-errno, "%s: %s", r->trace_path, strerror(errno));
	return e;
}

int record_open(struct record **out, const struct record_opts *o)
{
	struct record *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return fail(-ENOMEM, "out of memory");
	r->source_fd = r->stop_fd = r->done_fd = -1;
	r->snapshot_full = o->snapshot_full;
	r->start_ns = util_now_ns();
	e = open_all(r, o);
	if (!e) {
		*out = r;
		return 0;
	}
	record_mount_down(&r->mount, true);
	if (r->made_path)
		unlink(r->made_path);
	release(r);
	return e;
}

int record_close(struct record *r, struct record_stats *st)
{
	struct record_stats own;
	const char *reason = atomic_load(&r->reason);
	int e;

	if (!st)
		st = &own;
	memset(st, 0, sizeof(*st));
	e = record_mount_down(&r->mount, false);
	if (e == -EBUSY) {
		r->busy = true;
		e = record_mount_down(&r->mount, true);
	}
	st->dur_ns = util_now_ns() - r->start_ns;
	st->busy = r->busy;
	st->cut = r->cut;
	st->reason = reason ? reason : "unmounted";
	st->read_bytes = atomic_load(&r->fs->read_bytes);
	st->write_bytes = atomic_load(&r->fs->write_bytes);
	if (r->queue) {
		queue_stop(r->queue);
		queue_counts(r->queue, &st->drops, &st->stalls, &st->stall_ns);
		queue_log_finish(r->log, st->reason, st);
	}
	if (!r->stuck)
		release(r);
	return e;
}
