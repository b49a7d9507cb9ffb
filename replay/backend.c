/* SPDX-License-Identifier: MIT */
/*
 * A backend from its spec to its end: checked, up, cold, measured, down. Kinds differ in their ops
 * (backend_dir.c, _rdm.c, _vmdk.c, _raid1.c); everything that can be undone in the same way for all
 * of them is undone here, in one order: throttles, mount, disks, files. down copes with any half of
 * up, which is how a failure in the middle of up is undone.
 */
#include "backend_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

const struct backend_ops *const backend_table[] = {
	&backend_dir_ops,
	&backend_rdm_ops,
	&backend_vmdk_ops,
	&backend_raid1_ops,
	&backend_null_ops,
	NULL,
};

static int copy_policy(struct backend *b, const struct backend_policy *pol)
{
	size_t n = 0;

	if (!pol)
		return 0;
	b->pol = *pol;
	while (pol->destroy && pol->destroy[n])
		n++;
	b->destroy = calloc(n + 1, sizeof(*b->destroy));
	b->pol.destroy = NULL;
	b->pol.work_dir = pol->work_dir ? strdup(pol->work_dir) : NULL;
	if (!b->destroy || (pol->work_dir && !b->pol.work_dir))
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		b->destroy[i] = strdup(pol->destroy[i]);
		if (!b->destroy[i])
			return fail(-ENOMEM, "out of memory");
	}
	return 0;
}

int backend_new(struct backend **out, const char *spec, const struct backend_policy *pol)
{
	struct backend *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return fail(-ENOMEM, "out of memory");
	b->mount_fd = b->root_fd = b->guard.fd = -1;
	b->disk[0].loop = b->disk[1].loop = LOOP_NONE;
	r = copy_policy(b, pol);
	if (!r)
		r = backend_spec_parse(b, spec);
	if (r < 0) {
		backend_free(b);
		return r;
	}
	*out = b;
	return 0;
}

const char *backend_name(const struct backend *b)
{
	return b->name;
}

const char *backend_kind(const struct backend *b)
{
	return b->ops->kind;
}

const char *backend_spec(const struct backend *b)
{
	return b->spec;
}

const char *backend_fs(const struct backend *b)
{
	return b->fs_name[0] ? b->fs_name : b->fs ? b->fs : "";
}

const char *backend_how(const struct backend *b)
{
	return b->how;
}

void backend_how_add(struct backend *b, const char *fmt, ...)
{
	size_t n = strlen(b->how);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b->how + n, sizeof(b->how) - n, fmt, ap);
	va_end(ap);
}

int backend_root_fd(const struct backend *b)
{
	return b->root_fd;
}

const char *backend_root_path(const struct backend *b)
{
	return b->root_path;
}

int backend_check(struct backend *b)
{
	int r = b->ops->need ? b->ops->need(b) : 0;

	if (!r && (b->rate_bytes || b->delay_ns))
		r = backend_throttle_need();
	if (!r && b->ops->check)
		r = b->ops->check(b);
	return r;
}

static int throttle(struct backend *b)
{
	const dev_t devs[] = {b->disk[0].dev, b->disk[1].dev};
	char rate[32];
	int r = 0;

	if (!b->rate_bytes && !b->delay_ns)
		return 0;
	r = backend_throttle_guard(&b->guard, devs, ARRAY_SIZE(devs));
	for (size_t i = 0; !r && i < ARRAY_SIZE(b->disk); i++)
		if (b->disk[i].dev)
			r = backend_throttle_set(b->disk[i].dev, b->rate_bytes, b->delay_ns);
	if (b->rate_bytes)
		backend_how_add(b, "; at most %s/s each way",
			backend_human(rate, sizeof(rate), b->rate_bytes));
	if (b->delay_ns)
		backend_how_add(b, "; at most %lld I/Os a second each way (%.3g ms apart)",
			MAX(1000000000ll / b->delay_ns, 1), (double)b->delay_ns / 1e6);
	return r;
}

#define FULL_BYTES ((uint64_t)4 << 20) /* less than this is left: that is why */

int backend_explain(const struct backend *b, int err)
{
	_free_ char *was = strdup(fail_text()), *dir = NULL;
	char left[32];
	struct statvfs v;
	uint64_t avail;
	const char *path = b->made[0].path ? b->made[0].path : b->root_path;

	if (err == -EINTR || !was || !path || (b->ops != &backend_dir_ops && !b->made[0].path))
		return err;
	dir = strndup(path, strrchr(path, '/') - path);
	if (!dir || statvfs(*dir ? dir : "/", &v) < 0)
		return err;
	avail = (uint64_t)v.f_bavail * v.f_frsize;
	if (avail >= FULL_BYTES)
		return err;
	return fail(err, "%s; %s, where it stands, has %s left: give it a place with more room",
		was, *dir ? dir : "/", backend_human(left, sizeof(left), avail));
}

int backend_up(struct backend *b)
{
	char text[1024];
	int r;

	if (b->is_up)
		return fail(-EBUSY, "backend %s is up already", b->name);
	r = backend_check(b);
	if (r < 0)
		return fail_in(r, "backend %s", b->name);
	b->how[0] = b->fs_name[0] = '\0';
	b->is_up = true;
	r = b->ops->up(b);
	if (!r)
		r = throttle(b);
	if (!r && b->pol.stop && *b->pol.stop)
		r = fail(-EINTR, "stopped");
	if (!r)
		return 0;
	backend_explain(b, r);
	snprintf(text, sizeof(text), "backend %s: %s", b->name, fail_text());
	b->failed = true;
	backend_down(b);
	b->failed = false;
	return fail(r, "%s", text);
}

int backend_cold(struct backend *b)
{
	int r;
	_close_ int fd = -1;

	if (b->root_fd < 0)
		return 0;
	if (syncfs(b->root_fd) < 0)
		return fail(-errno, "%s: cannot write its data back: %s", b->name, strerror(errno));
	fd = open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "3\n", 2) == 2)
		return 0;
	r = backend_tree_drop_pages(b->root_fd);
	return r < 0 ? fail_in(r, "%s", b->name) : 0;
}

uint64_t backend_allocated_bytes(const struct backend *b)
{
	struct statvfs v;
	struct stat st;
	uint64_t sum = 0;
	bool images = false;

	for (size_t i = 0; i < BACKEND_MADE_MAX; i++)
		if (b->made[i].path && !stat(b->made[i].path, &st)) {
			sum += (uint64_t)st.st_blocks * 512;
			images = true;
		}
	if (images || b->root_fd < 0)
		return sum;
	if (b->ops == &backend_dir_ops)
		return backend_tree_allocated(b->root_fd);
	if (fstatvfs(b->root_fd, &v) < 0)
		return 0;
	return (uint64_t)(v.f_blocks - v.f_bfree) * v.f_frsize;
}

uint64_t backend_capacity_bytes(const struct backend *b)
{
	struct statvfs v;
	uint64_t inner;

	if (b->ops == &backend_null_ops)
		return UINT64_MAX;
	if (b->root_fd < 0 || fstatvfs(b->root_fd, &v) < 0)
		return 0;
	inner = (uint64_t)v.f_bavail * v.f_frsize;
	/* a thin disk has no more than what is left below it */
	if (b->ops == &backend_vmdk_ops && b->provision == BACKEND_THIN && b->made[0].path &&
		!statvfs(b->made[0].path, &v))
		inner = MIN(inner, (uint64_t)v.f_bavail * v.f_frsize);
	return inner;
}

static void note(int r, int *first, char *text, size_t cap)
{
	if (r >= 0 || *first < 0)
		return;
	*first = r;
	snprintf(text, cap, "%s", fail_text());
}

static void forget_files(
	struct backend *b, bool keep, bool gone, int *first, char *text, size_t cap)
{
	for (size_t i = 0; i < BACKEND_MADE_MAX; i++) {
		struct backend_made *m = &b->made[i];

		if (m->path && keep)
			backend_file_keep(m);
		else if (m->path && gone)
			note(backend_file_remove(m), first, text, cap);
		free(STEAL(m->path));
	}
}

int backend_down(struct backend *b)
{
	bool mounted, keep, wipe;
	char text[1024] = "";
	int first = 0;

	if (!b || !b->is_up)
		return 0;
	keep = b->pol.keep && !b->failed;
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++)
		if (b->disk[i].dev)
			backend_throttle_reset(b->disk[i].dev);
	backend_throttle_unguard(&b->guard);
	if (b->ops->down)
		note(b->ops->down(b), &first, text, sizeof(text));
	if (keep && b->mount_dir)
		free(STEAL(b->mount_dir)); /* the visible mount stays */
	note(backend_unmount(b), &first, text, sizeof(text));
	mounted = b->mount_dir || (keep && b->pol.visible);
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++) {
		struct backend_disk *d = &b->disk[i];

		if (mounted) { /* held by the mount: let go, do not wait or wipe */
			if (d->loop.fd >= 0)
				close(d->loop.fd);
			d->loop = LOOP_NONE;
			d->node[0] = '\0';
			d->dev = 0;
			continue;
		}
		if (d->node[0] && b->ops == &backend_raid1_ops)
			backend_btrfs_forget(d->node);
		/* unmounted by someone else meanwhile: what is on it now may be theirs */
		wipe = d->device && !keep && (!b->resumed || b->unmounted);
		note(backend_disk_detach(d, wipe), &first, text, sizeof(text));
	}
	/* what could not be unmounted can be tried again as long as its files are there */
	forget_files(b, keep, !b->mount_dir, &first, text, sizeof(text));
	free(STEAL(b->root_path));
	free(STEAL(b->mount_dir));
	b->is_up = false;
	return first < 0 ? fail(first, "backend %s: %s", b->name, text) : 0;
}

void backend_free(struct backend *b)
{
	if (!b)
		return;
	backend_down(b);
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++) {
		free(b->disk[i].path);
		free(b->disk[i].image);
	}
	for (size_t i = 0; i < BACKEND_MADE_MAX; i++)
		free(b->made[i].path);
	free(b->root_path);
	free(b->mount_dir);
	for (char **p = b->destroy; p && *p; p++)
		free(*p);
	free(b->destroy);
	free((char *)b->pol.work_dir);
	free(b->name);
	free(b->spec);
	free(b);
}

size_t backend_kinds(struct backend_kind_info *rows, size_t cap)
{
	size_t n = 0;

	for (; backend_table[n]; n++) {
		const struct backend_ops *ops = backend_table[n];
		int r;

		if (n >= cap)
			continue;
		r = ops->need ? ops->need(NULL) : 0;
		rows[n] = (struct backend_kind_info){
			.kind = ops->kind,
			.what = ops->what,
			.syntax = ops->syntax,
			.usable = r >= 0,
		};
		snprintf(rows[n].how, sizeof(rows[n].how), "%s", r < 0 ? fail_text() : ops->means);
	}
	return n;
}
