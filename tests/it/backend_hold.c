/* SPDX-License-Identifier: MIT */
/*
 * Stands a backend up as a replay does (mounts seen by this process alone), prints its directory
 * and `how`, waits for the end of its input or a signal, and takes it down. With a number N before
 * the spec: N times up and down without waiting.
 * usage: backend_hold [-c] [-k] [-d DEVICE] [-n N] SPEC       -c: cold each time; -k: keep
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "iotape/backend.h"

static volatile int stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static int once(struct backend *b, bool wait, bool cold)
{
	char c;
	int r = backend_up(b);

	if (r < 0)
		return r;
	if (wait) {
		printf("%s\n%s\n%llu\n%llu\n", backend_root_path(b) ? backend_root_path(b) : "-",
			backend_how(b), (unsigned long long)backend_allocated_bytes(b),
			(unsigned long long)backend_capacity_bytes(b));
		fflush(stdout);
		while (!stop && read(0, &c, 1) == 1)
			if (cold && backend_cold(b) < 0)
				fprintf(stderr, "cold: %s\n", fail_text());
	}
	return backend_down(b);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_signal};
	const char *destroy[2] = {NULL, NULL};
	struct backend_policy pol = {.destroy = destroy, .stop = &stop};
	struct backend *b = NULL;
	bool cold = false;
	int c, r, n = 0;

	while ((c = getopt(argc, argv, "ckd:n:")) != -1) {
		if (c == 'c')
			cold = true;
		else if (c == 'k')
			pol.keep = true;
		else if (c == 'd')
			destroy[0] = optarg;
		else if (c == 'n')
			n = atoi(optarg);
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	r = optind < argc ? backend_new(&b, argv[optind], &pol) : fail(-1, "no spec");
	for (int i = 0; !r && i < (n ? n : 1); i++)
		r = once(b, !n, cold);
	if (r < 0)
		fprintf(stderr, "backend_hold: %s\n", fail_text());
	backend_free(b);
	return r < 0 ? 2 : 0;
}
