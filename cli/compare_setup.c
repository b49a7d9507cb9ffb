/* SPDX-License-Identifier: MIT */
/*
 * What a comparison is of: a workload a trace, a backend a spec. The one idea: reports tell them
 * apart by name, so each gets a name that no other has, from its file or kind if it was given none.
 */
#include "compare_cmd.h"

#include <errno.h>
#include <string.h>

/* base, or base-2, base-3, ... so that it is none of the names before it. */
static char *unique_name(
	const char *base, const char *(*name)(const void *, size_t), const void *list, size_t n)
{
	char *s = strdup(base);

	for (unsigned k = 2; s; k++) {
		size_t i = 0;

		while (i < n && strcmp(name(list, i), s))
			i++;
		if (i == n)
			break;
		free(s);
		if (asprintf(&s, "%s-%u", base, k) < 0)
			s = NULL;
	}
	return s;
}

static const char *workload_name(const void *list, size_t i)
{
	return ((const struct compare_workload *)list)[i].name;
}

static const char *nth_backend_name(const void *list, size_t i)
{
	return backend_name(((struct backend *const *)list)[i]);
}

static int name_workloads(struct compare_job *o, char **paths, size_t n)
{
	o->workloads = calloc(n, sizeof(*o->workloads));
	if (!o->workloads)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(paths[i], '/');
		_free_ char *base = strdup(!strcmp(paths[i], "-") ? "stdin"
					   : slash                ? slash + 1
								  : paths[i]);
		char *dot = base ? strrchr(base, '.') : NULL;

		if (dot && dot > base && !strcmp(dot, ".tape"))
			*dot = '\0';
		o->workloads[i].path = paths[i];
		o->workloads[i].name =
			base ? unique_name(base, workload_name, o->workloads, i) : NULL;
		if (!o->workloads[i].name)
			return fail(-ENOMEM, "out of memory");
		o->run.n_workloads = i + 1;
	}
	return 0;
}

/* A second backend of the same spec under another name. */
static int renamed(struct backend **out, const struct compare_job *o, const struct backend *b,
	const char *name)
{
	_free_ char *spec = NULL;

	if (asprintf(&spec, "%s=%s", name, backend_spec(b)) < 0) {
		spec = NULL;
		return fail(-ENOMEM, "out of memory");
	}
	return backend_new(out, spec, &o->shared.policy);
}

static int add_backend(struct compare_job *o, struct backend *b)
{
	size_t n = o->run.n_backends;
	_free_ char *name = unique_name(backend_name(b), nth_backend_name, o->backends, n);
	struct backend *other = NULL;
	int r = 0;

	if (!name)
		r = fail(-ENOMEM, "out of memory");
	else if (strcmp(name, backend_name(b)))
		r = renamed(&other, o, b, name);
	if (r || other)
		backend_free(b);
	if (r)
		return r;
	o->backends[n] = other ? other : b;
	o->run.n_backends++;
	return 0;
}

/* What keep leaves of a run on a file or device is in the way of the next run. */
static int check_keep(const struct compare_job *o)
{
	for (size_t i = 0; o->shared.policy.keep && i < o->run.n_backends; i++) {
		const char *kind = backend_kind(o->backends[i]);

		if (o->run.rounds * o->run.n_workloads > 1 && strcmp(kind, "dir") &&
			strcmp(kind, "null"))
			return fail(-EINVAL,
				"--keep: %s can keep one run only, and here are several; keep "
				"directories, or use `iotape replay --keep`",
				backend_name(o->backends[i]));
	}
	return 0;
}

static int make_backends(struct compare_job *o)
{
	size_t n = 0;
	int r = 0;

	while (o->specs[n])
		n++;
	o->backends = calloc(n + 1, sizeof(struct backend *));
	if (!o->backends)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < n && !r; i++) {
		struct backend *b = NULL;

		r = backend_new(&b, o->specs[i], &o->shared.policy);
		if (!r)
			r = add_backend(o, b);
		if (!r && i == 0 && o->aa) {
			_free_ char *again = NULL;

			if (asprintf(&again, "%s-again", backend_name(o->backends[0])) < 0) {
				again = NULL;
				return fail(-ENOMEM, "out of memory");
			}
			r = renamed(&b, o, o->backends[0], again);
			if (!r)
				r = add_backend(o, b);
		}
	}
	return r;
}

static int find_baseline(struct compare_job *o)
{
	struct util_nearest best = {0};

	for (size_t i = 0; o->baseline && i < o->run.n_backends; i++) {
		const char *name = backend_name(o->backends[i]);

		o->run.baseline = i;
		if (!strcmp(name, o->baseline))
			return 0;
		util_nearest(&best, o->baseline, name);
	}
	if (!o->baseline)
		return 0;
	fail(-EINVAL, "--baseline: no backend is called '%s'; name one with --on %s=BACKEND",
		o->baseline, o->baseline);
	return fail_hint(-EINVAL, best.word);
}

int compare_job_set(struct compare_job *o, char **traces, size_t n)
{
	int r = name_workloads(o, traces, n);

	if (!r)
		r = make_backends(o);
	if (!r)
		r = find_baseline(o);
	return r ? r : check_keep(o);
}

void compare_job_unset(struct compare_job *o)
{
	for (size_t i = 0; i < o->run.n_backends; i++)
		backend_free(o->backends[i]);
	for (size_t i = 0; i < o->run.n_workloads; i++)
		free((char *)o->workloads[i].name);
	free(o->backends);
	free(o->workloads);
}
