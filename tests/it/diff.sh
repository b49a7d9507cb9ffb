#!/usr/bin/env bash
# The diff command: a trace is itself, a replay is its recording, a changed line is found and shown.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root

mkdir "$T/d" "$T/on"
"$IOTAPE" record -o "$T/a.tape" "$T/d" -- sh -c "
	mkdir $T/d/x
	cp $0 $T/d/x/f
	mv $T/d/x/f $T/d/x/g
	ls -l $T/d/x >/dev/null
	rm -r $T/d/x" 2>/dev/null
expect 0 "$IOTAPE" diff "$T/a.tape" "$T/a.tape" >"$T/out"
grep -q '^same: [1-9][0-9]* operations on [1-9][0-9]* lanes$' "$T/out" || die "$(cat "$T/out")"
ok "a trace is itself"

expect 0 "$IOTAPE" replay -o "$T/b.tape" "$T/a.tape" "$T/on" >/dev/null
expect 0 "$IOTAPE" diff "$T/a.tape" "$T/b.tape" >"$T/out"
ok "a replay is its recording: $(cat "$T/out")"

"$IOTAPE" dump "$T/a.tape" >"$T/a.txt"
change() { # change WHAT SED-SCRIPT TEXT: the changed trace differs and TEXT is shown
	sed "$2" "$T/a.txt" >"$T/c.txt"
	cmp -s "$T/a.txt" "$T/c.txt" && die "$1: nothing was changed"
	"$IOTAPE" import "$T/c.txt" -o "$T/c.tape" --force 2>"$T/err" ||
		{ rm -f "$T/c.tape"; "$IOTAPE" import "$T/c.txt" -o "$T/c.tape" || die "$1: import"; }
	expect 1 "$IOTAPE" diff "$T/a.tape" "$T/c.tape" >"$T/out"
	grep -q -- "$3" "$T/out" || die "$1 is not shown: $(cat "$T/out")"
	rm -f "$T/c.tape"
	ok "$1 is found"
}
change "another name" '/ rename /s/name2="g"/name2="h"/' '^+ .* rename .*name2="h"'
change "another result" '/ rmdir /s/ = 0/ = -39/' '^+ .* rmdir .*= -ENOTEMPTY\|^+ .* rmdir .*= -39'
change "a missing call" '/ unlink /d' '^- .* unlink '
expect 1 "$IOTAPE" diff --format=json "$T/a.tape" <("$IOTAPE" dump "$T/a.tape" | sed '/ rmdir /d' | "$IOTAPE" import - -o -) >"$T/out"
grep -q '"only_a": 1' "$T/out" || die "JSON: $(cat "$T/out")"
expect 2 "$IOTAPE" diff "$T/a.tape" "$T/none.tape" 2>/dev/null
ok "JSON and trouble"

sed '/^#trailer/,$d' "$T/a.txt" | "$IOTAPE" import - -o "$T/cut.tape" || die "import of a text without a trailer"
expect 0 "$IOTAPE" diff "$T/cut.tape" "$T/a.tape" >"$T/out" 2>"$T/err"
[ "$(wc -l <"$T/err")" = 1 ] && grep -q 'cut.tape: cut: ' "$T/err" || die "a cut trace: $(cat "$T/err")"
ok "a cut trace is told"
