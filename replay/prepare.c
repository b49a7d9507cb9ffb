/* SPDX-License-Identifier: MIT */
/*
 * The initial tree: which entries there are, whether they fit, and in which order they are made.
 * Snapshots of one entry become one item (what was only listed gives way to what was looked at),
 * parents come before children because a name can only be seen in a directory that was seen; what
 * breaks that rule is skipped. Directories get modes and times last and backwards, when nothing
 * happens in them any more. Making single entries is in prepare_make.c.
 */
#include "prepare_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define CONTENT_SEED UINT64_C(0x70726570617265) /* other data than what the replay writes */

/* ---- collecting ---- */
static bool is_root(const struct event *ev)
{
	return ev->iid == EVENT_ROOT_IID || !ev->parent;
}

/* The item of ev's entry if there is one. Items are chained by hash through chain_items. */
static struct prepare_item *item_find(struct prepare *p, const struct u64map *entries,
	const uint32_t *next, const struct event *ev, uint64_t hash)
{
	uint64_t i;

	if (!u64map_get(entries, hash, &i))
		return NULL;
	for (; i; i = next[i - 1]) {
		const struct event *o = p->items[i - 1].entry;

		if (o->parent == ev->parent && bytes_equal(o->name, ev->name))
			return &p->items[i - 1];
	}
	return NULL;
}

static int item_put(
	struct prepare *p, struct u64map *entries, uint32_t *next, const struct event *ev)
{
	uint64_t hash = tree_entry_hash(ev->parent, ev->name), before = 0;
	struct prepare_item *it = item_find(p, entries, next, ev, hash);

	if (it) {
		if (!(ev->flags & EVENT_SNAP_LISTED) || (it->snap->flags & EVENT_SNAP_LISTED))
			it->entry = it->snap = ev;
		return 0;
	}
	u64map_get(entries, hash, &before);
	next[p->n_items] = (uint32_t)before;
	p->items[p->n_items].entry = ev;
	p->items[p->n_items++].snap = ev;
	return u64map_put(entries, hash, p->n_items);
}

/* What was only listed under one name may have been looked at under another. */
static int share_attributes(struct prepare *p)
{
	struct u64map full;
	uint64_t i;
	int r = 0;

	u64map_init(&full);
	for (size_t k = 0; k < p->n_items && !r; k++)
		if (p->items[k].snap->iid && !(p->items[k].snap->flags & EVENT_SNAP_LISTED))
			r = u64map_put(&full, p->items[k].snap->iid, k);
	for (size_t k = 0; k < p->n_items && !r; k++)
		if (p->items[k].snap->flags & EVENT_SNAP_LISTED &&
			u64map_get(&full, p->items[k].snap->iid, &i))
			p->items[k].snap = p->items[i].entry;
	u64map_fini(&full);
	return r;
}

/* Appends event i to the list of its iid; lists are built backwards and so read from the front. */
static int chain_put(struct prepare *p, struct u64map *m, size_t i)
{
	uint64_t before = 0;

	u64map_get(m, p->events[i].iid, &before);
	p->chain[i] = (uint32_t)before;
	return u64map_put(m, p->events[i].iid, i + 1);
}

static int collect(struct prepare *p)
{
	_free_ uint32_t *next = calloc(p->n_events + 1, sizeof(*next));
	struct u64map entries;
	int r = 0;

	p->items = calloc(p->n_events + 1, sizeof(*p->items));
	p->chain = calloc(p->n_events + 1, sizeof(*p->chain));
	if (p->n_events >= UINT32_MAX || !next || !p->items || !p->chain)
		return fail(
			-ENOMEM, "out of memory for an initial tree of %zu entries", p->n_events);
	u64map_init(&entries);
	for (size_t i = 0; i < p->n_events && !r; i++) {
		const struct event *ev = &p->events[i];

		if (ev->op != OP_SNAP)
			continue;
		if (!is_root(ev))
			r = item_put(p, &entries, next, ev);
		else if (ev->iid == EVENT_ROOT_IID && !ev->parent)
			p->root = ev;
		else
			p->rep->skipped++;
	}
	if (!r)
		r = share_attributes(p);
	for (size_t i = p->n_events; i-- > 0 && !r;) {
		if (p->events[i].op == OP_SNAP_DATA)
			r = chain_put(p, &p->data, i);
		else if (p->events[i].op == OP_SNAP_XATTR)
			r = chain_put(p, &p->xattr, i);
	}
	u64map_fini(&entries);
	return r ? fail(-ENOMEM, "out of memory for an initial tree of %zu entries", p->n_events)
		 : 0;
}

/* ---- space ---- */
static uint64_t add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t file_bytes(const struct prepare *p, const struct event *snap)
{
	uint64_t i, sum = 0;

	if (!S_ISREG(snap->mode) || (snap->flags & EVENT_SNAP_LISTED))
		return 0;
	if (!(snap->flags & EVENT_SNAP_SPARSE))
		return snap->size;
	if (!u64map_get(&p->data, snap->iid, &i))
		return 0;
	for (; i; i = p->chain[i - 1]) {
		const struct event *d = &p->events[i - 1];

		if (d->offset < snap->size)
			sum = add(sum, MIN(d->size, snap->size - d->offset));
	}
	return sum;
}

/* An empty file below root that nobody sees. */
static int probe_file(int root_fd)
{
	static const char name[] = ".iotape-length";
	int fd = openat(root_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	fd = openat(root_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		unlinkat(root_fd, name, 0);
	return fd;
}

/* Lengths need no space, but no file system takes any length. */
static int check_length(struct prepare *p, int root_fd)
{
	const struct event *longest = NULL;
	_close_ int fd = -1;
	char name[128];

	for (size_t i = 0; i < p->n_items; i++)
		if (S_ISREG(p->items[i].snap->mode) &&
			p->items[i].snap->size > (longest ? longest->size : INT32_MAX))
			longest = p->items[i].snap;
	fd = longest ? probe_file(root_fd) : -1;
	if (fd < 0 || !ftruncate(fd, (off_t)MIN(longest->size, INT64_MAX)))
		return 0;
	bytes_escape(name, sizeof(name), longest->name);
	return fail(-EFBIG,
		"the initial tree of the trace has a file of %" PRIu64
		" bytes (\"%s\"), longer than this file system takes: %s; use another one",
		longest->size, name, strerror(errno));
}

/* Before anything is written: does it all fit? */
static int check_space(struct prepare *p, int root_fd)
{
	struct statvfs vfs;
	struct u64map seen;
	uint64_t room, dummy;
	int r = 0;

	if (fstatvfs(root_fd, &vfs))
		return fail(-errno, "cannot ask for the free space of the replay directory: %s",
			strerror(errno));
	u64map_init(&seen);
	for (size_t i = 0; i < p->n_items && !r; i++) {
		const struct event *snap = p->items[i].snap;

		if (snap->iid && u64map_get(&seen, snap->iid, &dummy))
			continue;
		if (snap->iid && u64map_put(&seen, snap->iid, 1))
			r = fail(-ENOMEM, "out of memory");
		p->bytes = add(p->bytes, file_bytes(p, snap));
	}
	u64map_fini(&seen);
	room = vfs.f_frsize && vfs.f_bavail > UINT64_MAX / vfs.f_frsize
		       ? UINT64_MAX
		       : (uint64_t)vfs.f_bavail * vfs.f_frsize;
	if (!r && p->bytes > room)
		return fail(-ENOSPC,
			"the initial tree of the trace needs %" PRIu64 " MiB, but only %" PRIu64
			" MiB are free there; use a larger backend",
			p->bytes >> 20, room >> 20);
	if (!r && vfs.f_files && p->n_items > vfs.f_favail)
		return fail(-ENOSPC,
			"the initial tree of the trace has %zu entries, but the file system has "
			"room for %" PRIu64 " more; use a larger backend",
			p->n_items, (uint64_t)vfs.f_favail);
	return r ? r : check_length(p, root_fd);
}

/* ---- driver ---- */
int prepare_stopped(const struct prepare *p)
{
	return p->o->stop && *p->o->stop ? fail(-EINTR, "the preparation was interrupted") : 0;
}

static void prepare_fini(struct prepare *p)
{
	u64map_fini(&p->first);
	u64map_fini(&p->data);
	u64map_fini(&p->xattr);
	free(p->items);
	free(p->chain);
	free(p->buf);
	tree_dirs_fini(&p->dirs);
	content_fini(&p->content);
}

/* The directory that the item belongs in, if it was made. */
static const struct tree_dir *parent_of(struct prepare *p, const struct prepare_item *it)
{
	struct prepare_item *up;
	uint64_t i;

	if (it->entry->parent == EVENT_ROOT_IID)
		return &p->root_dir;
	if (!u64map_get(&p->first, it->entry->parent, &i))
		return NULL;
	up = &p->items[i - 1];
	return up->made && S_ISDIR(up->snap->mode) ? &up->dir : NULL;
}

static int make_all(struct prepare *p)
{
	int r = 0;

	for (size_t i = 0; i < p->n_items && !r; i++) {
		struct prepare_item *it = &p->items[i];

		r = prepare_stopped(p);
		if (r)
			break;
		it->dir.parent = parent_of(p, it);
		it->dir.name = it->entry->name;
		it->dir.depth = it->dir.parent ? it->dir.parent->depth + 1 : 0;
		if (!it->dir.parent || it->dir.depth > TREE_DEPTH_MAX) {
			p->rep->skipped++;
			continue;
		}
		r = prepare_make(p, it);
	}
	for (size_t i = p->n_items; i-- > 0 && !r;) {
		r = prepare_stopped(p);
		if (!r && p->items[i].made && S_ISDIR(p->items[i].snap->mode))
			r = prepare_finish_dir(p, &p->items[i].dir, p->items[i].snap);
	}
	if (!r && p->root)
		r = prepare_finish_dir(p, &p->root_dir, p->root);
	return r;
}

/* Beyond RLIMIT_FSIZE a write fails, and that is enough: no signal to die of. */
static void hold_file_limit(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

static void release_file_limit(const sigset_t *old)
{
	const struct timespec none = {0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	if (!sigismember(old, SIGXFSZ))
		sigtimedwait(&set, NULL, &none);
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

int prepare_tree(const struct plan *plan, int root_fd, const struct replay_opts *o,
	struct prepare_report *rep)
{
	static const struct replay_opts none;
	struct prepare_report unused;
	struct prepare p = {.rep = rep ? rep : &unused, .o = o ? o : &none};
	sigset_t mask;
	int r;

	hold_file_limit(&mask);
	memset(p.rep, 0, sizeof(*p.rep));
	u64map_init(&p.first);
	u64map_init(&p.data);
	u64map_init(&p.xattr);
	tree_dirs_init(&p.dirs, root_fd);
	p.n_events = plan_snaps(plan, &p.events);
	r = content_init(&p.content, CONTENT_SEED);
	p.buf = malloc(PREPARE_BUF);
	if (!r && !p.buf)
		r = fail(-ENOMEM, "out of memory");
	if (!r)
		r = collect(&p);
	if (!r)
		r = check_space(&p, root_fd);
	if (!r)
		r = make_all(&p);
	prepare_fini(&p);
	release_file_limit(&mask);
	return r;
}
