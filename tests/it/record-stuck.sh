#!/bin/bash
# A stop while calls hang for good in the file system below (its server is stopped), and while many wait
# for a lock: the mount goes, those who hang are cut off, the trace is closed, and it is said how many.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root; need python3
mkdir "$T/deep" "$T/low" "$T/up"
for i in 1 2 3 4 5; do echo "$i" >"$T/deep/f$i"; done
lower=
at_exit() { [ -z "$lower" ] || kill -CONT "$lower" 2>/dev/null; }
mounted() { grep -q " $T/$1 fuse" /proc/self/mounts; }
wait_for() { # wait_for WHAT CMD...: a minute is for a busy machine
	local what=$1 i
	shift
	for i in $(seq 1200); do "$@" && return; sleep 0.05; done
	die "waited in vain: $what"
}
gone() { ! mounted "$1"; }
over() { [ ! -d "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }
hangs() { grep -q 'State:.[SD]' "/proc/$1/status" && [ "$(cut -d' ' -f1 "/proc/$1/syscall" 2>/dev/null)" = "$2" ]; }
closed() { "$IOTAPE" dump "$1" 2>/dev/null | grep -q "^#trailer .*reason=\"$2\""; }
start() { # start ARGS...: a recorder in front, its pid in $up
	"$IOTAPE" record -f --force -o "$T/a.tape" "$@" 2>"$T/err" & up=$!
	IT_PIDS+=("$up")
	wait_for "the mount" mounted up
}

cat >"$T/reader.py" <<'P'
import os, sys, time
name, ready, go = sys.argv[1:]
f = os.open(name, os.O_RDWR)
open(ready, "w")
while not os.path.exists(go): time.sleep(0.01)
try: print("read", os.pread(f, 100, 0))
except OSError as e: print("error", e.errno)
P
summary() { sed -n 's/^iotape: calls that were under way at the end and failed: \([0-9]*\)$/\1/p' "$T/err"; }

lower=$("$IOTAPE" record --no-record "$T/deep" "$T/low" | tail -1) || die "lower mount"
start "$T/low" "$T/up"
[ "$(cat "$T/up/f4")" = 4 ] || die "not usable"
for i in 1 2 3; do
	/usr/bin/python3 "$T/reader.py" "$T/up/f$i" "$T/ready$i" "$T/go" >"$T/said$i" 2>&1 & reader[$i]=$!
	IT_PIDS+=("${reader[$i]}")
done
for i in 1 2 3; do wait_for "reader $i" test -e "$T/ready$i"; done
kill -STOP "$lower"
touch "$T/go"
for i in 1 2 3; do wait_for "reader $i hangs" hangs "${reader[$i]}" 17; done
kill -TERM $up
wait_for "the mount is gone" gone up
for i in 1 2 3; do
	wait_for "reader $i is cut off" over "${reader[$i]}"
	case $(cat "$T/said$i") in "error 103" | "error 107") ;; *) die "reader $i: $(cat "$T/said$i")" ;; esac
done
wait_for "the trace is closed" closed "$T/a.tape" SIGTERM
"$IOTAPE" check "$T/a.tape" >/dev/null || die "the trace is damaged"
"$IOTAPE" dump "$T/a.tape" | grep -q ' lookup .*name="f4" = 0' || die "what came before is missing"
wait_for "a summary" grep -q "under way" "$T/err"
[ "$(summary)" = 3 ] || die "not 3 calls cut off: $(cat "$T/err")"
grep -q "$T/low: calls of the file system below do not come back" "$T/err" || die "not said: $(cat "$T/err")"
kill -CONT "$lower"
wait $up
[ $? = 2 ] || die "exit status"
umount "$T/low" || die "the lower mount"
ok "three readers that hang in the storage: $(grep -c . "$T/err") lines: $(tail -1 "$T/err")"

# a lock that many wait for, more than there are threads for requests
start "$T/deep" "$T/up"
/usr/bin/python3 - "$T/up/f5" "$T/locked" "$T/waiting" <<'P' >"$T/said" 2>&1 & locker=$!
import errno, fcntl, os, sys
name, locked, waiting = sys.argv[1:]
f = os.open(name, os.O_RDWR)
fcntl.flock(f, fcntl.LOCK_EX)
r, w = os.pipe()
for i in range(300):
    if os.fork() == 0:
        g = os.open(name, os.O_RDWR)
        os.write(w, b".")
        try: fcntl.flock(g, fcntl.LOCK_EX)
        except OSError as e: os._exit(0 if e.errno in (errno.ENOTCONN, errno.ECONNABORTED) else e.errno % 250 + 1)
        os._exit(2)
n = 0
while n < 300: n += len(os.read(r, 300))
open(waiting, "w")
bad = [s for s in (os.wait()[1] for i in range(300)) if s]
print(len(bad), "of 300 ended otherwise:", bad[:5]) # errno 512, which is none, is 13 << 8
P
IT_PIDS+=($locker)
wait_for "the waiters" test -e "$T/waiting"
inflight() { ls "/proc/$up/task" | wc -l; }
many() { [ "$(inflight)" -gt 300 ]; }
wait_for "the waiters wait" many
kill -TERM $up
wait $up || die "ended with $?: $(cat "$T/err")"
wait $locker || die "the waiters: $(cat "$T/said")"
grep -q '^0 of 300' "$T/said" || die "$(cat "$T/said")"
gone up || die "a mount stays"
closed "$T/a.tape" SIGTERM || die "no trailer"
n=$(summary)
[ "$n" = 300 ] || die "$n calls cut off, not 300: $(cat "$T/err")"
ok "300 waiters for a lock"
