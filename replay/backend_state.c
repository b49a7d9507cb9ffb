/* SPDX-License-Identifier: MIT */
/*
 * A visible backend that outlives the program that made it: what down needs, as lines of
 * "key value" with the escapes of the text twin. A loop device is believed to be ours only while
 * it still stands over our file.
 */
#include "backend_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

static void put(FILE *f, const char *key, const char *value)
{
	_free_ char *out = NULL;
	size_t n = value ? strlen(value) : 0;

	if (!value)
		return;
	out = malloc(4 * n + 1);
	if (!out)
		return;
	bytes_escape(out, 4 * n + 1, (struct bytes){value, (uint32_t)n});
	fprintf(f, "%s %s\n", key, out);
}

static void let_go(struct backend *b)
{
	backend_throttle_unguard(&b->guard);
	if (b->root_fd >= 0)
		close(b->root_fd);
	if (b->mount_fd >= 0)
		close(b->mount_fd);
	b->root_fd = b->mount_fd = -1;
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++) {
		if (b->disk[i].loop.fd >= 0)
			close(b->disk[i].loop.fd); /* the mount holds it from now on */
		b->disk[i].loop = LOOP_NONE;
	}
	b->is_up = false;
}

static int flush(FILE *state)
{
	if (fflush(state) != 0 || fsync(fileno(state)) < 0)
		return fail(-errno, "cannot note what is up: %s", strerror(errno));
	return 0;
}

int backend_begin(const struct backend *b, FILE *state)
{
	put(state, "name", b->name);
	put(state, "spec", b->spec);
	fprintf(state, "pid %d\n", (int)getpid());
	return flush(state);
}

static void put_all(const struct backend *b, FILE *state)
{
	put(state, "root", b->root_path);
	put(state, "mount", b->mount_dir);
	put(state, "how", b->how);
	for (size_t i = 0; i < BACKEND_MADE_MAX; i++) {
		if (!b->made[i].path)
			continue;
		put(state, "made", b->made[i].path);
		put(state, "id", b->made[i].id);
	}
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++) {
		const struct backend_disk *d = &b->disk[i];

		if (!d->node[0])
			continue;
		fprintf(state, "disk %zu %u:%u %d %d\n", i, major(d->dev), minor(d->dev),
			d->loop.number, d->device);
		put(state, "node", d->node);
		put(state, "image", d->image);
	}
	put(state, "end", "ok");
}

/* What outlives the process comes last, when all of it is noted: killed before, nothing stays but
 * files; killed after, down knows everything. */
int backend_leave(struct backend *b, FILE *state)
{
	int r = 0;

	if (!b->is_up)
		return fail(-EINVAL, "backend %s is not up", b->name);
	if (b->mount_fd >= 0)
		r = backend_mount_point(b);
	if (!r) {
		put_all(b, state);
		r = flush(state);
	}
	if (!r && b->mount_fd >= 0)
		r = backend_attach(b);
	if (r < 0)
		return r;
	backend_files_stay_up(b);
	let_go(b);
	return 0;
}

static char *value_of(const char *line)
{
	const char *sp = strchr(line, ' ');
	char *v = strdup(sp ? sp + 1 : "");
	int n = v ? bytes_unescape(v, strlen(v)) : -1;

	if (n < 0) {
		free(v);
		return NULL;
	}
	v[n] = '\0';
	return v;
}

struct reading {
	struct backend *b;
	unsigned disk, made;
	int pid;
	bool whole;
};

static int take(struct reading *r, const char *line)
{
	struct backend *b = r->b;
	struct backend_disk *d = &b->disk[r->disk];
	unsigned i, ma, mi;
	int number, device;
	_free_ char *v = NULL;

	if (sscanf(line, "disk %u %u:%u %d %d", &i, &ma, &mi, &number, &device) == 5) {
		if (i >= ARRAY_SIZE(b->disk))
			return -EBADMSG;
		r->disk = i;
		b->disk[i].dev = makedev(ma, mi);
		b->disk[i].loop.number = number;
		b->disk[i].device = device;
		return 0;
	}
	if (sscanf(line, "pid %d", &r->pid) == 1)
		return 0;
	v = value_of(line);
	if (!v)
		return -EBADMSG;
	if (!strncmp(line, "root ", 5) && !b->root_path)
		b->root_path = STEAL(v);
	else if (!strncmp(line, "mount ", 6) && !b->mount_dir)
		b->mount_dir = STEAL(v);
	else if (!strncmp(line, "made ", 5) && r->made < BACKEND_MADE_MAX)
		b->made[r->made++].path = STEAL(v);
	else if (!strncmp(line, "id ", 3) && r->made)
		snprintf(b->made[r->made - 1].id, sizeof(b->made[0].id), "%s", v);
	else if (!strncmp(line, "how ", 4))
		backend_how_add(b, "%s", v);
	else if (!strncmp(line, "node ", 5))
		snprintf(d->node, sizeof(d->node), "%s", v);
	else if (!strncmp(line, "image ", 6) && !d->image)
		d->image = STEAL(v);
	else if (!strncmp(line, "end ", 4))
		r->whole = true;
	return 0;
}

/* First two lines: name and spec. */
static int read_spec(struct backend **out, FILE *state, char *line, size_t cap)
{
	const struct backend_policy pol = {.visible = true};
	_free_ char *name = NULL, *spec = NULL, *both = NULL;

	if (fgets(line, (int)cap, state) && !strncmp(line, "name ", 5)) {
		line[strcspn(line, "\n")] = '\0';
		name = value_of(line);
	}
	if (name && fgets(line, (int)cap, state) && !strncmp(line, "spec ", 5)) {
		line[strcspn(line, "\n")] = '\0';
		spec = value_of(line);
	}
	if (!spec || asprintf(&both, "%s=%s", name, spec) < 0)
		return fail(-EBADMSG, "not the state of a backend");
	return backend_new(out, both, &pol);
}

/* A loop device is ours as long as it stands over our file; it may be gone, and others have its
 * number. */
static void claim_loops(struct backend *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++) {
		struct backend_disk *d = &b->disk[i];

		if (d->loop.number < 0 || (d->image && loop_is_over(d->loop.number, d->image)))
			continue;
		d->loop = LOOP_NONE;
		d->node[0] = '\0';
		if (!b->rate_bytes && !b->delay_ns) /* else: its rule is still ours */
			d->dev = 0;
	}
}

/* up was killed: its loops and its mount went with it, its files did not. */
static void claim_files(struct backend *b, int pid)
{
	free(STEAL(b->root_path));
	free(STEAL(b->mount_dir));
	for (size_t i = 0; i < BACKEND_MADE_MAX; i++)
		free(STEAL(b->made[i].path));
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++) {
		b->disk[i].loop = LOOP_NONE;
		b->disk[i].node[0] = '\0';
	}
	backend_files_reclaim(b, pid);
	for (size_t i = 0; i < ARRAY_SIZE(b->disk); i++) { /* down waits until they are gone */
		const char *path = b->made[i].path;
		int n = path ? loop_of_file(path) : -1;

		if (n < 0)
			continue;
		b->disk[i].loop.number = n;
		snprintf(b->disk[i].node, sizeof(b->disk[i].node), "/dev/loop%d", n);
	}
}

int backend_resume(struct backend **out, FILE *state)
{
	char line[8192];
	struct reading rd = {0};
	int r = read_spec(&rd.b, state, line, sizeof(line));

	while (!r && fgets(line, sizeof(line), state)) {
		line[strcspn(line, "\n")] = '\0';
		r = take(&rd, line);
	}
	if (!r && !rd.whole && rd.pid <= 0)
		r = -EBADMSG;
	if (r < 0) {
		if (rd.b)
			backend_free(rd.b);
		return fail(r, "not the state of a backend");
	}
	if (rd.whole)
		claim_loops(rd.b);
	else
		claim_files(rd.b, rd.pid);
	rd.b->is_up = rd.b->resumed = true;
	*out = rd.b;
	return rd.whole ? 0 : 1;
}

void backend_forget(struct backend *b)
{
	let_go(b);
	backend_free(b);
}
