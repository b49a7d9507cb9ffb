#!/bin/bash
# SPDX-License-Identifier: MIT
# dump and import: the text twin gives the trace back bit for bit, also of a cut trace; JSON and CSV
# hold the same; a wrong line is named; a failed import leaves nothing behind.
. "$(dirname "$0")/lib.sh"
need cmp awk

# 20,000 operations in chunks of 3,000, with names that are not UTF-8
make_text() {
	printf '#iotape 1\n#recorder "iotape test"\n#view "app"\n#level 1\n'
	awk 'BEGIN {
		for (i = 1; i <= 20000; i++) {
			if (i % 3000 == 1) print "#chunk"
			front = sprintf("%d +%d.%09ds %dns q%d L%d ", i, i / 100, i * 7919 % 1000000000, i * 31 % 99991, i % 977, 1 + i % 3)
			if (i % 10 == 1)
				print front "create iid=" i " oid=" i " parent=1 name=\"\\xff-" i "\" = 0 flags=0x8042 mode=0100644 uid=1000 gid=1000"
			else if (i % 10 == 9)
				print front "lookup parent=1 name=\"no \\\"such\\\" \\x0b\\xc3\\xa4\" = -2 ENOENT"
			else
				print front "write iid=" i " oid=" i " offset=" i * 4096 " size=4096 = 4096 first_touch=1 content=zero"
		}
	}'
	echo '#trailer events=20000 end_mono_ns=77 reason="unmounted"'
}
make_text > "$T/a.txt"
"$IOTAPE" import "$T/a.txt" -o "$T/a.tape" || die "import"
"$IOTAPE" dump "$T/a.tape" > "$T/b.txt" || die "dump"
cmp "$T/a.txt" "$T/b.txt" || die "text -> trace -> text changed"
ok "text -> trace -> text: $(wc -l < "$T/a.txt") lines the same, trace $(stat -c %s "$T/a.tape") bytes"

"$IOTAPE" dump "$T/a.tape" | "$IOTAPE" import --from=text - -o "$T/b.tape" || die "import from a pipe"
cmp "$T/a.tape" "$T/b.tape" || die "trace -> text -> trace changed"
"$IOTAPE" import - -o - < "$T/a.txt" | cmp - "$T/a.tape" || die "import to a pipe differs"
"$IOTAPE" dump - < "$T/a.tape" | cmp - "$T/a.txt" || die "dump from a pipe differs"
ok "trace -> text -> trace: the same bytes, over pipes as well"

for tape in "$IOTAPE_SRC"/samples/*.tape; do
	[ -e "$tape" ] || continue
	"$IOTAPE" dump "$tape" | "$IOTAPE" import - --force -o "$T/s.tape" || die "$tape: round trip"
	cmp "$tape" "$T/s.tape" || die "$tape: round trip changed it"
	ok "$(basename "$tape"): round trip"
done

# cut anywhere: what is there passes, and the twin is cut, too
size=$(stat -c %s "$T/a.tape")
for part in 30 60 90 99; do
	head -c $((size * part / 100)) "$T/a.tape" > "$T/cut.tape"
	"$IOTAPE" dump "$T/cut.tape" > "$T/cut.txt" 2> "$T/err" || die "dump of a cut trace failed: $(cat "$T/err")"
	[ "$(wc -l < "$T/err")" = 1 ] && grep -q ': cut: ' "$T/err" || die "no warning of a cut trace: $(cat "$T/err")"
	if grep -q '^#trailer' "$T/cut.txt"; then die "a trailer out of nowhere"; fi
	grep -v '^#' "$T/cut.txt" | cmp -n "$(grep -v '^#' "$T/cut.txt" | wc -c)" - <(grep -v '^#' "$T/a.txt") || die "cut at $part %: other events"
	"$IOTAPE" import "$T/cut.txt" --force -o "$T/cut2.tape" || die "import of a cut text"
	cmp -n "$(stat -c %s "$T/cut2.tape")" "$T/cut2.tape" "$T/cut.tape" || die "cut at $part %: other bytes"
	"$IOTAPE" dump "$T/cut2.tape" 2> /dev/null | cmp - "$T/cut.txt" || die "cut at $part %: twin of the twin"
done
ok "a trace cut at 30, 60, 90, 99 % passes up to its last whole frame"

# wrong lines are named; nothing is left
while IFS='|' read -r line edit want; do
	sed "$line$edit" "$T/a.txt" > "$T/bad.txt"
	rm -f "$T/new.tape"
	expect 2 "$IOTAPE" import "$T/bad.txt" -o "$T/new.tape" 2> "$T/err"
	grep -qF "bad.txt:$line: " "$T/err" && grep -qF "$want" "$T/err" || die "'$edit': $(cat "$T/err")"
	[ "$(wc -l < "$T/err")" = 1 ] || die "more than one line: $(cat "$T/err")"
	compgen -G "$T/new.tape*" > /dev/null && die "'$edit' left $(echo "$T"/new.tape*)"
done <<-'END'
	1|s/1$/2/|version '2'
	3|s/view/veiw/|unknown key 'veiw'
	6|s/create/craete/|unknown operation 'craete'
	17000|s/q[0-9]*/q-1/|time in the daemon 'q-1'
	17002|s/size=4096/size=18446744073709551616/|size='18446744073709551616'
	17002|s/= 4096/= 1e9/|result '1e9'
	7|s/offset=/ofset=/|'ofset' is no field
	6|s/name="[^"]*"/name="..\\x2fetc"/|not one component
	14|s/ENOENT/EPERM/|ENOENT
END
ok "nine wrong lines are named by number, and leave no file"

# what is there is kept
cp "$T/a.tape" "$T/keep.tape"
expect 2 "$IOTAPE" import "$T/cut.txt" -o "$T/keep.tape" 2> "$T/err"
grep -q -- --force "$T/err" || die "no word of --force: $(cat "$T/err")"
expect 2 "$IOTAPE" import --force "$T/bad.txt" -o "$T/keep.tape" 2> /dev/null
cmp "$T/a.tape" "$T/keep.tape" || die "an existing trace was touched"
expect 2 "$IOTAPE" import "$T/a.tape" -o "$T/x.tape" 2> "$T/err"
grep -q 'not of a format' "$T/err" || die "$(cat "$T/err")"
expect 2 "$IOTAPE" import "$T/a.txt" -o "$T" 2> /dev/null
ok "an existing trace is kept unless --force and the import is whole"

# JSON and CSV
"$IOTAPE" dump "$T/a.tape" --format=json > "$T/a.json"
/usr/bin/python3 - "$T/a.json" <<-'END' || die "JSON"
	import json, sys
	rows = [json.loads(l) for l in open(sys.argv[1])]
	assert len(rows) == 20000
	r = rows[0]
	assert (r["seq"], r["op"], r["mode"], r["result"]) == (1, "create", 0o100644, 0), r
	assert r["name"].encode("utf-8", "surrogateescape") == b"\xff-1", r["name"]
	assert "offset" not in r and "errno" not in r
	f = rows[8]
	assert (f["op"], f["result"], f["errno"]) == ("lookup", -2, "ENOENT"), f
	assert f["name"] == "no \"such\" \x0b\u00e4", f
	w = rows[1]
	assert (w["start_ns"], w["size"], w["content"], w["first_touch"]) == (2 * 7919, 4096, "zero", 1), w
	assert sum(r["size"] for r in rows if r["op"] == "write") == 16000 * 4096
END
"$IOTAPE" dump "$T/a.tape" --format=csv > "$T/a.csv"
/usr/bin/python3 - "$T/a.csv" <<-'END' || die "CSV"
	import csv, sys
	rows = list(csv.DictReader(open(sys.argv[1])))
	assert len(rows) == 20000 and list(rows[0])[:3] == ["seq", "lane", "op"]
	assert rows[0]["name"] == "\\xff-1" and rows[8]["name"] == 'no \\"such\\" \\x0b\\xc3\\xa4', rows[8]
	assert rows[0]["offset"] == "" and rows[1]["offset"] == "8192" and None not in rows[0]
END
ok "JSON and CSV: 20000 rows each with the right values"

# filter
n=$("$IOTAPE" dump "$T/a.tape" --filter='op=write; lane=2' | grep -c ' write ')
[ "$n" = "$(grep -c ' L2 write ' "$T/a.txt")" ] || die "filter: $n"
n=$("$IOTAPE" dump "$T/a.tape" --filter='errno=ENOENT' --format=json | wc -l)
[ "$n" = 2000 ] || die "filter errno: $n"
n=$("$IOTAPE" dump "$T/a.tape" --filter='name~"\xff-1?"; size>=0' --format=csv 2> /dev/null | wc -l)
[ "$n" = 1 ] || die "a term on a field that create has not: $n"
n=$("$IOTAPE" dump "$T/a.tape" --filter='name~"\xff-1?"' --format=csv | wc -l)
[ "$n" = 2 ] || die "filter name: $n"
expect 2 "$IOTAPE" dump "$T/a.tape" --filter='colour=red' 2> "$T/err"
grep -q "filter: 'colour' is no field" "$T/err" || die "$(cat "$T/err")"
ok "filters select what they say"
