#!/bin/bash
# raid1: both legs hold the data (each alone can be read), degraded runs on one, md is refused with the reason.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop; need mkfs.btrfs
before=$(left)
hold -c "raid1:$T/a.img,$T/b.img,size=300M"
[ "$(left | grep -c '^/.*\.img$')" -ge 4 ] || die "no two legs"
case $HOW in "btrfs raid1 over /dev/loop"*"both legs are on one disk"*) ;; *) die "how: $HOW" ;; esac
btrfs filesystem df "$ROOT" | grep -q 'Data, RAID1' || die "data is not mirrored"
btrfs filesystem df "$ROOT" | grep -q 'Metadata, RAID1' || die "metadata is not mirrored"
round_trip "$ROOT"
verify_fio "$ROOT" 0
release
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "raid1: data and metadata on both legs"
hold -c -k "raid1:$T/a.img,$T/b.img,size=300M"; round_trip "$ROOT"; release
mkdir "$T/log.m"
for leg in a b; do
	L=$(losetup -f --show "$T/$leg.img")
	mount -o ro,degraded "$L" "$T/log.m" || { losetup -d "$L"; die "leg $leg does not mount alone"; }
	losetup -d "$L"
	cmp "$T/log.data" "$T/log.m/replay/d/f"; r=$?
	umount "$T/log.m"; btrfs device scan --forget >/dev/null
	[ $r = 0 ] || die "leg $leg holds something else"
done
rmdir "$T/log.m"; rm "$T/a.img" "$T/b.img"
ok "each leg alone holds the data"
hold -c "raid1:$T/a.img,$T/b.img,size=300M,degraded"
case $HOW in *"; degraded: the second was taken away"*) ;; *) die "how: $HOW" ;; esac
losetup -n -O BACK-FILE | grep -qF "$T/b.img" && die "leg B is still attached"
btrfs filesystem usage -b "$ROOT" 2>&1 | grep -q 'Device missing:.*[1-9]' || die "no leg is missing"
round_trip "$ROOT"
release
[ "$(left)" = "$before" ] || die "degraded left: $(left)"
ok "degraded"
expect 2 "$HOLD" "raid1:$T/a.img,$T/b.img,size=300M,fs=ext4" </dev/null 2>"$T/log.err"
grep -q "md " "$T/log.err" || die "$(cat "$T/log.err")"
expect 2 "$HOLD" "raid1:$T/a.img,$T/./a.img,size=300M" </dev/null 2>"$T/log.err"
grep -q "a mirror needs two" "$T/log.err" || die "$(cat "$T/log.err")"
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "md and one leg twice are refused"
