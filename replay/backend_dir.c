/* SPDX-License-Identifier: MIT */
/*
 * The two kinds without a disk of their own. dir: replays in a fresh subdirectory of a directory
 * that is there, on whatever file system it has, and needs no root. null: has no storage at all;
 * what a replay costs there is the engine itself.
 */
#include "backend_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define PREFIX "iotape-replay-"

static const struct {
	unsigned long magic;
	const char *name;
} magics[] = {
	{0xEF53, "ext4"}, /* ext2 and ext3 share it, and the driver */
	{0x58465342, "xfs"},
	{0x9123683E, "btrfs"},
	{0x01021994, "tmpfs"},
	{0x794C7630, "overlay"},
	{0x6969, "nfs"},
	{0xFF534D42, "cifs"},
	{0xFE534D42, "smb2"},
	{0x2FC12FC1, "zfs"},
	{0xF2F52010, "f2fs"},
	{0x65735546, "fuse"},
};

static void name_fs(struct backend *b)
{
	struct statfs s;

	if (fstatfs(b->root_fd, &s) < 0)
		return;
	snprintf(b->fs_name, sizeof(b->fs_name), "%#lx", (unsigned long)s.f_type);
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++)
		if (magics[i].magic == ((unsigned long)s.f_type & 0xffffffff))
			snprintf(b->fs_name, sizeof(b->fs_name), "%s", magics[i].name);
}

static int dir_check(struct backend *b)
{
	const char *path = b->disk[0].path, *comma = strrchr(path, ',');
	struct stat st;

	if (stat(path, &st) < 0 && errno == ENOENT && comma && strchr(comma, '='))
		return fail(-ENOENT,
			"%s: there is no such directory (dir: takes no options like "
			"'%s')",
			path, comma + 1);
	if (stat(path, &st) < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (S_ISBLK(st.st_mode))
		return fail(-ENOTDIR, "%s is a device: write rdm:%s", path, path);
	if (!S_ISDIR(st.st_mode))
		return fail(-ENOTDIR, "%s is not a directory", path);
	if (access(path, W_OK | X_OK) < 0)
		return fail(-errno, "%s: cannot make a directory there: %s", path, strerror(errno));
	return 0;
}

/* Of runs that were kept or killed; or that run beside this one, which would disturb it. */
static unsigned others(const char *dir, const char *own)
{
	struct dirent *e;
	unsigned n = 0;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, PREFIX, strlen(PREFIX)) && strcmp(e->d_name, own);
	if (d)
		closedir(d);
	return n;
}

static int dir_up(struct backend *b)
{
	unsigned n;
	_free_ char *real = realpath(b->disk[0].path, NULL);
	char *path;

	if (!real)
		return fail(-errno, "%s: %s", b->disk[0].path, strerror(errno));
	if (asprintf(&path, "%s/" PREFIX "XXXXXX", real[1] ? real : "") < 0)
		return fail(-ENOMEM, "out of memory");
	if (!mkdtemp(path)) {
		int r = fail(-errno, "cannot make %s: %s", path, strerror(errno));

		free(path);
		return r;
	}
	b->root_path = path;
	b->root_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->root_fd < 0)
		return fail(-errno, "%s: %s", path, strerror(errno));
	name_fs(b);
	backend_how_add(b, "a fresh directory in %s on %s%s", real, b->fs_name,
		strcmp(b->fs_name, "tmpfs") ? "" : " (memory, not a device)");
	n = others(real, strrchr(path, '/') + 1);
	if (n)
		backend_how_add(b,
			"; %u other " PREFIX "* %s there: kept, left by a killed run, or in use", n,
			n > 1 ? "are" : "is");
	return 0;
}

static int dir_down(struct backend *b)
{
	if (b->root_fd >= 0)
		close(b->root_fd);
	b->root_fd = -1;
	if (!b->root_path || b->pol.keep)
		return 0;
	return backend_tree_remove(AT_FDCWD, b->root_path);
}

const struct backend_ops backend_dir_ops = {
	.kind = "dir",
	.what = "a fresh subdirectory of a directory, removed afterwards",
	.syntax = "DIR or dir:DIR",
	.means = "any file system, also without root",
	.paths = 1,
	.check = dir_check,
	.up = dir_up,
	.down = dir_down,
};

static int null_up(struct backend *b)
{
	snprintf(b->fs_name, sizeof(b->fs_name), "none");
	backend_how_add(b, "no storage at all: the cost of the engine itself");
	return 0;
}

const struct backend_ops backend_null_ops = {
	.kind = "null",
	.what = "no storage at all: the cost of the engine itself",
	.syntax = "null:",
	.means = "nothing is needed",
	.up = null_up,
};
