#!/bin/bash
# compare: SIGINT ends it after cleaning up; what had ended is reported and marked, exit 2.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/compare_lib.sh"
need jq
mkdir "$T/a" "$T/b"
new_trace w 30 400000

for sig in INT TERM; do
	# what a shell puts into the background ignores SIGINT otherwise
	env --default-signal=INT "$IOTAPE" compare "$T/w.tape" --on "a=$T/a" --on "b=$T/b" --rounds=5000 --progress \
		--json="$T/$sig.json" >"$T/$sig.txt" 2>"$T/$sig.err" &
	p=$!
	IT_PIDS+=($p)
	# until a second round is under way
	for _ in $(seq 600); do
		grep -q 'round [2-9]' "$T/$sig.err" && break
		kill -0 $p 2>/dev/null || break
		sleep 0.05
	done
	kill -$sig $p || die "it ended by itself: $(cat "$T/$sig.err")"
	wait $p
	r=$?
	[ $r = 2 ] || die "SIG$sig: exit $r, not 2: $(tail -20 "$T/$sig.err")"
	tail -1 "$T/$sig.err" | grep -q interrupted || die "SIG$sig says: $(tail -1 "$T/$sig.err")"
	head -1 "$T/$sig.txt" | grep -q INTERRUPTED || die "SIG$sig: the report is not marked"
	holds "$T/$sig.json" '.interrupted and ([.cells[].runs | length] | add) >= 2 and .rounds == 5000'
	holds "$T/$sig.json" '[.cells[].runs[].mismatches] | add == 0'
	left_nothing "$T/a" "$T/b"
	ok "SIG$sig: partial report, marked, nothing left"
done

# before anything ended: nothing to say, but nothing left either
env --default-signal=INT "$IOTAPE" compare "$T/w.tape" --on "a=$T/a" --pace=clock --speed=0.0001 >"$T/x.txt" 2>"$T/x.err" &
p=$!
IT_PIDS+=($p)
for _ in $(seq 200); do
	[ -n "$(ls -A "$T/a")" ] && break
	sleep 0.05
done
kill -INT $p
wait $p
r=$?
[ $r = 2 ] || die "in the first run: exit $r, not 2: $(cat "$T/x.err")"
left_nothing "$T/a"
ok "in the middle of the first run"

# on storage that is stood up, at any moment
if [ "$(id -u)" != 0 ] || [ ! -c /dev/loop-control ] || ! command -v qemu-img mkfs.btrfs >/dev/null; then
	ok "the rest needs root, loop devices, qemu-img and mkfs.btrfs"
	exit 0
fi
mkdir "$T/s" "$T/s/d"
new_trace small 4 100000
rate=,rate=200M
"$IOTAPE" backend check "rdm:$T/s/r.img,size=64M$rate" >/dev/null 2>&1 || rate=
on=(--on "dir:$T/s/d" --on "r=rdm:$T/s/r.img,size=64M$rate" --on "t=vmdk:$T/s/t.vmdk,size=64M"
	--on "e=vmdk:$T/s/e.vmdk,size=64M,provision=eager" --on "m=raid1:$T/s/a.img,$T/s/b.img,size=128M")
attached() { losetup -l -n -O BACK-FILE | grep -F "$T/"; grep -F "$T/" /proc/self/mounts; }
# rules of loop devices that nobody has attached
rules() {
	cat /sys/fs/cgroup/blkio/blkio.throttle.{read,write}_{bps,iops}_device 2>/dev/null | while read -r dev _; do
		[ -e "/sys/dev/block/$dev/loop" ] || echo "rule of $dev"
	done
}
nothing() { # WHAT
	for _ in $(seq 100); do [ -z "$(attached; rules)" ] && return; sleep .1; done
	die "$1 left: $(attached; rules)"
}
start() { # sets p; returns when it has been at it for about MS milliseconds
	env --default-signal=INT --default-signal=HUP "$IOTAPE" compare "$T/small.tape" "${on[@]}" --rounds=500 --force >"$T/k.txt" 2>"$T/k.err" &
	p=$!
	IT_PIDS+=($p)
	sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}
for sig in TERM INT HUP; do
	for twice in 0 0 1; do
		start $((RANDOM % 800))
		# before it catches signals it has nothing to clean up, and is killed
		kill -$sig $p; [ $twice = 0 ] || kill -$sig $p 2>/dev/null
		wait $p; r=$?
		[ $r = 2 ] || [ $r -gt 128 -a ! -s "$T/k.txt" ] || die "SIG$sig ($twice): exit $r: $(cat "$T/k.err")"
		nothing "SIG$sig ($twice)"
		left_nothing "$T/s/d"
		[ "$(ls "$T/s")" = d ] || die "SIG$sig ($twice) left: $(ls "$T/s")"
	done
done
ok "signals at any moment, also two of them: nothing left"
for i in $(seq 8); do
	start $((RANDOM % 1200))
	kill -KILL $p; wait $p 2>/dev/null
	nothing SIGKILL
	[ -z "$(find "$T/s" -mindepth 1 -maxdepth 1 ! -type f ! -name d)" ] || die "more than files: $(ls -l "$T/s")"
	for _ in 1 2; do
		"$IOTAPE" compare "$T/small.tape" "${on[@]}" --rounds=1 --force >/dev/null 2>"$T/k.err" && break
		grep -q 'was left by iotape when it was killed .*: rm ' "$T/k.err" || die "says: $(cat "$T/k.err")"
		sh -c "$(sed 's/.*: rm /rm /' "$T/k.err")" || die "cannot be run: $(cat "$T/k.err")"
	done
	[ "$(ls "$T/s")" = d ] || die "still left: $(ls "$T/s"): $(cat "$T/k.err")"
	rm -rf "$T"/s/d/*
done
ok "SIGKILL at any moment: files at most, and one command that removes them"
