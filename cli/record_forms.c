/* SPDX-License-Identifier: MIT */
/*
 * The forms of record: around COMMAND, in front, in the background. One process serves; COMMAND is
 * its child and blocks on the mount until serving has begun. Signals only ever ask for an end
 * (record_stop), so whichever way it ends the mount is gone and the trace is closed. At the end the
 * summary goes to stderr.
 */
#include "cli_priv.h"
#include "record_forms.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>

#include "iotape/json.h"

/* What the signal handlers see; set before they are. */
static struct record *recording;
static volatile sig_atomic_t child_pid, child_gone, asked;
static volatile int child_status;

static const char *signal_reason(int sig)
{
	return sig == SIGINT ? "SIGINT" : sig == SIGHUP ? "SIGHUP" : "SIGTERM";
}

/* While COMMAND runs it decides: a terminal has sent it the signal already, anyone else's is passed
 * on. One more SIGTERM or SIGHUP ends the recording under it. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (child_pid && !child_gone) {
		if (info->si_code <= 0)
			kill(child_pid, sig);
		if (sig == SIGINT || !asked++) {
			errno = saved;
			return;
		}
	}
	record_stop(recording, signal_reason(sig));
	errno = saved;
}

static void on_child(int sig)
{
	int saved = errno, status;

	(void)sig;
	if (child_pid && !child_gone && waitpid(child_pid, &status, WNOHANG) == child_pid) {
		child_status = status;
		child_gone = 1;
		record_stop(recording, "command ended");
	}
	errno = saved;
}

static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(how, &set, NULL);
}

static void catch_signals(struct record *r)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};
	struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};

	recording = r;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sigaction(SIGCHLD, &child, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- the end ---- */

static void print_json(const struct record_job *o, const struct record_stats *st)
{
	struct json j;

	json_init(&j, stderr, 0);
	json_object(&j, NULL);
	json_str(&j, "trace", o->r.trace_path);
	json_u64(&j, "events", st->events);
	json_u64(&j, "read_bytes", st->read_bytes);
	json_u64(&j, "write_bytes", st->write_bytes);
	json_f64(&j, "seconds", (double)st->dur_ns / 1e9);
	json_u64(&j, "trace_bytes", st->trace_bytes);
	json_u64(&j, "drops", st->drops);
	json_u64(&j, "stalls", st->stalls);
	json_u64(&j, "stall_ns", st->stall_ns);
	json_str(&j, "reason", st->reason);
	json_str(&j, "error", st->trace_error ? st->trace_text : NULL);
	json_bool(&j, "busy", st->busy);
	json_u64(&j, "cut", st->cut);
	json_end(&j, '}');
}

static void print_text(const struct record_job *o, const struct record_stats *st)
{
	const double mib = 1 << 20;

	if (!o->r.trace_path)
		fprintf(stderr, "iotape: not recorded; %.1f MiB written, %.1f MiB read in %.2f s\n",
			(double)st->write_bytes / mib, (double)st->read_bytes / mib,
			(double)st->dur_ns / 1e9);
	else
		fprintf(stderr,
			"iotape: %s: %llu operations in %.2f s, %.1f MiB written, %.1f MiB read; "
			"trace %.1f KiB, %llu lost, %llu stalls",
			o->r.trace_path, (unsigned long long)st->events, (double)st->dur_ns / 1e9,
			(double)st->write_bytes / mib, (double)st->read_bytes / mib,
			(double)st->trace_bytes / 1024, (unsigned long long)st->drops,
			(unsigned long long)st->stalls);
	if (o->r.trace_path && st->stalls)
		fprintf(stderr, " (%.1f ms)", (double)st->stall_ns / 1e6);
	if (o->r.trace_path)
		fputc('\n', stderr);
	if (!strcmp(st->reason, "max-size"))
		fprintf(stderr,
			"iotape: the recording ended at --max-size; the rest is not in it\n");
	if (st->busy)
		fprintf(stderr, "iotape: files were still open at the end: unmounted lazily, their "
				"users were cut off\n");
	if (st->cut)
		fprintf(stderr, "iotape: calls that were under way at the end and failed: %llu\n",
			(unsigned long long)st->cut);
}

/* CLI_OK, or CLI_TROUBLE after a message. */
static int finish(const struct record_job *o, struct record *r, int serve_error, bool quiet)
{
	struct record_stats st;
	int e;

	if (serve_error < 0)
		fprintf(stderr, "iotape: %s\n", fail_text());
	e = record_close(r, &st);
	recording = NULL;
	if (e < 0)
		fprintf(stderr, "iotape: %s\n", fail_text());
	if (!quiet && o->format == CLI_JSON)
		print_json(o, &st);
	else if (!quiet)
		print_text(o, &st);
	if (o->pid_file)
		unlink(o->pid_file);
	if (!st.trace_error && !st.drops)
		return serve_error < 0 || e < 0 ? CLI_TROUBLE : CLI_OK;
	const char *fmt = "iotape: the recording is not whole: %s%s%llu operations are missing; "
			  "the application's I/O was not affected\n";
	unsigned long long drops = st.drops;
	const char *sep = st.trace_error ? "; " : "";
	if (quiet)
		syslog(LOG_DAEMON | LOG_ERR, fmt, st.trace_text, sep, drops);
	else
		fprintf(stderr, fmt, st.trace_text, sep, drops);
	return CLI_TROUBLE;
}

static int write_pid_file(const char *path)
{
	FILE *f;
	int r;

	if (!path)
		return 0;
	f = fopen(path, "we");
	if (!f)
		return fail(-errno, "%s: %s", path, strerror(errno));
	fprintf(f, "%d\n", (int)getpid());
	r = ferror(f) ? -EIO : 0;
	if (fclose(f))
		r = -errno;
	return r ? fail(r, "%s: %s", path, strerror(-r)) : 0;
}

/* ---- with COMMAND ---- */

static void run_command(char **command, const char *cwd, const struct rlimit *files, bool to_stderr)
{
	static const int ours[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGPIPE};

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		signal(ours[i], SIG_DFL);
	block_signals(SIG_UNBLOCK);
	if (to_stderr) /* the trace has standard output */
		dup2(STDERR_FILENO, STDOUT_FILENO);
	setrlimit(RLIMIT_NOFILE, files); /* the mirror's own is not its business */
	/* by its path: where the mount lies over it, this blocks until the mount is served */
	if (chdir(cwd)) {
		fprintf(stderr, "iotape: %s: %s\n", cwd, strerror(errno));
		_exit(126);
	}
	execvp(command[0], command);
	fprintf(stderr, "iotape: %s: %s\n", command[0],
		errno == ENOENT ? "no such command" : strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

int record_command(const struct record_job *o)
{
	char cwd[PATH_MAX];
	struct rlimit files;
	struct record *r;
	int e, status = 0;
	pid_t pid;

	if (!getcwd(cwd, sizeof(cwd)))
		return fail(-errno, "current directory: %s", strerror(errno));
	getrlimit(RLIMIT_NOFILE, &files);
	block_signals(SIG_BLOCK);
	e = record_open(&r, &o->r);
	if (e < 0)
		return e;
	catch_signals(r);
	e = write_pid_file(o->pid_file);
	fflush(NULL);
	pid = e < 0 ? -1 : fork();
	if (pid == 0)
		run_command(
			o->command, cwd, &files, o->r.trace_path && !strcmp(o->r.trace_path, "-"));
	if (pid < 0) {
		if (!e)
			e = fail(-errno, "cannot fork: %s", strerror(errno));
		record_close(r, NULL);
		return e;
	}
	child_pid = pid;
	block_signals(SIG_UNBLOCK);
	e = record_serve(r);
	/* unmounted by someone while COMMAND runs on: its status is still to be had */
	if (e < 0 && !child_gone)
		kill(pid, SIGTERM);
	status = finish(o, r, e, false);
	block_signals(SIG_BLOCK);
	if (!child_gone) {
		int st = 0;
		while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
			;
		child_status = st;
	}
	if (WIFSIGNALED(child_status))
		return 128 + WTERMSIG(child_status);
	return WEXITSTATUS(child_status) ? WEXITSTATUS(child_status) : status;
}

/* ---- without ---- */

/* In the background ready_fd gets one byte when the mount stands, or the failure's text. */
static int here(const struct record_job *o, int ready_fd)
{
	struct record *r;
	int e, null;

	e = record_open(&r, &o->r);
	if (e < 0)
		return e;
	catch_signals(r);
	e = write_pid_file(o->pid_file);
	if (e < 0) {
		record_close(r, NULL);
		return e;
	}
	if (ready_fd >= 0) {
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; fd < 3 && null >= 0; fd++)
			dup2(null, fd);
		if (chdir("/") || write(ready_fd, "", 1) != 1)
			record_stop(r, "SIGHUP");
		close(ready_fd);
	}
	block_signals(SIG_UNBLOCK);
	e = record_serve(r);
	return finish(o, r, e, ready_fd >= 0);
}

static void on_start_signal(int sig)
{
	if (child_pid)
		kill(child_pid, sig);
	asked = sig;
}

/* The parent: waits until the daemon's mount answers. */
static int wait_ready(pid_t pid, int fd, const char *mountpoint)
{
	struct sigaction sa = {.sa_handler = on_start_signal};
	char text[1024];
	struct stat st;
	ssize_t n, have = 0;
	int status = 0;

	child_pid = pid;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	block_signals(SIG_UNBLOCK);
	while (have < (ssize_t)sizeof(text) - 1 &&
		((n = read(fd, text + have, sizeof(text) - 1 - (size_t)have)) > 0 ||
			(n < 0 && errno == EINTR)))
		have += MAX(n, 0);
	text[have] = 0;
	if (have == 1 && !text[0] && !stat(mountpoint, &st) && !asked) {
		printf("%d\n", (int)pid);
		return cli_flush();
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (asked)
		return 128 + asked;
	return fail(-EIO, "%s", text[0] ? text : "the recorder ended as it started");
}

int record_background(struct record_job *o)
{
	const char *where = o->r.mountpoint ? o->r.mountpoint : o->r.source;
	char cwd[PATH_MAX];
	_free_ char *mountpoint = NULL, *pid_file = NULL;
	int fds[2], e;
	pid_t pid;

	if (!getcwd(cwd, sizeof(cwd)))
		return fail(-errno, "current directory: %s", strerror(errno));
	if (asprintf(&mountpoint, "%s/%s", where[0] == '/' ? "" : cwd, where) < 0 ||
		(o->pid_file && asprintf(&pid_file, "%s/%s", o->pid_file[0] == '/' ? "" : cwd,
					o->pid_file) < 0))
		return fail(-ENOMEM, "out of memory");
	o->pid_file = pid_file;
	if (pipe2(fds, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	fflush(NULL);
	block_signals(SIG_BLOCK);
	pid = fork();
	if (pid < 0)
		return fail(-errno, "cannot fork: %s", strerror(errno));
	if (!pid) {
		close(fds[0]);
		setsid();
		e = here(o, fds[1]);
		if (e < 0)
			(void)!write(fds[1], fail_text(), strlen(fail_text()));
		fflush(NULL);
		_exit(e < 0 ? CLI_TROUBLE : e);
	}
	close(fds[1]);
	e = wait_ready(pid, fds[0], mountpoint);
	close(fds[0]);
	return e;
}

int record_foreground(const struct record_job *o)
{
	block_signals(SIG_BLOCK);
	return here(o, -1);
}
