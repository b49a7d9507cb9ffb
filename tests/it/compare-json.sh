#!/bin/bash
# compare --format=json: the fixed keys are all there, have their types, and agree with each other.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/compare_lib.sh"
need jq
mkdir "$T/a" "$T/b"
new_trace w 10 200000
J=$T/j.json
expect 0 "$IOTAPE" compare "$T/w.tape" --on "a=$T/a" --on "b=dir:$T/b" --format=json --json="$T/f.json" >"$J"

has() { # PATH KEY...: every object at PATH has each key
	local path=$1 k
	shift
	for k; do holds "$J" "[$path | has(\"$k\")] | length > 0 and all"; done
}
has . iotape rounds order pace cache machine workloads backends cells comparisons
has '.workloads[]' name trace ops read_bytes write_bytes threads
has '.backends[]' name kind spec fs how
has '.cells[]' workload backend runs median_seconds ci95_seconds fidelity
has '.cells[].runs[]' round seconds mb_per_s iops mean_ms p50_ms p95_ms p99_ms max_ms cpu_percent \
	mismatches first_touch_write_ms overwrite_ms ops
has '.cells[].runs[].ops.write' count bytes total_ms mean_ms p50_ms p99_ms
has '.cells[].fidelity' matched_percent order_violations start_lag_p99_us
has '.comparisons[]' workload baseline backend ratio ci95 verdict where
holds "$J" '[.comparisons[] | .where == [] or .verdict != "no difference shown"] | all'
holds "$J" '[.comparisons[].verdict] | inside(["slower", "faster", "no difference shown"])'
ok "every fixed key"

holds "$J" '.order == "resource" and .pace == "asap" and .cache == "cold" and .interrupted == false'
holds "$J" '.workloads[0] | .name == "w" and .threads == 2 and .write_bytes == 2000000 and .read_bytes == 2000000'
holds "$J" '[.backends[] | .kind == "dir"] | all'
holds "$J" '[.cells[].runs | [.[].round] | sort == [1,2,3,4,5,6]] | all'
holds "$J" '[.cells[].runs[].position] | sort == [range(1; 13)]'
holds "$J" '[.cells[] | .median_seconds >= .ci95_seconds[0] and .median_seconds <= .ci95_seconds[1]] | all'
holds "$J" '[.cells[] | ([.runs[].seconds] | min) == .ci95_seconds[0] and ([.runs[].seconds] | max) == .ci95_seconds[1]] | all'
holds "$J" '[.cells[].runs[] | .ops.write.bytes == 2000000 and .ops.read.bytes == 2000000 and .ops.create.count == 10] | all'
holds "$J" '[.cells[].runs[] | (.mb_per_s * .seconds - 4) | fabs < 0.001] | all'
holds "$J" '[.cells[].runs[] | (.iops * .seconds - .data_calls) | fabs < 0.001] | all'
holds "$J" '[.cells[].runs[] | .p50_ms <= .p95_ms and .p95_ms <= .p99_ms and .p99_ms <= .max_ms] | all'
holds "$J" '.comparisons[0] as $p | ([.cells[0].runs, .cells[1].runs] | transpose | map(.[1].seconds / .[0].seconds) | sort) as $r
	| ($r[2] + $r[3]) / 2 - $p.ratio | fabs < 1e-6'
holds "$J" '.machine | .cpus > 0 and .memory_bytes > 0 and (.kernel | startswith("Linux"))'
ok "the figures agree with each other"

cmp <(jq -S . "$J") <(jq -S . "$T/f.json") || die "--json=FILE is another document"
[ "$(grep -c . "$T/f.json")" -gt 10 ] || die "nothing in --json=FILE"
# an older, longer file is replaced, not overlaid
{ cat "$T/f.json"; head -c 200000 /dev/zero | tr '\0' x; } >"$T/old.json"
expect 0 "$IOTAPE" compare "$T/w.tape" --on "a=$T/a" --rounds=1 --json="$T/old.json" >/dev/null
jq -e '.comparisons == [] and .rounds == 1' "$T/old.json" >/dev/null || die "old content in the new JSON"
ok "--json=FILE"
