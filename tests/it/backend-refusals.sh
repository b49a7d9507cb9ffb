#!/bin/bash
# Nothing that was there is ever destroyed unless it was named; each refusal is one line with the reason, and touches nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop
truncate -s 8M "$T/log.disk"; D=$(losetup -f --show "$T/log.disk") || die "no loop"
at_exit() { umount "$T/log.mnt" 2>/dev/null; losetup -d "$D" 2>/dev/null; }
echo precious >"$T/file"; mkfifo "$T/pipe"; ln -s nowhere "$T/dangling"; mkdir "$T/log.mnt"
before=$(left; cat "$T/file")
refused() { # WORDS [OPTIONS] SPEC
	local words=$1; shift
	local sum; sum=$(sha256sum <"$D")
	expect 2 "$HOLD" "$@" </dev/null 2>"$T/log.err"
	grep -q -- "$words" "$T/log.err" || die "$* says: $(cat "$T/log.err")"
	[ "$(wc -l <"$T/log.err")" = 1 ] || die "$*: more than one line"
	[ "$(left; cat "$T/file")" = "$before" ] || die "$*: something changed: $(left)"
	[ "$(sha256sum <"$D")" = "$sum" ] || die "$*: the device was written to"
	ok "refused: $words"
}
refused "name it with --destroy=$D" "rdm:$D"
refused "name it with --destroy=$D" -d /dev/null "raid1:$T/a,$D,size=128M"
mkfs.ext4 -q -F "$D"
refused "carries a file system or the like (ext4)" -d "$D" "rdm:$D"
mount "$D" "$T/log.mnt"; before=$(left; cat "$T/file")
refused "mounted, or held" -d "$D" "rdm:$D"
umount "$T/log.mnt"; wipefs -aq "$D"; before=$(left; cat "$T/file")
printf '\x55\xaa' | dd of="$D" bs=1 seek=510 conv=notrunc status=none
printf '\x00\x00\x01\x00\x83\x01\x01\x00\x00\x08\x00\x00\x00\x08\x01\x00' | dd of="$D" bs=1 seek=446 conv=notrunc status=none
refused "carries a partition table (dos)" -d "$D" "rdm:$D"
dd if=/dev/zero of="$D" bs=1M count=1 conv=notrunc status=none
refused "exists and is not overwritten" "rdm:$T/file"
refused "exists and is not overwritten" "rdm:$T/dangling"
refused "is in use by $D" "rdm:$T/log.disk"
refused "neither a block device nor a regular file" "rdm:$T/pipe"
refused "is a directory: name a file" "rdm:$T"
refused "is a directory: name a file" "rdm:$T/log.mnt/"
refused "no such device" "rdm:/dev/loop-not-there"
refused "its directory" "rdm:$T/none/d.img"
refused "ends in .vmdk" "vmdk:$T/v.img"
cp "$T/file" "$T/w-flat.vmdk"; before=$(left; cat "$T/file")
refused "exists and is not overwritten" "vmdk:$T/w.vmdk,size=64M"
refused "No such file" "dir:$T/none"
refused "takes no options" "dir:$T,size=1G"
refused "not a directory" "dir:$T/file"
refused "write rdm:$D" "$D"
refused "unknown kind" "lvm:$T"
if command -v setpriv >/dev/null; then
	cp "$HOLD" "$T/log.hold"; chmod 755 "$T" "$T/log.hold"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$T/log.hold" "rdm:$T/d.img" </dev/null 2>"$T/log.err" && die "stood up without root"
	grep -q "needs root" "$T/log.err" || die "$(cat "$T/log.err")"
	ok "refused: needs root"
fi
# a tool that is missing is named with its package
gone() { # TOOL PACKAGE SPEC
	local tool; tool=$(command -v "$1") || { ok "no $1 here"; return; }
	expect 2 unshare -m sh -c 'mount --bind /dev/null "$1" && shift && exec "$@"' sh "$(realpath "$tool")" "$IOTAPE" backend check "$3" 2>"$T/log.err" >/dev/null
	grep -q "$1 is not installed: apt-get install $2" "$T/log.err" || die "without $1: $(cat "$T/log.err")"
}
gone mkfs.xfs xfsprogs "rdm:$T/d.img,size=400M,fs=xfs"
gone mkfs.btrfs btrfs-progs "raid1:$T/d.img,$T/e.img,size=256M"
gone qemu-img qemu-utils "vmdk:$T/d.vmdk,size=64M"
ok "missing tools are named with their packages"
refused "size= is for a file" -d "$D" "rdm:$D,size=8M"
refused "'a b' is no name" "a b=rdm:$T/d.img,size=64M"
refused "'y' is no name" "x=y=rdm:$T/d.img,size=64M"
expect 2 "$IOTAPE" backend check "rdm:$T/line
end/x" 2>"$T/log.err"
[ "$(wc -l <"$T/log.err")" = 1 ] && grep -qF "line\\nend" "$T/log.err" || die "not one line: $(cat "$T/log.err")"
: >"$T/log.empty"; E=$(losetup -f --show "$T/log.empty" 2>/dev/null) || die "no loop"
expect 2 "$HOLD" -d "$E" "rdm:$E" </dev/null 2>"$T/log.err"
losetup -d "$E"
grep -q "nothing is attached" "$T/log.err" || die "$E says: $(cat "$T/log.err")"
ok "an empty device"
"$IOTAPE" backend list --format=json | grep -q '"kind": "raid1"' || die "no JSON"
expect 2 "$IOTAPE" backend check "rdm:$T/file" 2>"$T/log.err"
expect 2 "$IOTAPE" backend lisst 2>"$T/log.err"
expect 2 "$IOTAPE" backend up 2>"$T/log.err"
expect 0 "$IOTAPE" backend check "rdm:$T/d.img,size=64M" >/dev/null
[ "$(left; cat "$T/file")" = "$before" ] || die "check changed something"
