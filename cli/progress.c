/* SPDX-License-Identifier: MIT */
/*
 * One line on stderr about long work: how far, how fast, how long yet; and the flag that signals
 * set. On a terminal the line is rewritten in place and gone at the end; asked for on a pipe, it is
 * a line a second.
 */
#include "cli_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

#define TERMINAL_EVERY_NS INT64_C(100000000)
#define PIPE_EVERY_NS     INT64_C(1000000000)
#define PATIENCE_NS       INT64_C(2000000000)

volatile int cli_stop_flag;

void cli_progress_begin(struct cli_progress *p, int on, const char *label)
{
	*p = (struct cli_progress){.start_ns = util_now_ns()};
	p->active = on == 1 || (on < 0 && isatty(STDERR_FILENO));
	p->last_ns = p->start_ns;
	snprintf(p->label, sizeof(p->label), "%s", label);
}

/* 1234567 -> "1.2M" */
static void short_number(char *out, size_t cap, double v, double base)
{
	static const char *const suffix[] = {"", "k", "M", "G", "T"};
	size_t i = 0;

	for (; v >= base && i + 1 < ARRAY_SIZE(suffix); i++)
		v /= base;
	snprintf(out, cap, i && v < 10 ? "%.1f%s" : "%.0f%s", v, suffix[i]);
}

static void time_left(char *out, size_t cap, double seconds)
{
	uint64_t s = seconds > 359999 ? 359999 : (uint64_t)(seconds + 0.5);

	if (s >= 3600)
		snprintf(out, cap, "%" PRIu64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60),
			(int)(s % 60));
	else
		snprintf(out, cap, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

/* "  28%  11M done  107M/s  0:03 left" */
static void describe(char *out, size_t cap, const struct cli_progress *p, uint64_t done,
	uint64_t total, uint64_t bytes)
{
	double seconds = (double)MAX(p->last_ns - p->start_ns, 1) / 1e9;
	double rate = (double)done / seconds;
	size_t n = 0;
	char a[32], b[32];

	*out = '\0';
	if (total)
		n += (size_t)snprintf(
			out, cap, "  %3.0f%%", 100.0 * (double)MIN(done, total) / (double)total);
	short_number(a, sizeof(a), (double)done, 1000);
	short_number(b, sizeof(b), rate, 1000);
	if (!p->percent_only)
		n += (size_t)snprintf(out + n, cap - n, "  %s done  %s/s", a, b);
	short_number(a, sizeof(a), (double)bytes / seconds, 1000);
	if (bytes)
		n += (size_t)snprintf(out + n, cap - n, "  %sB/s", a);
	if (total > done && rate > 0) {
		time_left(a, sizeof(a), (double)(total - done) / rate);
		snprintf(out + n, cap - n, "  %s left", a);
	}
}

/* Columns of the terminal that stderr is; 0: it is none. */
static int terminal_width(void)
{
	struct winsize w;

	if (!isatty(STDERR_FILENO))
		return 0;
	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col ? w.ws_col : 80;
}

void cli_progress_label(struct cli_progress *p, const char *label)
{
	if (!strncmp(p->label, label, sizeof(p->label) - 1))
		return;
	snprintf(p->label, sizeof(p->label), "%s", label);
	p->last_ns = INT64_MIN / 2;
}

void cli_progress_update(struct cli_progress *p, uint64_t done, uint64_t total, uint64_t bytes)
{
	char text[160];
	int width, room;
	int64_t now;

	if (!p->active)
		return;
	now = util_now_ns();
	if (now - p->last_ns < TERMINAL_EVERY_NS)
		return;
	width = terminal_width();
	if (!width && now - p->last_ns < PIPE_EVERY_NS)
		return;
	p->last_ns = now;
	describe(text, sizeof(text), p, done, total, bytes);
	if (!width) {
		fprintf(stderr, "%s:%s\n", p->label, text);
		return;
	}
	/* a line that wraps could not be taken back: the label gives way, then the end */
	room = width - 1 - (int)strlen(text) - 1;
	if (room > 0)
		fprintf(stderr, "\r%.*s:%s\033[K", room, p->label, text);
	else
		fprintf(stderr, "\r%.*s\033[K", width - 1, text);
	fflush(stderr);
}

void cli_progress_end(struct cli_progress *p)
{
	if (p->active && isatty(STDERR_FILENO) && p->last_ns != p->start_ns) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	p->active = false;
}

/* What is cleaned up after the first is done in a moment: a second soon after it is an impatient
 * finger or a supervisor that sends two, and must not leave half of it. */
static void on_signal(int sig)
{
	static volatile int64_t first_ns;
	int err = errno;

	if (!cli_stop_flag) {
		first_ns = util_now_ns();
		cli_stop_flag = sig;
	} else if (util_now_ns() - first_ns > PATIENCE_NS) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
	errno = err;
}

void cli_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction old;
	struct sigaction sa = {.sa_handler = on_signal};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		/* what nohup or a shell's & ignores stays ignored */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &sa, NULL);
	}
}
