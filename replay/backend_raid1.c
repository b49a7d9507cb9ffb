/* SPDX-License-Identifier: MIT */
/*
 * raid1: a mirror over two disks by btrfs, for data and metadata. md would be the other engine; it
 * is refused with the reason. "degraded" takes the second leg away before anything is replayed.
 * The fair baseline is btrfs on one disk (rdm:...,fs=btrfs), not ext4: copy-on-write and checksums
 * cost about as much as the mirroring.
 */
#include "backend_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

static int btrfs_control(unsigned long request, const char *node)
{
	struct btrfs_ioctl_vol_args args = {0};
	_close_ int fd = open("/dev/btrfs-control", O_RDWR | O_CLOEXEC);

	snprintf(args.name, sizeof(args.name), "%s", node);
	if (fd < 0 || ioctl(fd, request, &args) < 0)
		return -errno;
	return 0;
}

static int btrfs_scan(const char *node)
{
	int r = btrfs_control(BTRFS_IOC_SCAN_DEV, node);

	return r < 0 ? fail(r, "btrfs does not find %s: %s", node, strerror(-r)) : 0;
}

/* The kernel remembers the members of a file system that it has seen; a number that is used again
 * must not meet that memory. */
void backend_btrfs_forget(const char *node)
{
	btrfs_control(BTRFS_IOC_FORGET_DEV, node);
}

static int need(const struct backend *b)
{
	int r;

	if (b && (b->engine_md || strcmp(b->fs, "btrfs")))
		return backend_need_md();
	r = backend_need_loop("raid1");
	return r < 0 ? r : backend_need_fs("btrfs");
}

/* The device number of the file system that the path, or the file to be made there, is on; 0 for a
 * device. */
static dev_t place(const struct backend_disk *d)
{
	_free_ char *abs = backend_absolute(d->path);
	struct stat st;
	char *slash;

	if (!abs || (!stat(abs, &st) && !S_ISREG(st.st_mode)))
		return 0;
	slash = strrchr(abs, '/');
	slash[slash == abs] = '\0';
	return stat(abs, &st) < 0 ? 0 : st.st_dev;
}

static bool same(const struct stat *a, const struct stat *b)
{
	if (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode))
		return a->st_rdev == b->st_rdev;
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

static int check(struct backend *b)
{
	_free_ char *a0 = backend_absolute(b->disk[0].path);
	_free_ char *a1 = a0 ? backend_absolute(b->disk[1].path) : NULL;
	struct stat s0, s1;
	dev_t p0;
	int r;

	if (!a1)
		return -ENOENT;
	if (!strcmp(a0, a1) || (!stat(a0, &s0) && !stat(a1, &s1) && same(&s0, &s1)))
		return fail(-EINVAL, "raid1: both legs are %s: a mirror needs two", a0);
	r = backend_disk_check(b, &b->disk[0]);
	if (!r)
		r = backend_disk_check(b, &b->disk[1]);
	if (!r)
		r = backend_disk_check_size(b);
	p0 = place(&b->disk[0]);
	if (!r && p0 && p0 == place(&b->disk[1]))
		r = backend_space(b->disk[0].path, 2 * b->size_bytes);
	return r;
}

/* Leg B is gone as far as the kernel knows. */
static int drop_leg(struct backend *b)
{
	char node[64];
	int r;

	memcpy(node, b->disk[1].node, sizeof(node));
	backend_btrfs_forget(node);
	r = backend_disk_detach(&b->disk[1], b->disk[1].device);
	backend_btrfs_forget(node);
	return r;
}

static int up(struct backend *b)
{
	struct backend_disk *a = &b->disk[0], *z = &b->disk[1];
	int r = backend_disk_up(b, a);

	if (!r)
		r = backend_disk_up(b, z);
	if (!r)
		r = backend_mkfs("btrfs", a->node, z->node);
	if (r < 0)
		return r;
	backend_how_add(b, "btrfs raid1 over ");
	backend_disk_how(b, a);
	backend_how_add(b, " and ");
	backend_disk_how(b, z);
	if (b->degraded) {
		r = drop_leg(b);
		backend_how_add(b, "; degraded: the second was taken away");
	} else {
		r = btrfs_scan(z->node);
	}
	if (!r)
		r = backend_mount(b, a->node, b->degraded);
	if (!r && place(a) && place(a) == place(z))
		backend_how_add(b, "; both legs are on one disk: every write goes there twice");
	return r;
}

const struct backend_ops backend_raid1_ops = {
	.kind = "raid1",
	.what = "a software mirror over two devices or files",
	.syntax = "raid1:A,B[,size=8G][,fs=btrfs][,degraded][,delay=5ms][,rate=50M]",
	.means = "btrfs raid1 over two loop devices (or block devices)",
	.paths = 2,
	.keys = BACKEND_KEY_SIZE | BACKEND_KEY_FS | BACKEND_KEY_DEGRADED | BACKEND_KEY_ENGINE |
		BACKEND_KEY_DELAY | BACKEND_KEY_RATE,
	.default_fs = "btrfs",
	.need = need,
	.check = check,
	.up = up,
	.files = backend_disk_files,
};
