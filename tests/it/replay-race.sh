#!/usr/bin/env bash
# Eight threads race for the same four names: create, link, rename, remove, ENOENT and EEXIST included.
# In `resource` order every replay has every result; in `thread` order it has not, so the race was one.
. "$(dirname "$0")/lib.sh"
need_fuse
need gcc jq
: "${RACES:=3}" "${REPLAYS:=7}"
cat >"$T/race.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static unsigned seed;
static ssize_t unused;
static void use(int fd, int write_bytes)
{
	static char none[200];
	char buf[512];
	if (fd < 0)
		return;
	unused = write_bytes ? write(fd, none, (size_t)write_bytes) : read(fd, buf, sizeof(buf));
	close(fd);
}
static void *work(void *arg)
{
	unsigned s = (unsigned)(uintptr_t)arg * 2654435761u + seed * 7919u;
	char a[8], b[8];
	struct stat st;
	for (int i = 0; i < 300; i++) {
		s = s * 1103515245u + 12345u;
		snprintf(a, sizeof(a), "n%u", s >> 16 & 3);
		snprintf(b, sizeof(b), "n%u", s >> 20 & 3);
		switch ((s >> 24) % 11) {
		case 0: use(open(a, O_CREAT | O_EXCL | O_RDWR, 0644), 100); break;
		case 1: use(open(a, O_CREAT | O_RDWR, 0644), 200); break;
		case 2: use(open(a, O_RDONLY), 0); break;
		case 3: unused = unlink(a); break;
		case 4: unused = rename(a, b); break;
		case 5: unused = mkdir(a, 0755); break;
		case 6: unused = rmdir(a); break;
		case 7: unused = link(a, b); break;
		case 8: unused = stat(a, &st); break;
		case 9: unused = chmod(a, 0600 | (s >> 22 & 077)); break;
		case 10: unused = truncate(a, s >> 22 & 255); break;
		}
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[8];
	seed = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}
C
gcc -O1 -o "$T/race" "$T/race.c" -lpthread || die "the workload does not compile"
mkdir "$T/on"
unordered=0
for race in $(seq "$RACES"); do
	rm -rf "$T/src" "$T/mnt" "$T/t.tape"; mkdir "$T/src" "$T/mnt"
	"$IOTAPE" record -o "$T/t.tape" "$T/src" "$T/mnt" -- sh -c "cd '$T/mnt' && '$T/race' $race" 2>"$T/err" || die "$(cat "$T/err")"
	for i in $(seq "$REPLAYS"); do
		"$IOTAPE" replay --format=json "$T/t.tape" "$T/on" >"$T/out" 2>"$T/err" ||
			die "race $race, replay $i: $("$IOTAPE" replay "$T/t.tape" "$T/on" | grep -A10 '^fidelity'; cat "$T/err")"
		jq -e '.replay | .mismatched + .skipped + .environmental + .order_violations == 0' "$T/out" >/dev/null ||
			die "race $race, replay $i: $(jq -c .replay "$T/out")"
	done
	"$IOTAPE" replay --order=thread "$T/t.tape" "$T/on" >/dev/null 2>&1
	[ $? = 1 ] && unordered=$((unordered + 1))
done
[ "$unordered" -gt 0 ] || die "no mismatch in thread order either: no race"
ok "$RACES races, $REPLAYS replays each: no mismatch; $unordered of $RACES show some in thread order"
