/* SPDX-License-Identifier: MIT */
/*
 * rdm: a whole disk with a file system straight on it, no image format between. What a raw device
 * mapping in virtual mode gives a guest. Over a file it is a loop device; SCSI commands are not
 * passed through anywhere, which `how` says.
 */
#include "backend_priv.h"

static int need(const struct backend *b)
{
	int r = backend_need_loop("rdm");

	return r < 0 ? r : backend_need_fs(b ? b->fs : "ext4");
}

static int check(struct backend *b)
{
	int r = backend_disk_check(b, &b->disk[0]);

	return r < 0 ? r : backend_disk_check_size(b);
}

static int up(struct backend *b)
{
	struct backend_disk *d = &b->disk[0];
	int r = backend_disk_up(b, d);

	if (!r)
		r = backend_mkfs(b->fs, d->node, NULL);
	if (!r)
		r = backend_mount(b, d->node, false);
	if (r < 0)
		return r;
	backend_how_add(b, "%s on ", b->fs);
	backend_disk_how(b, d);
	if (d->loop.number >= 0)
		backend_how_add(b, "; virtual-RDM-like: SCSI pass-through is not available");
	return 0;
}

const struct backend_ops backend_rdm_ops = {
	.kind = "rdm",
	.what = "a raw device, or a file standing for one, with a file system straight on it",
	.syntax = "rdm:DEVICE-OR-FILE[,size=8G][,fs=ext4|xfs|btrfs][,delay=5ms][,rate=50M]",
	.means = "loop devices (virtual-RDM-like, no SCSI pass-through) and block devices",
	.paths = 1,
	.keys = BACKEND_KEY_SIZE | BACKEND_KEY_FS | BACKEND_KEY_DELAY | BACKEND_KEY_RATE,
	.default_fs = "ext4",
	.need = need,
	.check = check,
	.up = up,
	.files = backend_disk_files,
};
