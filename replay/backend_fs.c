/* SPDX-License-Identifier: MIT */
/*
 * File systems on block devices: what the machine must have, mkfs, mount. Mounts are made with
 * fsopen/fsmount and, unless visible, never attached to a directory: such a mount lives on our
 * descriptor alone, so it vanishes with the process however that ends, and no other program is
 * disturbed. The mount options keep background work of the file system out of the timing.
 */
#include "backend_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#define REPLAY_DIR   "replay" /* an empty directory: lost+found is not in the way */
#define UNMOUNT_MS   3000
#define ATTR_DEFAULT (MOUNT_ATTR_NOATIME | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static bool in_file(const char *path, const char *word)
{
	char line[256], w[64];
	bool found = false;
	FILE *f = fopen(path, "re");

	while (f && !found && fgets(line, sizeof(line), f)) {
		char *last = strrchr(line, '\t');

		if (!last)
			last = strrchr(line, ' ');
		found = sscanf(last ? last + 1 : line, "%63s", w) == 1 && !strcmp(w, word);
	}
	if (f)
		fclose(f);
	return found;
}

int backend_need_md(void)
{
	if (in_file("/proc/devices", "md"))
		return fail(-EOPNOTSUPP,
			"md mirrors are not made by iotape: leave fs= and engine= "
			"out for a btrfs mirror, or make the md device and give it "
			"as rdm:/dev/mdN");
	return fail(-EOPNOTSUPP,
		"md is not in this kernel (no 'md' in /proc/devices): leave fs= and "
		"engine= out for a btrfs mirror");
}

int backend_need_fs(const char *fs)
{
	char tool[32];

	snprintf(tool, sizeof(tool), "mkfs.%s", fs);
	/* a module that is not loaded yet is loaded by the mount: only a kernel without modules can
	 * be told now */
	if (!in_file("/proc/filesystems", fs) && access("/proc/modules", F_OK) < 0)
		return fail(-ENODEV, "%s is not in this kernel (see /proc/filesystems)", fs);
	return run_find(tool, NULL, 0);
}

int backend_need_loop(const char *kind)
{
	if (geteuid() != 0)
		return fail(-EPERM,
			"%s: needs root: it attaches loop devices and mounts file systems", kind);
	if (access("/dev/loop-control", R_OK | W_OK) < 0)
		return fail(-ENODEV, "%s: no loop devices here (/dev/loop-control: %s)", kind,
			strerror(errno));
	return 0;
}

int backend_mkfs(const char *fs, const char *node, const char *node2)
{
	const char *ext4[] = {"mkfs.ext4", "-F", "-q", "-m", "0", "-E",
		"nodiscard,lazy_itable_init=1,lazy_journal_init=1", node, NULL};
	const char *xfs[] = {"mkfs.xfs", "-q", "-f", "-K", node, NULL};
	const char *level = node2 ? "raid1" : "single";
	const char *btrfs[] = {
		"mkfs.btrfs", "-q", "-f", "-K", "-d", level, "-m", level, node, node2, NULL};
	int r = run_tool(!strcmp(fs, "ext4") ? ext4 : !strcmp(fs, "xfs") ? xfs : btrfs);

	return r;
}

/* The kernel's own words on a failed fsconfig, else strerror. */
static int context_fail(int fd, int err, const char *node, const char *fs)
{
	char msg[256];
	ssize_t n = fd >= 0 ? read(fd, msg, sizeof(msg) - 1) : -1;

	msg[MAX(n, 0)] = '\0';
	msg[strcspn(msg, "\n")] = '\0';
	return fail(err, "cannot mount %s as %s: %s%s%s", node, fs, strerror(-err),
		n > 2 ? ": " : "", n > 2 ? msg + 2 : "");
}

static int mount_detached(const char *node, const char *fs, bool degraded)
{
	_close_ int ctx = fsopen(fs, FSOPEN_CLOEXEC);
	int m = -1;
	bool ok = ctx >= 0 && !fsconfig(ctx, FSCONFIG_SET_STRING, "source", node, 0);

	if (ok && !strcmp(fs, "ext4"))
		ok = !fsconfig(ctx, FSCONFIG_SET_FLAG, "noinit_itable", NULL, 0);
	if (ok && degraded)
		ok = !fsconfig(ctx, FSCONFIG_SET_FLAG, "degraded", NULL, 0);
	if (ok && !fsconfig(ctx, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		m = fsmount(ctx, FSMOUNT_CLOEXEC, ATTR_DEFAULT);
	return m < 0 ? context_fail(ctx, -errno, node, fs) : m;
}

int backend_mount_point(struct backend *b)
{
	const char *dir = b->pol.work_dir ? b->pol.work_dir : getenv("TMPDIR");
	char *path, *root;

	if (asprintf(&path, "%s/iotape-%s-XXXXXX", dir && *dir ? dir : "/var/tmp", b->name) < 0)
		return fail(-ENOMEM, "out of memory");
	if (!mkdtemp(path)) {
		int r = fail(-errno, "no mount point %s: %s", path, strerror(errno));

		free(path);
		return r;
	}
	b->mount_dir = path;
	if (asprintf(&root, "%s/" REPLAY_DIR, path) < 0)
		return fail(-ENOMEM, "out of memory");
	free(b->root_path);
	b->root_path = root;
	return 0;
}

int backend_attach(struct backend *b)
{
	if (move_mount(b->mount_fd, "", AT_FDCWD, b->mount_dir, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail(-errno, "cannot mount on %s: %s", b->mount_dir, strerror(errno));
	return 0;
}

int backend_mount(struct backend *b, const char *node, bool degraded)
{
	int m = mount_detached(node, b->fs, degraded);

	if (m < 0)
		return m;
	b->mount_fd = m;
	if (mkdirat(m, REPLAY_DIR, 0755) < 0)
		return fail(-errno, "cannot make a directory on %s: %s", node, strerror(errno));
	b->root_fd = openat(m, REPLAY_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->root_fd < 0)
		return fail(
			-errno, "cannot open the new directory on %s: %s", node, strerror(errno));
	if (asprintf(&b->root_path, "/proc/%d/fd/%d", (int)getpid(), b->root_fd) < 0) {
		b->root_path = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	snprintf(b->fs_name, sizeof(b->fs_name), "%s", b->fs);
	return 0;
}

int backend_unmount(struct backend *b)
{
	const struct timespec nap = {.tv_nsec = 20 * 1000 * 1000};
	int r = 0;

	if (b->root_fd >= 0)
		close(b->root_fd);
	if (b->mount_fd >= 0)
		close(b->mount_fd);
	b->root_fd = b->mount_fd = -1;
	if (!b->mount_dir)
		return 0;
	for (int ms = 0; (r = umount2(b->mount_dir, UMOUNT_NOFOLLOW)) < 0 && errno == EBUSY &&
			 ms < UNMOUNT_MS;
		ms += 20)
		nanosleep(&nap, NULL);
	b->unmounted = !r;
	if (r < 0 && errno != EINVAL && errno != ENOENT)
		return fail(-errno, "cannot unmount %s: %s%s", b->mount_dir, strerror(errno),
			errno == EBUSY ? "; end the programs that use it and try again" : "");
	if (rmdir(b->mount_dir) < 0 && errno != ENOENT)
		return fail(-errno, "cannot remove %s: %s", b->mount_dir, strerror(errno));
	free(STEAL(b->mount_dir));
	return 0;
}
