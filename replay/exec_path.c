/* SPDX-License-Identifier: MIT */
/*
 * Descriptors while a replay runs: one O_PATH descriptor per directory in use, opened when first
 * needed through its parent and closed after the last step that needs it; one descriptor per open
 * handle of the trace, likewise counted. Only single names are opened, never following a link, so
 * nothing outside the replay's directory can be reached.
 */
#include "exec_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "iotape/record.h"

static void hold_dir(struct exec *x, uint32_t node, unsigned depth)
{
	const struct plan_node *n = x->p->nodes[node];

	/* An open directory holds the one that it was opened through. */
	if (atomic_fetch_add(&x->dir_left[node], 1) == 0 && n->first_name && depth < PLAN_DEPTH_MAX)
		hold_dir(x, n->first_dir, depth + 1);
}

int exec_tables_new(struct exec *x)
{
	const struct plan *p = x->p;

	x->dir_fd = calloc(p->n_nodes, sizeof(*x->dir_fd));
	x->dir_left = calloc(p->n_nodes, sizeof(*x->dir_left));
	x->handles = calloc(p->n_handles, sizeof(*x->handles));
	x->progress = aligned_alloc(64, (p->n_lanes + 1) * sizeof(*x->progress));
	x->recs = calloc(p->n_lanes + 1, sizeof(*x->recs));
	if (!x->dir_fd || !x->dir_left || !x->handles || !x->progress || !x->recs)
		return fail(-ENOMEM, "out of memory for the replay");
	for (uint32_t i = 0; i < p->n_lanes; i++) {
		atomic_init(&x->progress[i].done, 0);
		atomic_init(&x->progress[i].waiters, 0);
		x->recs[i] = calloc(p->lanes[i].n + 1, sizeof(**x->recs));
		if (!x->recs[i])
			return fail(-ENOMEM, "out of memory for the replay");
	}
	for (uint32_t i = 0; i < p->n_nodes; i++) {
		atomic_init(&x->dir_fd[i], -1);
		if (i && p->nodes[i]->dir_uses) {
			hold_dir(x, i, 0);
			atomic_fetch_add(&x->dir_left[i], p->nodes[i]->dir_uses - 1);
		}
	}
	for (uint32_t i = 0; i < p->n_handles; i++) {
		atomic_init(&x->handles[i].fd, -1);
		if (i) /* what was never closed stays open until the end */
			atomic_init(&x->handles[i].left,
				p->handles[i]->uses + !p->handles[i]->released);
	}
	return 0;
}

void exec_tables_free(struct exec *x)
{
	for (uint32_t i = 0; x->dir_fd && i < x->p->n_nodes; i++)
		if (atomic_load(&x->dir_fd[i]) >= 0)
			close(atomic_load(&x->dir_fd[i]));
	for (uint32_t i = 0; x->handles && i < x->p->n_handles; i++)
		if (i && atomic_load(&x->handles[i].fd) >= 0)
			close(atomic_load(&x->handles[i].fd));
	for (uint32_t i = 0; x->recs && i < x->p->n_lanes; i++)
		free(x->recs[i]);
	free(x->recs);
	free((void *)x->dir_fd);
	free((void *)x->dir_left);
	free(x->handles);
	free(x->progress);
}

int exec_dir(struct exec *x, uint32_t node)
{
	const struct plan_node *n = x->p->nodes[node];
	int fd = atomic_load_explicit(&x->dir_fd[node], memory_order_acquire), up, none = -1;

	if (!node)
		return -ENOENT;
	if (fd >= 0)
		return fd;
	if (n->iid == EVENT_ROOT_IID)
		return x->root_fd;
	if (!n->first_name)
		return -ENOENT;
	up = exec_dir(x, n->first_dir);
	if (up < 0)
		return up;
	fd = openat(up, n->first_name->s, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		int err = errno;

		fd = atomic_load(&x->dir_fd[node]); /* moved just now by another lane? */
		return fd >= 0 ? fd : -err;
	}
	if (!atomic_compare_exchange_strong(&x->dir_fd[node], &none, fd)) {
		close(fd);
		return none;
	}
	return fd;
}

void exec_dir_put(struct exec *x, uint32_t node)
{
	while (node && atomic_fetch_sub(&x->dir_left[node], 1) == 1) {
		const struct plan_node *n = x->p->nodes[node];
		int fd = atomic_exchange(&x->dir_fd[node], -1);

		if (fd >= 0)
			close(fd);
		if (!n->first_name)
			return;
		node = n->first_dir;
	}
}

void exec_dir_keep(struct exec *x, uint32_t node)
{
	if (!node || !atomic_load(&x->dir_left[node]))
		return;
	if (!x->p->nodes[node]->mode || S_ISDIR(x->p->nodes[node]->mode))
		exec_dir(x, node);
}

int exec_handle_fd(struct exec *x, uint32_t handle)
{
	int fd = handle ? atomic_load_explicit(&x->handles[handle].fd, memory_order_acquire) : -1;

	return fd < 0 ? -EBADF : fd;
}

void exec_handle_set(struct exec *x, uint32_t handle, int fd)
{
	if (!atomic_load(&x->handles[handle].left)) {
		close(fd);
		return;
	}
	fd = atomic_exchange(&x->handles[handle].fd, fd);
	if (fd >= 0)
		close(fd);
}

/* Where the recording has no flush at this place: a mapping outlived the descriptor, or the kernel
 * opened the file for itself (execve). close(2) makes one all the same. */
void exec_handle_put(struct exec *x, uint32_t handle)
{
	int fd;

	if (!handle || atomic_fetch_sub(&x->handles[handle].left, 1) != 1)
		return;
	fd = atomic_exchange(&x->handles[handle].fd, -1);
	if (fd < 0)
		return;
	if (!x->p->handles[handle]->dir && !x->p->handles[handle]->path)
		exec_own(x, fd, OP_FLUSH);
	close(fd);
}

void exec_own(const struct exec *x, int fd, enum op op)
{
	char name[RECORD_MARK_MAX];

	if (!x->recorded)
		return;
	snprintf(name, sizeof(name), RECORD_MARK_OWN "%s", op_info[op].name);
	replay_mark(fd, name);
}
