#!/bin/bash
# rdm: over a file and over a device that may be destroyed, with each file system; the data is what was written.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop
before=$(left)
for fs in ext4 xfs btrfs; do
	command -v mkfs.$fs >/dev/null || skip "needs mkfs.$fs"
	hold -c "rdm:$T/d.img,size=400M,fs=$fs"
	[ "$(left | grep -c "$T/d.img")" -ge 2 ] || die "no loop over the file"
	loop=$(losetup -n -O NAME -j "$T/d.img")
	[ "$(cat /sys/block/"${loop#/dev/}"/loop/dio)" = 1 ] || die "no direct I/O"
	case $HOW in "$fs on $loop (direct I/O) over $T/d.img, 400.0 MiB preallocated; virtual-RDM-like: SCSI pass-through is not available") ;; *) die "how: $HOW" ;; esac
	[ "$ALLOCATED" -ge $((400 << 20)) ] || die "not preallocated: $ALLOCATED"
	[ "$CAPACITY" -gt $((200 << 20)) ] && [ "$CAPACITY" -lt $((400 << 20)) ] || die "capacity $CAPACITY"
	[ -z "$(ls -A "$ROOT")" ] || die "not empty"
	round_trip "$ROOT"
	direct=1; [ $fs = btrfs ] && direct=0
	verify_fio "$ROOT" $direct
	grep -qF "$loop" /proc/self/mounts && die "the mount is seen by others"
	release
	[ "$(left)" = "$before" ] || die "$fs left: $(left)"
	ok "rdm over a file, $fs"
done
# a device: a loop of our own stands for one
truncate -s 300M "$T/disk"; D=$(losetup -f --show "$T/disk") || die "no loop"
at_exit() { losetup -d "$D" 2>/dev/null; }
for i in 1 2; do # the second time proves that down wiped what up made
	hold -c -d "$D" "rdm:$D"
	round_trip "$ROOT"
	[ "$HOW" = "ext4 on $D" ] || die "how: $HOW"
	release
done
blkid -p "$D" && die "the device still carries something"
losetup -n -O NAME "$D" >/dev/null || die "the device is gone"
losetup -d "$D"; rm "$T/disk"
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "rdm over a named device, twice, wiped at down"
truncate -s 300M "$T/disk"
hold -d "$T/disk" "rdm:$T/disk"; round_trip "$ROOT"; release
[ -f "$T/disk" ] || die "a file that was there is gone"
ok "rdm over an existing file that is named: stays"
# a Ctrl-C goes to the whole group: the tools that clean up must not feel it
D=$(losetup -f --show "$T/disk") || die "no loop"
mkdir "$T/log.bin"
printf '#!/bin/bash\nkill -INT -- "-$(ps -o pgid= $PPID | tr -d " ")"\nsleep .2\nPATH=${PATH#*:}\nexec wipefs "$@"\n' >"$T/log.bin/wipefs"
chmod 755 "$T/log.bin/wipefs"
env --default-signal=INT PATH="$T/log.bin:$PATH" setsid -w "$HOLD" -n 1 -d "$D" "rdm:$D" </dev/null || die "interrupted in down: $?"
blkid -p "$D" && die "the device still carries something"
losetup -d "$D"
ok "a Ctrl-C while the device is wiped: it is wiped all the same"
