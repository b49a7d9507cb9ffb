/* SPDX-License-Identifier: MIT */
/*
 * The executor: one thread per recorded lane, each going through its steps in order and waiting, at
 * the steps that say so, for the progress of other lanes. Progress is one word per lane; waiting is
 * a short spin, then a futex. With fewer threads than lanes, a thread goes round its lanes and,
 * when none can go on, waits for what its earliest step needs: as every edge leads from an earlier
 * start to a later one, some thread can always go on.
 *
 * Results are kept per step and judged afterwards (exec_result.c).
 */
#include "exec_priv.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define SPINS       200
#define THREADS_MAX 4096u
#define STACK_BYTES ((size_t)512 << 10)
#define TURN_STEPS  64u /* of one lane, before the thread looks at its other lanes */
#define WAKE_SIGNAL (SIGRTMIN + 4)

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static long futex(_Atomic uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static bool ended(const struct exec *x, const struct plan_pred *pred)
{
	return atomic_load_explicit(&x->progress[pred->lane].done, memory_order_acquire) >
	       pred->index;
}

/* At most about a tenth of a second, so that an aborted run ends. */
static void wait_pred(struct exec_worker *w, const struct plan_pred *pred, long max_ns)
{
	struct exec *x = w->x;
	struct exec_progress *g = &x->progress[pred->lane];
	const struct timespec timeout = {.tv_nsec = max_ns};
	uint32_t done;

	for (int i = 0; i < SPINS; i++) {
		if (ended(x, pred))
			return;
		cpu_relax();
	}
	exec_waits(w, true);
	atomic_fetch_add(&g->waiters, 1);
	done = atomic_load(&g->done);
	if (done <= pred->index)
		futex(&g->done, FUTEX_WAIT, done, &timeout);
	atomic_fetch_sub(&g->waiters, 1);
}

static void step_ended(struct exec *x, const struct plan_step *s)
{
	struct exec_progress *g = &x->progress[s->lane];

	if (!(s->bits & STEP_AWAITED)) {
		atomic_store_explicit(&g->done, s->index + 1, memory_order_release);
		return;
	}
	atomic_store(&g->done, s->index + 1);
	if (atomic_load(&g->waiters))
		futex(&g->done, FUTEX_WAKE, INT32_MAX, NULL);
}

/* The first predecessor that has not ended; NULL: the step may start. */
static const struct plan_pred *open_pred(const struct exec *x, const struct plan_step *s)
{
	const struct plan_pred *preds = x->p->preds + s->preds;

	for (uint32_t i = 0; i < s->n_preds; i++)
		if (!ended(x, &preds[i]))
			return &preds[i];
	return NULL;
}

/* False: it waits for a lock, and the thread has other lanes. */
static bool run_step(struct exec_worker *w, const struct plan_step *s)
{
	struct exec *x = w->x;
	struct exec_rec *rec = &x->recs[s->lane][s->index];
	int64_t target = rec->start_ns ? 0 : pace_target(x, s); /* else it was tried before */

	if (!rec->start_ns)
		exec_waits(w, false);
	if (target)
		pace_sleep(x, target);
	if (!exec_step(w, s, rec))
		return false;
	step_ended(x, s);
	return true;
}

static void name_thread(const struct plan_lane *l)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "lane-%u", l->id);
	prctl(PR_SET_NAME, comm);
}

static bool stopped(const struct exec *x)
{
	return atomic_load_explicit(&x->abort, memory_order_relaxed);
}

/* A thread with one lane. */
static void run_lane(struct exec_worker *w)
{
	struct exec *x = w->x;
	const struct plan_lane *l = &x->p->lanes[w->index];
	const struct plan_pred *pred;

	name_thread(l);
	for (uint32_t i = 0; i < l->n; i++) {
		const struct plan_step *s = l->steps[i];

		while ((pred = open_pred(x, s)) != NULL && !stopped(x))
			wait_pred(w, pred, 100000000);
		if (stopped(x))
			return;
		if (!run_step(w, s))
			return; /* never: a lane with a thread of its own waits where it is */
	}
}

/* A thread with several: steps of lane until it has to wait. Returns how many were run. */
static uint32_t run_turn(struct exec_worker *w, uint32_t lane)
{
	struct exec *x = w->x;
	const struct plan_lane *l = &x->p->lanes[lane];
	uint32_t at = atomic_load(&x->progress[lane].done), n = 0;

	if (at == l->n || open_pred(x, l->steps[at]))
		return 0;
	name_thread(l);
	for (; n < TURN_STEPS && at < l->n && !stopped(x) && !open_pred(x, l->steps[at]); n++)
		if (!run_step(w, l->steps[at++]))
			break;
	return n;
}

/* Its earliest step's predecessor belongs to another thread: see above. */
static bool wait_earliest(struct exec_worker *w)
{
	struct exec *x = w->x;
	const struct timespec nap = {.tv_nsec = 50000};
	const struct plan_step *first = NULL;
	const struct plan_pred *pred;

	for (uint32_t i = w->index; i < x->p->n_lanes; i += x->n_workers) {
		const struct plan_lane *l = &x->p->lanes[i];
		uint32_t at = atomic_load(&x->progress[i].done);

		if (at < l->n && (!first || l->steps[at]->start_ns < first->start_ns))
			first = l->steps[at];
	}
	if (!first)
		return false;
	pred = open_pred(x, first);
	exec_waits(w, true);
	if (pred)
		/* its end wakes us; the time is for our other lanes, and threads are many */
		wait_pred(w, pred, MIN(1000000L * (1 + x->n_workers / 16), 100000000L));
	else
		nanosleep(&nap, NULL); /* for a lock */
	return true;
}

static void run_lanes(struct exec_worker *w)
{
	struct exec *x = w->x;
	uint32_t ran;

	do {
		ran = 0;
		for (uint32_t i = w->index; i < x->p->n_lanes && !stopped(x); i += x->n_workers)
			ran += run_turn(w, i);
	} while (!stopped(x) && (ran || wait_earliest(w)));
}

static void *worker_main(void *arg)
{
	struct exec_worker *w = arg;

	w->block = w->x->n_workers == w->x->p->n_lanes;
	if (w->block)
		run_lane(w);
	else
		run_lanes(w);
	if (w->buf)
		munmap(w->buf, w->buf_size);
	exec_waits(w, true);
	atomic_fetch_sub(&w->x->running, 1);
	return NULL;
}

/* ---- the run around the threads ---- */

static void on_wake(int sig)
{
	(void)sig; /* only interrupts a call that blocks */
}

static uint64_t steps_done(const struct exec *x)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < x->p->n_lanes; i++)
		n += atomic_load_explicit(&x->progress[i].done, memory_order_relaxed);
	return n;
}

static void watch(struct exec *x)
{
	struct timespec nap = {.tv_nsec = 200000};
	struct exec_stuck stuck = {0};
	int64_t shown = util_now_ns();

	while (atomic_load(&x->running)) {
		nanosleep(&nap, NULL);
		nap.tv_nsec = MIN(nap.tv_nsec * 2, 10000000);
		if (x->o->stop && *x->o->stop)
			atomic_store(&x->abort, true);
		if (stopped(x) || exec_stuck_check(x, &stuck, steps_done(x)))
			for (unsigned i = 0; i < x->n_workers; i++)
				if (x->workers[i].started)
					pthread_kill(x->workers[i].thread, WAKE_SIGNAL);
		if (x->o->progress && util_now_ns() - shown > 100000000) {
			shown = util_now_ns();
			x->o->progress(x->o->progress_ctx, steps_done(x), atomic_load(&x->bytes));
		}
	}
}

static int start_workers(struct exec *x)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int r = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	sigdelset(&all, WAKE_SIGNAL);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (unsigned i = 0; i < x->n_workers && !r; i++) {
		struct exec_worker *w = &x->workers[i];

		*w = (struct exec_worker){.x = x, .index = i};
		atomic_fetch_add(&x->running, 1);
		r = pthread_create(&w->thread, &attr, worker_main, w);
		w->started = !r;
		if (r)
			atomic_fetch_sub(&x->running, 1);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!r)
		return 0;
	atomic_store(&x->abort, true);
	return fail(-r, "cannot start %u threads (lower --threads): %s", x->n_workers, strerror(r));
}

static void raise_descriptor_limit(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

static int run_threads(struct exec *x, struct replay_result *out)
{
	struct sigaction act = {.sa_handler = on_wake}, old;
	struct cpu_times from, to;
	int64_t end;
	mode_t mask = umask(0);
	int r;

	sigaction(WAKE_SIGNAL, &act, &old);
	x->recorded = replay_mark(x->root_fd, "replay");
	exec_cpu_now(&from);
	x->start_ns = util_now_ns();
	r = start_workers(x);
	watch(x);
	for (unsigned i = 0; i < x->n_workers; i++)
		if (x->workers[i].started)
			pthread_join(x->workers[i].thread, NULL);
	replay_mark(x->root_fd, "done");
	end = util_now_ns();
	if (!r && x->root_fd >= 0 && !x->o->no_sync && !stopped(x) && syncfs(x->root_fd))
		r = fail(-errno, "the final sync of the replayed data failed: %s", strerror(errno));
	out->sync_seconds = x->root_fd >= 0 ? (double)(util_now_ns() - end) / 1e9 : 0;
	exec_cpu_now(&to);
	out->cpu_percent = exec_cpu_percent(&from, &to);
	out->self_cpu_seconds = to.self_seconds - from.self_seconds;
	sigaction(WAKE_SIGNAL, &old, NULL);
	umask(mask);
	return r;
}

static void exec_fini(struct exec *x)
{
	exec_tables_free(x);
	content_fini(&x->content);
	free(x->workers);
}

int replay_run(
	const struct plan *p, int root_fd, const struct replay_opts *o, struct replay_result *out)
{
	struct exec x = {.p = p, .o = o, .root_fd = root_fd, .null = root_fd < 0};
	int r;

	memset(out, 0, sizeof(*out));
	hist_init(&out->start_lag);
	hist_init(&out->in_flight);
	r = stats_init(&out->stats);
	if (r)
		return r;
	x.root = geteuid() == 0;
	x.n_workers = p->n_lanes;
	if (x.n_workers > (o->threads ? MIN(o->threads, THREADS_MAX) : THREADS_MAX))
		x.n_workers = o->threads ? MIN(o->threads, THREADS_MAX) : THREADS_MAX;
	raise_descriptor_limit();
	r = content_init(&x.content, o->seed);
	if (!r)
		r = exec_tables_new(&x);
	x.workers = calloc(x.n_workers + 1, sizeof(*x.workers));
	if (!r && !x.workers)
		r = fail(-ENOMEM, "out of memory for the replay");
	if (!r)
		r = run_threads(&x, out);
	if (!r)
		r = exec_result(&x, out);
	if (!r && stopped(&x))
		r = fail(-EINTR, "interrupted");
	exec_fini(&x);
	if (r) {
		replay_result_fini(out);
		memset(out, 0, sizeof(*out));
	}
	return r;
}
