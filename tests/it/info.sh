#!/bin/bash
# `iotape info`: counts, bytes, lanes, times and the end of a trace, as text and JSON, from a file, a pipe and a cut file.
. "$(dirname "$0")/lib.sh"
. "$IT_HERE/text-trace.sh"
PY=/usr/bin/python3
need "$PY"
text_trace 2500 >"$T/t.txt"
"$IOTAPE" import --from=text "$T/t.txt" -o "$T/t.tape" || die "import"

"$IOTAPE" info --format=json "$T/t.tape" >"$T/json" || die "info"
SIZE=$(stat -c %s "$T/t.tape") "$PY" - "$T/json" <<-'END' || die "info --format=json"
	import json, os, sys
	i = json.load(open(sys.argv[1]))
	size = int(os.environ["SIZE"])
	want = {"version": 1, "recorder": "text-trace", "view": "app", "kernel": "6.1", "fs_type": "ext4",
	        "start_wall_ns": 1700000000000000000, "events": 10003, "lanes": 3, "files": 2500, "drops": 0, "complete": True,
	        "reason": "unmounted", "file_bytes": size, "write_bytes": 2500 * 4096, "read_bytes": sum(range(2500)),
	        "operations": {"create": 2500, "write": 2500, "read": 2500, "release": 2500, "snap": 1, "rename": 1, "open": 1}}
	for k, v in want.items():
	    assert i[k] == v, (k, i[k], v)
	assert i["command"] == "cp -r a b\udcff", i["command"]
	assert abs(i["duration_seconds"] - 2.501007) < 1e-6, i["duration_seconds"]
	assert abs(i["bytes_per_event"] - size / 10003) < 1e-3
END
ok "JSON holds what the trace was made of"

"$IOTAPE" info "$T/t.tape" >"$T/text" || die "info as text"
for want in 'recorder +text-trace' 'command +cp -r a b\\xff' 'events +10003' 'lanes +3' 'written +10240000 bytes' \
	'duration +2.501007 s' 'end +unmounted' '  create +2500' 'first call +2023-11-14 22:13:20.000 UTC'; do
	grep -Eq "^$want$" "$T/text" || die "no line '$want' in: $(cat "$T/text")"
done
ok "text holds the same, with nothing that could steer a terminal"

"$IOTAPE" info --format=json - <"$T/t.tape" >"$T/pipe" || die "info -"
cat "$T/t.tape" | "$IOTAPE" info --format=json - | cmp - "$T/pipe" || die "pipe and redirection differ"
grep -q '"events": 10003' "$T/pipe" || die "pipe"
ok "a pipe is read"

head -c $(($(stat -c %s "$T/t.tape") - 2000)) "$T/t.tape" >"$T/cut.tape"
"$IOTAPE" info --format=json "$T/cut.tape" >"$T/cut" || die "info of a cut trace"
grep -q '"complete": false' "$T/cut" || die "a cut trace is called complete"
grep -q '"events": 8001' "$T/cut" || die "whole chunks of a cut trace: $(cat "$T/cut")"
"$IOTAPE" info "$T/cut.tape" | grep -q '^end  *cut' || die "text of a cut trace"
ok "a cut trace is described up to its last whole frame"

: >"$T/empty"
for f in "$T/empty" "$T/t.txt" "$T/missing"; do
	expect 2 "$IOTAPE" info "$f" >"$T/out" 2>"$T/err"
	[ ! -s "$T/out" ] && [ "$(wc -l <"$T/err")" = 1 ] || die "$f: $(cat "$T/err")"
	grep -q "$f" "$T/err" || die "the message does not name $f"
done
expect 2 "$IOTAPE" info
expect 2 "$IOTAPE" info --fromat=json "$T/t.tape"
ok "what is no trace ends with exit 2 and one line"
