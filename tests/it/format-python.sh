#!/bin/bash
# docs/format.md's Python reader, taken from the page as it stands, reads a trace as `iotape info` does; and plain
# zstd and msgpack open every frame of it.
. "$(dirname "$0")/lib.sh"
. "$IT_HERE/text-trace.sh"
PY=/usr/bin/python3
need zstd "$PY"
"$PY" -c 'import msgpack' || skip "needs python3-msgpack"

awk '/^```python$/ {on = 1; next} /^```$/ {on = 0} on' "$IOTAPE_SRC/docs/format.md" >"$T/reader.py"
[ "$(wc -l <"$T/reader.py")" -gt 20 ] || die "no reader in docs/format.md"
text_trace 3000 >"$T/t.txt"
"$IOTAPE" import --from=text "$T/t.txt" -o "$T/t.tape" || die "import"

"$IOTAPE" info --format=json "$T/t.tape" >"$T/info.json" || die "info"
"$PY" "$T/reader.py" "$T/t.tape" >"$T/python.json" || die "the reader of docs/format.md fails"
"$PY" - "$T/info.json" "$T/python.json" <<-'END' || die "the reader of docs/format.md disagrees with info"
	import json, sys
	a, b = (json.load(open(p)) for p in sys.argv[1:])
	assert a["operations"]["create"] == 3000 and a["write_bytes"] == 3000 * 4096, a
	for k in ("operations", "read_bytes", "write_bytes"):
	    assert a[k] == b[k], (k, a[k], b[k])
END
ok "the Python reader of docs/format.md counts what info counts"

# times and results too: the sum of every number of every event, as dump prints them
cat >>"$T/reader.py" <<'END'
unpacker = msgpack.Unpacker(raw=False, strict_map_key=False, max_buffer_size=0)
unpacker.feed(data)
for m in unpacker:
    for r in chunk(m, schema, names) if "cols" in m else []:
        print(*(r.get(k, 0) for k in ("seq", "op", "start_ns", "dur_ns", "lane", "iid", "oid", "offset", "size", "result")))
END
"$PY" "$T/reader.py" "$T/t.tape" | tail -n +2 >"$T/python.rows" || die "rows by Python"
"$IOTAPE" dump --format=json "$T/t.tape" | "$PY" -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print(*(r.get(k, 0) for k in ("seq", "op", "start_ns", "dur_ns", "lane", "iid", "oid", "offset", "size", "result")))
' >"$T/dump.rows" || die "rows by dump"
[ "$(wc -l <"$T/dump.rows")" = 12003 ] || die "dump has $(wc -l <"$T/dump.rows") rows"
cmp "$T/python.rows" "$T/dump.rows" || die "rows differ"
ok "every number of 12,003 events is the same by Python and by dump"

zstd -tq "$T/t.tape" || die "zstd -t"
zstd -lv "$T/t.tape" >"$T/list" 2>&1 || die "zstd -l"
grep -q 'Zstandard Frames: 5$' "$T/list" || die "not 5 frames: $(cat "$T/list")" # header, 3 chunks, trailer
grep -q 'Skippable Frames: 1$' "$T/list" || die "no index"
grep -q 'Check: XXH64' "$T/list" || die "no checksums"
zstd -dcq "$T/t.tape" | "$PY" -c '
import msgpack, sys
u = msgpack.Unpacker(sys.stdin.buffer, raw=False)
m = list(u)
assert [("format" in x, "cols" in x, "events" in x) for x in m] == [(1, 0, 0)] + 3 * [(0, 1, 0)] + [(0, 0, 1)]
assert m[0]["format"] == "iotape" and m[0]["version"] == 1 and m[0]["command"] == b"cp -r a b\xff"
assert list(m[0])[:2] == ["format", "version"]
assert sum(x["n"] for x in m[1:4]) == m[4]["events"] == 12003 and m[4]["reason"] == "unmounted"
' || die "zstd -dc is no clean stream of msgpack"
ok "zstd -dc gives header, chunks and trailer as msgpack; zstd -lv lists frames, checksums and the index"
