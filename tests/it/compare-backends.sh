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

# what lies below runs out of room: while the tree is prepared, while it is replayed, while the file system is made
mkdir "$T/full"; mount -t tmpfs -o size=24m tmpfs "$T/full" || die "no tmpfs"
printf '%s\n' '#iotape 1' '#recorder "test"' '#view "app"' '#content "none"' \
	'1 +0.000000000s 0ns q0 L0 snap iid=1 size=0 = 0 mode=040755 arg=2' \
	'2 +0.000000000s 0ns q0 L0 snap iid=2 parent=1 name="f" size=40000000 = 0 mode=0100644 arg=1' \
	'3 +0.000100000s 5000ns q0 L1 open iid=2 oid=1 = 0 flags=0x8000' \
	'4 +0.000200000s 5000ns q0 L1 read iid=2 oid=1 offset=0 size=65536 = 65536' \
	'5 +0.000300000s 5000ns q0 L1 release iid=2 oid=1 = 0' '#trailer' >"$T/reads.txt"
"$IOTAPE" import --from=text "$T/reads.txt" -o "$T/reads.tape" || die "import"
full() { # WORDS COMMAND...
	local words=$1; shift
	expect 2 timeout 600 "$@" >/dev/null 2>"$T/err"
	grep -q "$words" "$T/err" && grep -q "$T/full, where it stands, has .* left" "$T/err" || die "'$*' says: $(cat "$T/err")"
	[ "$(wc -l <"$T/err")" = 1 ] || die "more than one line: $(cat "$T/err")"
	[ -z "$(loops)" ] && [ "$(ls "$T/full" | grep -v other)" = "" ] || die "left: $(ls "$T/full") $(loops)"
}
new_trace big 10 8000000
for fs in ext4 btrfs; do
	full "big on thin: " "$IOTAPE" compare "$T/big.tape" --on "thin=vmdk:$T/full/t.vmdk,size=256M,fs=$fs" --rounds=1 --force
	full "reads on thin: .*prepared" "$IOTAPE" compare "$T/reads.tape" --on "thin=vmdk:$T/full/t.vmdk,size=256M,fs=$fs" --rounds=1 --force
done
full "sync" "$IOTAPE" replay --force "$T/big.tape" "vmdk:$T/full/t.vmdk,size=256M"
full "prepared" "$IOTAPE" replay --force "$T/reads.tape" "vmdk:$T/full/t.vmdk,size=256M"
head -c 23M /dev/zero >"$T/full/other"
full "mkfs.btrfs" "$IOTAPE" compare "$T/w.tape" --on "thin=vmdk:$T/full/t.vmdk,size=256M,fs=btrfs" --rounds=1 --force
umount "$T/full"; rmdir "$T/full"
ok "what lies below is full: said, with the place, nothing left"

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
