#!/bin/bash
# compare: a known slow backend comes out as slower, one directory against itself does not; limits,
# names, refusals and what is left behind.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/compare_lib.sh"
need jq
mkdir "$T/a" "$T/b"
new_trace files 20 300000
new_trace other 4 1000000

expect 0 "$IOTAPE" compare "$T/files.tape" --on "one=$T/a" --on "two=$T/b" --seed=7 \
	--json="$T/aa.json" >"$T/aa.txt"
holds "$T/aa.json" '.rounds == 6 and .seed == 7 and (.cells | length) == 2'
holds "$T/aa.json" '[.cells[].runs[].mismatches] | add == 0'
holds "$T/aa.json" '[.cells[].fidelity.matched_percent] | all(. == 100)'
grep -q '^  one .* baseline$' "$T/aa.txt" || die "no row of the baseline: $(cat "$T/aa.txt")"
awk 'length > 120 && !/^(workload|backend) / {exit 1}' "$T/aa.txt" || die "wider than 120 columns"
left_nothing "$T/a" "$T/b"
ok "two directories: report and JSON, every result as recorded, nothing left"

# what ran in which order is the seed's doing
order() { jq -c '[.cells[] as $c | $c.runs[] | {position, b: $c.backend}] | sort_by(.position) | map(.b)' "$1"; }
expect 0 "$IOTAPE" compare "$T/files.tape" --on "one=$T/a" --on "two=$T/b" --seed=7 \
	--json="$T/again.json" >/dev/null
[ "$(order "$T/aa.json")" = "$(order "$T/again.json")" ] || die "same seed, other order"
expect 0 "$IOTAPE" compare "$T/files.tape" --on "one=$T/a" --on "two=$T/b" --seed=8 \
	--json="$T/other.json" >/dev/null
[ "$(order "$T/aa.json")" != "$(order "$T/other.json")" ] || die "another seed, same order"
ok "the order repeats by its seed"

# names: of files without .tape, made unique; --aa puts the first in twice
cp "$T/files.tape" "$T/a/files.tape" && mkdir "$T/in" && mv "$T/a/files.tape" "$T/in/"
expect 0 "$IOTAPE" compare "$T/files.tape" "$T/in/files.tape" "$T/other.tape" --on "$T/a" \
	--on "$T/b" --aa --rounds=1 --format=json >"$T/names.json"
holds "$T/names.json" '[.workloads[].name] == ["files", "files-2", "other"]'
holds "$T/names.json" '[.backends[].name] == ["dir", "dir-again", "dir-2"]'
holds "$T/names.json" '[.cells[].ci95_seconds, .comparisons[].ci95] | all(. == null)'
holds "$T/names.json" '[.comparisons[].verdict] | all(. == "no difference shown")'
holds "$T/names.json" '[.comparisons[].where] | all(. == [])'
expect 0 "$IOTAPE" compare "$T/other.tape" --on null: --on "$T/a" --rounds=2 >"$T/few.txt"
tr '\n' ' ' <"$T/few.txt" | tr -s ' ' >"$T/few"
grep -q '; 2 rounds give no interval and so no verdict, 6 are the least\.' "$T/few" &&
	grep -q '! 2 rounds give no 95 % interval of a median and no verdict' "$T/few" &&
	! grep -q 'difference comes from' "$T/few" || die "two rounds: $(cat "$T/few.txt")"
ok "names are made unique, one round gives no interval"

# --baseline turns the comparison round
expect 0 "$IOTAPE" compare "$T/other.tape" --on "one=$T/a" --on "two=$T/b" --baseline=two \
	--rounds=1 --format=json >"$T/base.json"
holds "$T/base.json" '.comparisons | length == 1 and .[0].baseline == "two" and .[0].backend == "one"'
ok "--baseline"

refused() { # WORDS ARG...: exit 2, one line on stderr that has WORDS, nothing on stdout
	local words=$1
	shift
	expect 2 "$IOTAPE" compare "$@" >"$T/out" 2>"$T/err"
	[ ! -s "$T/out" ] || die "output although refused: $*"
	[ "$(wc -l <"$T/err")" = 1 ] && grep -qF -e "$words" "$T/err" || die "'$*' says: $(cat "$T/err")"
}
refused "--on" "$T/files.tape"
refused "usage" --on "$T/a"
refused "nothing" "$T/missing.tape" --on "$T/a" --baseline=nothing
refused "missing.tape" "$T/missing.tape" --on "$T/a"
refused "backend gone" "$T/files.tape" --on "one=$T/a" --on "gone=$T/none"
refused "--rounds" "$T/files.tape" --on "$T/a" --rounds=0
refused "--speed" "$T/files.tape" --on "$T/a" --speed=-1
refused "--pace: 'fast' is none of asap, think, clock" "$T/files.tape" --on "$T/a" --pace=fast
refused "did you mean mirror?" "$T/files.tape" --on "mirror=$T/a" --baseline=miror
refused "did you mean vmdk?" "$T/files.tape" --on "x=vmkd:$T/x.vmdk"
refused "--limit" "$T/files.tape" --on "$T/a" --limit=much
refused "--baseline" "$T/files.tape" --on "$T/a" --basline=x
refused "--json" "$T/files.tape" --on "$T/a" --json="$T/none/x.json"
refused "holds no operation" "$T/files.tape" --on "$T/a" --filter='op=rmdir'
refused "--keep" "$T/files.tape" --on "r=rdm:$T/r.img,size=64M" --keep
left_nothing "$T/a" "$T/b"
ok "refusals: exit 2 and one line"

# device nodes and set-id bits: only when asked for, whoever runs it
sed '/^#trailer/,$d' "$T/other.txt" >"$T/dev.txt"
echo "999 +9.000000000s 50000ns q0 L1 mknod iid=99 parent=1 name=\"null\" = 0 mode=020666 rdev=259" >>"$T/dev.txt"
"$IOTAPE" import "$T/dev.txt" -o "$T/dev.tape" || die "import"
refused "--privileged makes devices too" "$T/dev.tape" --on "$T/a" --rounds=1
left_nothing "$T/a"
[ "$(id -u)" != 0 ] || expect 0 "$IOTAPE" compare "$T/dev.tape" --on "$T/a" --rounds=1 --privileged >/dev/null
ok "no device node without --privileged"

echo old >"$T/old.json"
refused "backend gone" "$T/files.tape" --on "gone=$T/none" --json="$T/old.json"
[ "$(cat "$T/old.json")" = old ] || die "a failed compare cost the JSON that was there"
refused "--json" "$T/files.tape" --on "$T/a" --json="$T"
compgen -G "$T/*.json.tmp*" >/dev/null && die "left: $(echo "$T"/*.json.tmp*)"
ok "--json=FILE is replaced by a whole one only"

mkdir "$T/kept"
expect 0 "$IOTAPE" compare "$T/files.tape" --on "$T/kept" --rounds=2 --keep >/dev/null
[ "$(ls "$T/kept" | wc -l)" = 2 ] && [ "$(cat "$T"/kept/*/f3 | wc -c)" = 600000 ] ||
	die "--keep left: $(find "$T/kept" | head)"
ok "--keep leaves the directories"

# a recording that cannot come true: a read that returned less than the file holds
sed '/ read iid=2 .* offset=0 /s/ = 65536/ = 5/' "$T/files.txt" >"$T/wrong.txt"
"$IOTAPE" import --from=text "$T/wrong.txt" -o "$T/wrong.tape" || die "import"
refused "differ from the recording" "$T/wrong.tape" --on "bad=$T/a" --rounds=1
grep -q "bad" "$T/err" && grep -q read "$T/err" || die "neither backend nor operation: $(cat "$T/err")"
expect 0 "$IOTAPE" compare "$T/wrong.tape" --on "bad=$T/a" --rounds=1 --force >"$T/out"
grep -q '^! wrong on bad: 1 result' "$T/out" || die "forced, and no doubt: $(cat "$T/out")"
left_nothing "$T/a"
ok "failed fidelity is refused, --force tells it"
