#!/usr/bin/env bash
# Whatever signal ends a recording, and whenever: the trace is whole and nothing stays mounted.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root

gone() { local i; for i in $(seq 120); do kill -0 "$1" 2>/dev/null || return 0; sleep 0.05; done; die "process $1 goes on after $2"; }
clean() { ! grep -q " $T/" /proc/self/mounts || die "$1: a mount stays: $(grep " $T/" /proc/self/mounts)"; }
trailer() { "$IOTAPE" dump "$1" | grep "^#trailer " || die "$1 has no trailer"; }
mkdir "$T/d" "$T/m"
echo one >"$T/d/f"

for sig in INT TERM HUP; do
	pid=$("$IOTAPE" record --force -o "$T/a.tape" "$T/d" "$T/m" | tail -1)
	echo "$sig" >"$T/m/last-$sig"
	kill -$sig "$pid"
	gone "$pid" $sig
	clean $sig
	trailer "$T/a.tape" | grep -q "reason=\"SIG$sig\"" || die "SIG$sig is not the reason"
	"$IOTAPE" dump "$T/a.tape" | grep -q " create .*name=\"last-$sig\" = 0" || die "what came before SIG$sig is missing"
done
ok "SIGINT, SIGTERM, SIGHUP"

# in front
"$IOTAPE" record -f --force -o "$T/a.tape" "$T/d" "$T/m" 2>"$T/err" & pid=$!
IT_PIDS+=($pid)
for i in $(seq 100); do grep -q " $T/m fuse" /proc/self/mounts && break; sleep 0.05; done
[ "$(cat "$T/m/f")" = one ] || die "not usable in front"
kill -TERM $pid
wait $pid || die "record -f ended with $?: $(cat "$T/err")"
clean "-f"
grep -q "operations in" "$T/err" || die "no summary"
ok "in front"

# a file open at the end: the handle is cut off, the rest is as always
pid=$("$IOTAPE" record --force -o "$T/a.tape" "$T/d" "$T/m" | tail -1)
exec 9<>"$T/m/f"
kill -TERM "$pid"
gone "$pid" "SIGTERM while busy"
exec 9>&-
clean busy
trailer "$T/a.tape" >/dev/null
ok "busy mount"

# during the start, at many moments
for ms in 0 1 2 3 4 5 6 8 10 15 20 30; do
	setsid "$IOTAPE" record -f --force -o "$T/s.tape" "$T/d" "$T/m" 2>/dev/null & pid=$!
	IT_PIDS+=($pid)
	sleep "0.$(printf %03d $ms)"
	kill -TERM $pid 2>/dev/null
	gone $pid "SIGTERM after $ms ms"
	clean "SIGTERM after $ms ms"
	wait $pid
done
ok "signals during the start"

# SIGINT for COMMAND and recorder, as a terminal sends it; and for the recorder alone: it is passed on
for to in group alone; do
	for i in $(seq 200); do grep -q " $T/m " /proc/self/mounts || break; sleep 0.05; done
	setsid bash -c 'trap - INT; exec "$@"' sh "$IOTAPE" record --force -o "$T/c.tape" "$T/d" "$T/m" -- \
		sh -c "trap 'echo got >$T/got; exit 5' INT; echo >$T/m/started-$to; while :; do sleep 0.05; done" 2>/dev/null & pid=$!
	IT_PIDS+=($pid)
	for i in $(seq 600); do [ -e "$T/d/started-$to" ] && break; sleep 0.05; done
	rm -f "$T/got"
	# a job of a script starts with SIGINT ignored; python sets it back
	[ $to = group ] && /usr/bin/python3 -c 'import os,sys,signal; os.killpg(int(sys.argv[1]), signal.SIGINT)' $pid || kill -INT $pid
	wait $pid
	r=$?
	[ -e "$T/got" ] || die "SIGINT ($to) did not reach the command"
	[ $r = 5 ] || die "status $r, not that of the command"
	clean "SIGINT to $to"
	trailer "$T/c.tape" | grep -q 'reason="command ended"' || die "SIGINT ($to): $(trailer "$T/c.tape")"
done
ok "SIGINT with a command"
