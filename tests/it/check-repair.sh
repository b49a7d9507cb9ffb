#!/bin/bash
# `iotape check`: whole, cut, damaged in the middle, no trace at all; and what --repair makes of it.
. "$(dirname "$0")/lib.sh"
. "$IT_HERE/text-trace.sh"
PY=/usr/bin/python3
need "$PY"
text_trace 5000 >"$T/t.txt"
"$IOTAPE" import --from=text "$T/t.txt" -o "$T/t.tape" || die "import"
size=$(stat -c %s "$T/t.tape")

expect 0 "$IOTAPE" check "$T/t.tape" >"$T/out"
grep -q 'good: 20003 events in 7 frames' "$T/out" || die "$(cat "$T/out")"
ok "a whole trace is good"

head -c $((size / 2)) "$T/t.tape" >"$T/cut.tape"
expect 1 "$IOTAPE" check "$T/cut.tape" --repair="$T/cut-good.tape" >"$T/out"
[ "$(wc -l <"$T/out")" = 1 ] && grep -q 'cut inside frame [0-9]* at byte [0-9]*; [0-9]* events' "$T/out" || die "$(cat "$T/out")"
expect 0 "$IOTAPE" check "$T/cut-good.tape"
"$IOTAPE" info --format=json "$T/cut-good.tape" | grep -q '"reason": "repaired"' || die "a repaired trace does not say so"
"$IOTAPE" dump "$T/cut.tape" | grep -v '^#' >"$T/a"
"$IOTAPE" dump "$T/cut-good.tape" | grep -v '^#' | cmp - "$T/a" || die "repair changed events"
[ -s "$T/a" ] || die "nothing was left"
ok "a cut trace is called cut, and repaired to what could be read"

"$PY" - "$T/t.tape" "$T/bad.tape" <<-'END' || die "damage"
	import sys
	d = bytearray(open(sys.argv[1], "rb").read())
	at = d.index(b"\x28\xb5\x2f\xfd", len(d) // 2) + 40  # inside a frame in the middle
	d[at] ^= 0x10
	open(sys.argv[2], "wb").write(d)
END
expect 1 "$IOTAPE" check --format=json "$T/bad.tape" --repair="$T/bad-good.tape" >"$T/out"
"$PY" - "$T/out" <<-'END' || die "check --format=json"
	import json, sys
	d = json.load(open(sys.argv[1]))
	assert not d["good"] and d["complete"] and d["bad_frames"] == 1 and d["frames"] == 6, d
	assert d["events"] in (16003, 16002) and d["events"] + d["lost_events"] == 20003, d
	assert d["first_bad"].startswith("frame "), d
END
expect 2 "$IOTAPE" info "$T/bad.tape" 2>"$T/err"
grep -q "frame [0-9]* at byte" "$T/err" || die "reading damage does not name the frame: $(cat "$T/err")"
expect 0 "$IOTAPE" check "$T/bad-good.tape" >/dev/null
"$IOTAPE" dump "$T/t.tape" | grep -v '^#' >"$T/all"
"$IOTAPE" dump "$T/bad-good.tape" | grep -v '^#' >"$T/rest"
[ "$(comm -13 <(sort "$T/all") <(sort "$T/rest") | wc -l)" = 0 ] || die "repair made events up"
[ "$(($(wc -l <"$T/all") - $(wc -l <"$T/rest")))" = 4000 ] || die "more than one frame was lost"
ok "a damaged frame in the middle loses its own 4,000 events and nothing else"

expect 2 "$IOTAPE" check "$T/t.tape" --repair="$T/rest" 2>"$T/err"
grep -q "exists; --force" "$T/err" || die "$(cat "$T/err")"
cmp <("$IOTAPE" dump "$T/bad-good.tape" | grep -v '^#') "$T/rest" || die "an existing file was overwritten"
"$IOTAPE" check "$T/bad.tape" --repair=- 2>"$T/err" | cat >"$T/piped.tape"
[ "${PIPESTATUS[0]}" = 1 ] && cmp "$T/piped.tape" "$T/bad-good.tape" || die "a repair to a pipe is another"
grep -q 'bad.tape: damaged' "$T/err" || die "--repair=-: $(cat "$T/err")"
cp "$T/bad.tape" "$T/self.tape"
expect 1 "$IOTAPE" check "$T/self.tape" --repair="$T/self.tape" --force >/dev/null
cmp "$T/self.tape" "$T/bad-good.tape" || die "a trace repaired in its place is another"
compgen -G "$T/*.tmp*" >/dev/null && die "left: $(echo "$T"/*.tmp*)"
ok "an existing file stays unless --force; a pipe and the trace itself can be repaired to"
for f in "$T/t.txt" "$T/missing" /dev/null; do
	expect 2 "$IOTAPE" check "$f" --repair="$T/none.tape" 2>"$T/err"
	[ "$(wc -l <"$T/err")" = 1 ] || die "$f: $(cat "$T/err")"
	compgen -G "$T/none.tape*" >/dev/null && die "a repair of nothing was left behind"
done
ok "no trace, no repair: exit 2, one line, nothing left"
