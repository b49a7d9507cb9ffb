/* SPDX-License-Identifier: MIT */
/*
 * The mount itself: made by mount(2) when allowed, else by fusermount3 through libfuse, and taken
 * away only after /proc/self/mountinfo says that what lies on top at the path is ours. libfuse's
 * own unmount goes by the path alone, which for a mount over the source itself may be another's.
 */
#include "record_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

struct mount_line {
	int id;
	unsigned minor;
	char point[PATH_MAX], type[64];
};

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	}
	*to = 0;
}

/* "id parent major:minor root point options [optional...] - type source options" */
static bool parse_line(char *line, struct mount_line *m)
{
	char *save = NULL, *f = strtok_r(line, " ", &save);

	for (int i = 0; f && i < 5; i++, f = strtok_r(NULL, " ", &save)) {
		if (i == 0)
			m->id = atoi(f);
		if (i == 2)
			m->minor = (unsigned)strtoul(f + strcspn(f, ":") + 1, NULL, 10);
		if (i == 4) {
			if (strlen(f) >= sizeof(m->point))
				return false;
			strcpy(m->point, f);
			unescape(m->point);
		}
	}
	while (f && strcmp(f, "-"))
		f = strtok_r(NULL, " ", &save);
	f = f ? strtok_r(NULL, " ", &save) : NULL;
	if (!f)
		return false;
	snprintf(m->type, sizeof(m->type), "%s", f);
	return true;
}

/* The topmost mount at path (NULL: any) with this id (0: any). */
static bool find_mount(const char *path, int id, struct mount_line *found)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	_free_ char *line = NULL;
	size_t cap = 0;
	bool any = false;
	struct mount_line m;

	if (!f)
		return false;
	while (getline(&line, &cap, f) > 0) {
		if (!parse_line(line, &m) || (path && strcmp(path, m.point)) || (id && id != m.id))
			continue;
		*found = m;
		any = true;
	}
	fclose(f);
	return any;
}

static int fusermount(const char *path, bool lazy)
{
	const char *argv[] = {"fusermount3", "-u", "-q", lazy ? "-z" : "-q", "--", path, NULL};
	extern char **environ;
	int status = -1;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char **)argv, environ))
		return fail(-ENOENT, "cannot run fusermount3 (apt-get install fuse3)");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? 0 : -EBUSY;
}

static int unmount(const char *path, bool lazy)
{
	if (!umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)))
		return 0;
	if (errno == EPERM)
		return fusermount(path, lazy);
	return errno == EINVAL ? 0 : -errno;
}

int record_mount_clear_dead(const char *path)
{
	struct stat st;
	struct mount_line m;
	char parent[PATH_MAX], abs[PATH_MAX * 2];

	if (!stat(path, &st) || (errno != ENOTCONN && errno != ECONNABORTED))
		return 0;
	/* what is dead cannot be resolved: its parent can */
	snprintf(abs, sizeof(abs), "%s", path);
	size_t n = strlen(abs);
	while (n > 1 && abs[n - 1] == '/')
		abs[--n] = 0;
	char *slash = strrchr(abs, '/');
	const char *base = slash ? slash + 1 : abs;
	_free_ char *name = strdup(base);
	if (!name)
		return fail(-ENOMEM, "out of memory");
	if (slash)
		*(slash == abs ? slash + 1 : slash) = 0;
	if (!realpath(slash ? abs : ".", parent))
		return fail(-errno, "%s: %s", path, strerror(errno));
	snprintf(abs, sizeof(abs), "%s/%s", strcmp(parent, "/") ? parent : "", name);
	if (find_mount(abs, 0, &m) && !strcmp(m.type, "fuse.iotape") && !unmount(abs, true) &&
		(!stat(path, &st) || errno != ENOTCONN))
		return 0;
	return fail(-ENOTCONN,
		"%s: a mount whose server is gone is in the way; clear it with: umount -l '%s'",
		path, abs);
}

static int mount_as_root(struct record_mount *m, struct fuse_session *se, const char *fsname,
	const char *opts, unsigned long flags)
{
	char data[512], dev[32];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	snprintf(data, sizeof(data), "fd=%d,rootmode=40000,user_id=%u,group_id=%u%s%s", fd,
		(unsigned)getuid(), (unsigned)getgid(), *opts ? "," : "", opts);
	if (mount(fsname, m->path, "fuse.iotape", flags, data)) {
		int e = errno;
		close(fd);
		return -e;
	}
	snprintf(dev, sizeof(dev), "/dev/fd/%d", fd);
	if (fuse_session_mount(se, dev)) {
		umount2(m->path, MNT_DETACH);
		close(fd);
		return -EIO;
	}
	return 0;
}

int record_mount_up(struct record_mount *m, struct fuse_session *se, const char *fsname,
	const char *opts, unsigned long flags)
{
	struct mount_line line;
	int r = mount_as_root(m, se, fsname, opts, flags);

	if (r == -EPERM && geteuid() != 0)
		r = fuse_session_mount(se, m->path) ? -EPERM : 0;
	if (r < 0)
		return fail(r, "%s: cannot mount: %s", m->path, strerror(-r));
	if (!find_mount(m->path, 0, &line)) {
		unmount(m->path, true);
		return fail(-EIO, "%s: the mount is not in /proc/self/mountinfo", m->path);
	}
	m->id = line.id;
	m->minor = line.minor;
	m->dev_fd = fuse_session_fd(se);
	return 0;
}

/* The kernel gives a mount's id to the next one at once, so once the connection is gone the id says
 * nothing: ours is still there only if it was aborted, and then it is dead. */
static bool still_ours(const struct record_mount *m, const struct mount_line *line)
{
	struct pollfd p = {m->dev_fd, POLLIN, 0};
	struct stat st;

	if (poll(&p, 1, 0) >= 0 && !(p.revents & (POLLERR | POLLNVAL)))
		return true;
	return !strcmp(line->type, "fuse.iotape") && !strcmp(line->point, m->path) &&
	       stat(m->path, &st) && errno == ENOTCONN;
}

int record_mount_down(struct record_mount *m, bool lazy)
{
	struct mount_line top;
	int r;

	if (!m->id || !find_mount(NULL, m->id, &top) || !still_ours(m, &top)) {
		m->id = 0;
		return 0;
	}
	/* moved by someone: its path is where it is now */
	if (find_mount(top.point, 0, &top) && top.id != m->id)
		return fail(-EBUSY, "%s: another file system is mounted on top", top.point);
	r = unmount(top.point, lazy);
	if (!r)
		m->id = 0;
	return r;
}

/* A control of the connection. Where nobody has mounted their file system, a mount of it that
 * nobody else sees. */
static int open_control(const struct record_mount *m, const char *name, int flags)
{
	_close_ int conf = -1, dir = -1;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/%s", m->minor, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	conf = fsopen("fusectl", FSOPEN_CLOEXEC);
	if (conf < 0 || fsconfig(conf, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	dir = fsmount(conf, FSMOUNT_CLOEXEC, 0);
	snprintf(path, sizeof(path), "%u/%s", m->minor, name);
	return dir < 0 ? -1 : openat(dir, path, flags | O_CLOEXEC);
}

/* Every descriptor of /dev/fuse becomes one of /dev/null: without any the kernel aborts. */
static int drop_devices(void)
{
	_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	DIR *d = opendir("/proc/self/fd");
	char to[32];
	struct dirent *e;
	ssize_t n;

	if (null < 0 || !d) {
		if (d)
			closedir(d);
		return -EMFILE;
	}
	while ((e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);
		to[MAX(n, 0)] = 0;
		if (!strcmp(to, "/dev/fuse"))
			dup3(null, atoi(e->d_name), O_CLOEXEC);
	}
	closedir(d);
	return 0;
}

int record_mount_abort(const struct record_mount *m, uint64_t *cut)
{
	_close_ int waiting = open_control(m, "waiting", O_RDONLY);
	_close_ int abort = open_control(m, "abort", O_WRONLY);
	char text[32];
	ssize_t n = waiting < 0 ? 0 : read(waiting, text, sizeof(text) - 1);

	text[MAX(n, 0)] = 0;
	*cut = strtoull(text, NULL, 10);
	return abort >= 0 && write(abort, "1", 1) == 1 ? 0 : drop_devices();
}

void record_mount_fs_type(int fd, char *type, size_t cap)
{
	struct statx sx;
	struct mount_line m;

	type[0] = 0;
	if (!statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) && (sx.stx_mask & STATX_MNT_ID) &&
		find_mount(NULL, (int)sx.stx_mnt_id, &m))
		snprintf(type, cap, "%s", m.type);
}

int record_mount_inside(const char *dir, int fd)
{
	struct stat want, st, up;
	int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (at < 0)
		return fail(-errno, "%s: %s", dir, strerror(errno));
	if (fstat(fd, &want) || fstat(at, &st))
		r = -errno;
	while (!r) {
		if (st.st_dev == want.st_dev && st.st_ino == want.st_ino) {
			r = 1;
			break;
		}
		int next = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next < 0 || fstat(next, &up)) {
			r = -errno;
			break;
		}
		close(at);
		at = next;
		if (up.st_dev == st.st_dev && up.st_ino == st.st_ino)
			break; /* the root */
		st = up;
	}
	close(at);
	return r < 0 ? fail(r, "%s: %s", dir, strerror(-r)) : r;
}
