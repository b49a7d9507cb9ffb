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
