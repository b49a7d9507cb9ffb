#!/bin/bash
# compare: no storage at all against a directory: every run true to the recording, the directory
# slower with confidence, beyond --limit.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/compare_lib.sh"
need jq
mkdir "$T/a"
new_trace files 40 500000

expect 1 "$IOTAPE" compare "$T/files.tape" --on null: --on "$T/a" --limit=10% --json="$T/j.json" \
	>"$T/txt"
holds "$T/j.json" '.comparisons[0] | .verdict == "slower" and .ratio > 1.1 and .ci95[0] > 1.1'
holds "$T/j.json" '[.cells[].runs[].mismatches] | add == 0'
holds "$T/j.json" '[.comparisons[].where[] | has("op") and has("share_of_difference_percent")] | length > 0 and all'
holds "$T/j.json" '[.comparisons[0].where[].share_of_difference_percent] | add | . > 99.9 and . < 100.1'
grep -q 'dir is slower than null' "$T/txt" || die "no sentence: $(cat "$T/txt")"
grep -q 'of the .* s more on dir:' "$T/txt" || die "no breakdown: $(cat "$T/txt")"
left_nothing "$T/a"
ok "a directory is slower than no storage, exit 1 beyond the limit"

# the other way round nothing is slower, so no limit is passed
expect 0 "$IOTAPE" compare "$T/files.tape" --on "$T/a" --on null: --limit=0% --format=json >"$T/j.json"
holds "$T/j.json" '.comparisons[0] | .verdict == "faster" and .ci95[1] < 1'
ok "no storage is faster, which is within any limit"
