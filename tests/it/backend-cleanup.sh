#!/bin/bash
# Nothing stays: after many rounds, SIGINT and SIGKILL at any moment, a mkfs that fails, a full disk.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop
before=$(left)
specs=("rdm:$T/d.img,size=64M" "vmdk:$T/v.vmdk,size=64M" "vmdk:$T/v.vmdk,size=64M,provision=eager" "raid1:$T/a.img,$T/b.img,size=256M"
	"raid1:$T/a.img,$T/b.img,size=256M,degraded" "dir:$T" "rdm:$T/d.img,size=320M,fs=xfs" "rdm:$T/d.img,size=128M,fs=btrfs")
n=20
for s in "${specs[@]}"; do
	expect 0 "$HOLD" -n $n "$s" </dev/null
	[ "$(left)" = "$before" ] || die "$s, $n times, left: $(left)"
	n=4
done
ok "many times up and down"
for s in "${specs[@]}"; do
	hold "$s"; kill -INT $HOLD_PID; wait $HOLD_PID || die "SIGINT: $(cat "$T/log.err")"; exec 9>&-
	[ "$(left)" = "$before" ] || die "$s, SIGINT while up, left: $(left)"
	for ms in 0 8 30 100; do
		"$HOLD" -n 3 "$s" </dev/null >/dev/null 2>&1 &
		p=$!; sleep "$(printf .%03d $ms)"; kill -TERM $p 2>/dev/null; wait $p
		[ "$(left)" = "$before" ] || die "$s, SIGTERM after $ms ms, left: $(left)"
	done
done
ok "signals at any moment of up: nothing left"
for s in "${specs[@]}"; do
	hold "$s"; kill -KILL $HOLD_PID; wait $HOLD_PID 2>/dev/null; exec 9>&-
	for _ in $(seq 100); do losetup -l -n -O BACK-FILE | grep -qF "$T/" || break; sleep .05; done
	losetup -l -n -O BACK-FILE | grep -F "$T/" && die "$s, SIGKILL: a loop device stays"
	grep -F "$T/" /proc/self/mounts && die "$s, SIGKILL: a mount stays"
	if [ "${s#dir:}" = "$s" ]; then
		expect 2 "$HOLD" "$s" </dev/null 2>"$T/log.err"
		grep -q "was left by iotape when it was killed\|exists and is not overwritten" "$T/log.err" || die "$(cat "$T/log.err")"
	fi
	find "$T" -mindepth 1 -maxdepth 1 \( -name '*.img' -o -name '*.vmdk' -o -name 'iotape-replay-*' \) -exec rm -r {} +
done
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "SIGKILL leaves files alone, and they are recognised"
fails() { # WORDS SPEC
	expect 2 "$HOLD" "$2" </dev/null 2>"$T/log.err"
	grep -q -- "$1" "$T/log.err" || die "$2 says: $(cat "$T/log.err")"
	[ "$(wc -l <"$T/log.err")" = 1 ] || die "$2: more than one line: $(cat "$T/log.err")"
	[ "$(left)" = "$before" ] || die "$2 failed and left: $(left)"
}
fails "mkfs.xfs: .*300MB" "rdm:$T/d.img,size=16M,fs=xfs"
fails "mkfs.btrfs: " "raid1:$T/a.img,$T/b.img,size=16M"
fails "mkfs.btrfs: " "vmdk:$T/v.vmdk,size=16M,fs=btrfs"
ok "a mkfs that fails: undone, one line"
mkdir "$T/small"; mount -t tmpfs -o size=48m tmpfs "$T/small"; before=$(left)
fails "free: choose a smaller size= or another place" "rdm:$T/small/d.img,size=64M"
fails "free: choose a smaller size= or another place" "raid1:$T/small/a.img,$T/small/b.img,size=32M"
fails "free: choose a smaller size= or another place" "vmdk:$T/small/v.vmdk,size=64M,provision=eager"
umount "$T/small"; rmdir "$T/small"
truncate -s 64M "$T/log.fs"; mkfs.ext4 -q -F "$T/log.fs"; mkdir "$T/small"; mount -o loop "$T/log.fs" "$T/small"; before=$(left)
fails "free: choose a smaller size= or another place" "rdm:$T/small/d.img,size=64M"
fails "." "raid1:$T/small/a.img,$T/b.img,size=200M"
umount "$T/small"; rmdir "$T/small"; before=$(left)
ok "a full disk: said before, nothing left"
