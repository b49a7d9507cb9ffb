/* SPDX-License-Identifier: MIT */
/*
 * vmdk: a virtual disk file in between. Descriptor and flat extent are made by qemu-img; the extent
 * then gets the blocks of its provisioning (thin: none, lazy: unwritten, eager: zeros written),
 * because qemu-img accepts preallocation= for vmdk and ignores it. A loop device over the extent
 * that the descriptor names is the disk: no daemon, native speed, as a datastore file is used.
 */
#include "backend_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".vmdk"

static const char *const provision_name[] = {"thin", "lazily zeroed", "eagerly zeroed"};

static int need(const struct backend *b)
{
	int r = backend_need_loop("vmdk");

	if (!r)
		r = run_find("qemu-img", NULL, 0);
	return r < 0 ? r : backend_need_fs(b ? b->fs : "ext4");
}

/* "d.vmdk" to "d-flat.vmdk" */
static char *flat_name(const char *path)
{
	size_t n = strlen(path) - strlen(SUFFIX);
	char *out;

	if (asprintf(&out, "%.*s-flat" SUFFIX, (int)n, path) < 0) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	return out;
}

static int check(struct backend *b)
{
	_free_ char *abs = backend_absolute(b->disk[0].path);
	_free_ char *flat = NULL;
	const char *base;
	size_t n;
	int r;

	if (!abs)
		return -ENOENT;
	base = strrchr(abs, '/') + 1;
	n = strlen(base);
	if (n <= strlen(SUFFIX) || strcmp(base + n - strlen(SUFFIX), SUFFIX))
		return fail(-EINVAL, "%s: the name of a virtual disk ends in .vmdk", abs);
	if (strpbrk(base, "\"\n\r"))
		return fail(
			-EINVAL, "%s: no quotes or line ends in the name of a virtual disk", abs);
	flat = flat_name(abs);
	if (!flat)
		return -ENOMEM;
	r = backend_file_absent(b, abs);
	if (!r)
		r = backend_file_absent(b, flat);
	return r < 0 ? r : backend_space(abs, b->provision == BACKEND_THIN ? 0 : b->size_bytes);
}

/* The one extent of a descriptor: RW <sectors> FLAT "<file>" <offset> */
static int parse_descriptor(
	const char *path, char *file, size_t cap, uint64_t *sectors, uint64_t *offset)
{
	char line[1024], name[512];
	unsigned found = 0;
	unsigned long long n, at;
	FILE *f = fopen(path, "re");

	if (!f)
		return fail(-errno, "%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "RW %llu FLAT \"%511[^\"]\" %llu", &n, name, &at) == 3) {
			found++;
			*sectors = n;
			*offset = at;
			snprintf(file, cap, "%s", name);
		} else if (!strncmp(line, "RW ", 3)) {
			found += 2;
		}
	}
	fclose(f);
	if (found != 1 || strchr(file, '/') || !*sectors)
		return fail(-EBADMSG, "%s: not the descriptor of one flat extent", path);
	return 0;
}

/* Both names are taken before qemu-img, which overwrites whatever it finds, gets to see them. */
static int make_files(struct backend *b, const char *vmdk)
{
	char size[32];
	const char *argv[] = {"qemu-img", "create", "-q", "-f", "vmdk", "-o",
		"subformat=monolithicFlat,adapter_type=lsilogic", vmdk, size, NULL};
	_free_ char *flat = flat_name(vmdk);
	_close_ int fd = flat ? backend_file_make(b, vmdk) : -ENOMEM;
	_close_ int flat_fd = fd < 0 ? fd : backend_file_make(b, flat);

	snprintf(size, sizeof(size), "%llu", (unsigned long long)b->size_bytes);
	return flat_fd < 0 ? flat_fd : run_tool(argv);
}

static int files(const struct backend *b, char **paths)
{
	paths[0] = backend_absolute(b->disk[0].path);
	paths[1] = paths[0] ? flat_name(paths[0]) : NULL;
	return paths[1] ? 2 : !!paths[0];
}

static int up(struct backend *b)
{
	struct backend_disk *d = &b->disk[0];
	_free_ char *vmdk = backend_absolute(d->path);
	char file[512], human[32];
	uint64_t sectors = 0, offset = 0;
	int r;
	_close_ int fd = -1;

	if (!vmdk)
		return -ENOENT;
	r = make_files(b, vmdk);
	if (!r)
		r = parse_descriptor(vmdk, file, sizeof(file), &sectors, &offset);
	if (r < 0)
		return r;
	free(d->image);
	if (asprintf(&d->image, "%.*s/%s", (int)(strrchr(vmdk, '/') - vmdk), vmdk, file) < 0) {
		d->image = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	fd = open(d->image, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(-errno, "%s: %s", d->image, strerror(errno));
	r = backend_allocate(b, fd, d->image, b->provision, sectors * 512 + offset * 512);
	if (!r)
		r = backend_disk_attach(b, d, offset * 512, sectors * 512);
	if (!r)
		r = backend_mkfs(b->fs, d->node, NULL);
	if (!r && b->provision == BACKEND_EAGER)
		r = backend_zero_unwritten(b, fd, d->image, (sectors + offset) * 512);
	if (!r)
		r = backend_mount(b, d->node, false);
	if (r < 0)
		return r;
	backend_how_add(b, "%s on %s (%s) over the extent of %s, monolithicFlat, %s %s", b->fs,
		d->node, d->loop.direct ? "direct I/O" : "buffered", vmdk,
		backend_human(human, sizeof(human), b->size_bytes), provision_name[b->provision]);
	return 0;
}

const struct backend_ops backend_vmdk_ops = {
	.kind = "vmdk",
	.what = "a virtual disk file (thin, lazily or eagerly zeroed) in between",
	.syntax = "vmdk:FILE.vmdk[,size=8G][,provision=thin|lazy|eager][,fs=ext4|xfs|btrfs]"
		  "[,delay=5ms][,rate=50M]",
	.means = "qemu-img makes it, a loop device over its flat extent is the disk",
	.paths = 1,
	.keys = BACKEND_KEY_SIZE | BACKEND_KEY_FS | BACKEND_KEY_PROVISION | BACKEND_KEY_DELAY |
		BACKEND_KEY_RATE,
	.default_fs = "ext4",
	.need = need,
	.check = check,
	.up = up,
	.files = files,
};
