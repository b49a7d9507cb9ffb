#!/usr/bin/env bash
# The stat command on a real recording: figures that the workload determines, every key, JSON.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root; need python3

mkdir "$T/d"
"$IOTAPE" record -o "$T/a.tape" "$T/d" -- sh -c "
	mkdir $T/d/sub
	dd if=/dev/zero of=$T/d/sub/f bs=64K count=16 status=none
	dd if=$T/d/sub/f of=/dev/null bs=4K status=none
	cat $T/d/none" 2>/dev/null
for by in op path size thread phase; do
	expect 0 "$IOTAPE" stat "$T/a.tape" --by=$by >"$T/out"
	[ "$(wc -l <"$T/out")" -gt 3 ] || die "no table by $by"
	"$IOTAPE" stat "$T/a.tape" --by=$by --format=json >"$T/$by.json" || die "no JSON by $by"
done
/usr/bin/python3 - "$T" <<'END' || die "figures"
import json, sys
d = {by: json.load(open(f"{sys.argv[1]}/{by}.json")) for by in "op path size thread phase".split()}
rows = {by: {r[by]: r for r in d[by]["rows"]} for by in d}
mib = 1 << 20
for by in d:
    assert d[by]["write_bytes"] == mib and d[by]["read_bytes"] == mib, by
    assert d[by]["first_touch_writes"]["count"] == 16 and d[by]["overwrites"]["count"] == 0
    assert sum(r["write_bytes"] for r in rows[by].values()) == mib, by
    if by != "size":
        assert sum(r["count"] for r in rows[by].values()) == d[by]["ops"], by
assert rows["op"]["write"]["count"] == 16 and rows["op"]["write"]["bytes"] == mib
assert rows["op"]["lookup"]["errors"] >= 1
assert rows["path"]["/sub/f"]["write_bytes"] == mib and rows["path"]["/sub/f"]["read_bytes"] == mib
assert rows["path"]["/none"]["errors"] >= 1
assert rows["size"]["[64K, 128K)"]["count"] == 16
assert rows["size"]["[4K, 8K)"]["read_bytes"] == mib
assert any("dd" in k for k in rows["thread"])
END
ok "figures by every key"
expect 2 "$IOTAPE" stat "$T/a.tape" --by=colour 2>/dev/null
expect 2 "$IOTAPE" stat "$T/none.tape" 2>/dev/null
ok "refusals"
