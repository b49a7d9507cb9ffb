#!/usr/bin/env bash
# The quick start, in small: its table has every storage for every workload, nothing mismatches, nothing stays behind.
. "$(dirname "$0")/lib.sh"
need_fuse
need_loop
need sshd scp jq meson ninja qemu-img mkfs.btrfs mkfs.ext4

QS=$IOTAPE_SRC/samples/quickstart.sh
mkdir "$T/work"
# ended in the middle by a signal to the script alone: all of it ends, nothing stays but results
for at in "2/4:TERM" "3/4:INT" "large file, write:TERM" "4/4:HUP" "round [2-4] of 6:INT"; do
	words=${at%:*} sig=${at##*:} o=$T/cut
	quick=(--iotape="$IOTAPE"); [ "$words" = 2/4 ] && quick=()
	env --default-signal=INT --default-signal=HUP "$QS" --size=1 --rounds=6 --work="$T/work" --out="$o" "${quick[@]}" >"$T/out" 2>"$T/err" &
	p=$!
	IT_PIDS+=($p)
	for _ in $(seq 2400); do grep -q "$words" "$T/err" && break; kill -0 $p 2>/dev/null || break; sleep .05; done
	kill -$sig $p || die "ended before '$words': $(tail -3 "$T/err")"
	wait $p; r=$?
	[ $r = 130 ] || die "SIG$sig at '$words': exit $r: $(tail -3 "$T/err")"
	grep -q "interrupted in step [234]/4" "$T/err" || die "SIG$sig at '$words' says: $(tail -2 "$T/err")"
	[ -z "$(ls -A "$T/work")" ] || die "SIG$sig at '$words' left: $(ls -A "$T/work")"
	left=$(losetup -l -n -O BACK-FILE | grep -F "$T/"; grep -F "$T/" /proc/self/mounts; pgrep -af "$T/work" | grep -v pgrep)
	[ -z "$left" ] || die "SIG$sig at '$words' left: $left"
	rm -rf "$o"
done
ok "ended by a signal in every step: nothing stays but results"
refused() { # WORDS ARG...
	local words=$1; shift
	expect 2 "$QS" --iotape="$IOTAPE" "$@" >"$T/out" 2>"$T/err"
	grep -q -- "$words" "$T/err" && [ "$(wc -l <"$T/err")" = 1 ] || die "$* says: $(cat "$T/err")"
	[ ! -e "$T/result" ] || die "$*: made its result folder"
}
mkdir "$T/tiny" "$T/old"; mount -t tmpfs -o size=1g tmpfs "$T/tiny" || die "no tmpfs"
refused "needs 4096 MB free in $T/tiny, there are 1024" --work="$T/tiny" --out="$T/result"
umount "$T/tiny"
refused "exists; name another folder" --work="$T/work" --out="$T/old"
refused "cannot make" --work=/proc/none --out="$T/result"
refused "--size takes 1 to 100" --size=0
if command -v setpriv >/dev/null; then
	chmod 755 "$T"
	expect 2 setpriv --reuid=65534 --regid=65534 --clear-groups bash "$QS" --out=/tmp/none 2>"$T/err"
	grep -q "needs root" "$T/err" || die "as a user: $(cat "$T/err")"
fi
ok "refusals: one line each"
# the whole of it, in a place with an odd name that is not there yet
rmdir "$T/work"; W2="$T/work, a b"
"$QS" --size=2 --rounds=6 --work="$W2" --out="$T/result" >"$T/out" 2>"$T/err" ||
	{ r=$?; cat "$T/out" "$T/err"; die "the quick start ended with $r"; }
[ ! -e "$W2" ] || die "left behind: $(find "$W2")"
left=$(losetup -l -n -O BACK-FILE | grep -F "$T/"; grep -F "$T/" /proc/self/mounts)
[ -z "$left" ] || die "left attached or mounted: $left"
j=$T/result/compare.json
[ "$(jq '.cells | length' "$j")" = 20 ] || die "$(jq '.cells | length' "$j") cells, not 4 workloads on 5 backends"
for w in large-write large-read small-write small-read; do
	[ -s "$T/result/$w.tape" ] || die "no trace $w"
	for b in directory rdm vmdk-thin vmdk-eager raid1; do
		jq -e --arg w $w --arg b $b '.cells[] | select(.workload == $w and .backend == $b) |
			(.runs | length) == 6 and .median_seconds > 0 and .ci95_seconds[0] <= .median_seconds and
			.median_seconds <= .ci95_seconds[1] and .fidelity.matched_percent == 100 and
			([.runs[] | .mismatches] | add) == 0 and all(.runs[]; .iops > 0 and .mb_per_s > 0 and .mean_ms > 0 and
			.p99_ms > 0 and .cpu_percent >= 0)' "$j" >/dev/null || die "cell $w on $b: $(jq -c --arg w $w --arg b $b \
			'.cells[] | select(.workload == $w and .backend == $b)' "$j")"
	done
done
[ "$(jq '.comparisons | length' "$j")" = 16 ] || die "$(jq '.comparisons | length' "$j") comparisons, not 16"
cmp -s "$T/out" "$T/result/compare.txt" || die "compare.txt is not what was printed"
ok "20 cells, 16 comparisons, no mismatch, nothing left behind"
