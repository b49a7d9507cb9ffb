#!/bin/bash
# compare on storage that is stood up: a raw device, virtual disks and a mirror replay true to the
# recording; a device slowed by a known rate comes out slower; nothing stays behind.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/compare_lib.sh"
need jq
need_loop
new_trace w 10 2000000
mkdir "$T/img"
loops() { losetup -n -O BACK-FILE -l | grep -F "$T/" || true; }

expect 0 "$IOTAPE" compare "$T/w.tape" --on "raw=rdm:$T/img/r.img,size=256M" \
	--on "thin=vmdk:$T/img/t.vmdk,size=256M,provision=thin" \
	--on "eager=vmdk:$T/img/e.vmdk,size=256M,provision=eager" \
	--on "mirror=raid1:$T/img/a.img,$T/img/b.img,size=512M" --rounds=2 --json="$T/j.json" >"$T/txt"
holds "$T/j.json" '[.cells[].runs[].mismatches] | length == 8 and add == 0'
holds "$T/j.json" '[.cells[].runs[].cached] | any | not'
holds "$T/j.json" '[.cells[].runs[].tree_differences] | all(. == 0)'
holds "$T/j.json" '[.backends[].kind] == ["rdm", "vmdk", "vmdk", "raid1"] and ([.backends[].how | length > 10] | all)'
holds "$T/j.json" '[.cells[].runs[].allocated_bytes] | all(. > 0)'
left_nothing "$T/img"
[ -z "$(loops)" ] || die "loop devices left: $(loops)"
ok "raw device, thin and eager virtual disk, mirror"

expect 2 "$IOTAPE" compare "$T/w.tape" --on "small=rdm:$T/img/s.img,size=16M" 2>"$T/err"
grep -q 'w needs up to .* MiB and small has .* MiB' "$T/err" || die "says: $(cat "$T/err")"
[ "$(wc -l <"$T/err")" = 1 ] || die "more than one line: $(cat "$T/err")"
left_nothing "$T/img"
ok "too small: refused with both figures"

if ! "$IOTAPE" backend check "rdm:$T/img/x.img,size=64M,rate=20M" >/dev/null 2>&1; then
	ok "no way to slow a device on this machine"
	exit 0
fi
expect 1 "$IOTAPE" compare "$T/w.tape" --on "fast=rdm:$T/img/f.img,size=256M" \
	--on "slow=rdm:$T/img/s.img,size=256M,rate=20M" --limit=20% --json="$T/s.json" >"$T/txt"
# 20 MB synced through 20 MiB/s takes nearly a second at least
holds "$T/s.json" '.comparisons[0] | .verdict == "slower" and .ci95[0] > 1.2'
holds "$T/s.json" '.cells[1].median_seconds > 0.8'
grep -q 'slow is slower than fast' "$T/txt" || die "no sentence: $(cat "$T/txt")"
left_nothing "$T/img"
[ -z "$(loops)" ] || die "loop devices left: $(loops)"
ok "a device of 20 MiB/s is slower, beyond the limit"
