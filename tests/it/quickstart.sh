#!/usr/bin/env bash
# The quick start, in small: its table has every storage for every workload, nothing mismatches, nothing stays behind.
. "$(dirname "$0")/lib.sh"
need_fuse
need_loop
need sshd scp jq meson ninja qemu-img mkfs.btrfs mkfs.ext4

mkdir "$T/work"
"$IOTAPE_SRC/samples/quickstart.sh" --size=2 --rounds=6 --work="$T/work" --out="$T/result" >"$T/out" 2>"$T/err" ||
	{ cat "$T/out" "$T/err"; die "the quick start ended with $?"; }
[ -z "$(ls -A "$T/work")" ] || die "left behind in the work folder: $(ls -A "$T/work")"
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
expect 2 "$IOTAPE_SRC/samples/quickstart.sh" --size=0 2>/dev/null
ok "20 cells, 16 comparisons, no mismatch, nothing left behind"
