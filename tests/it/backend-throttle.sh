#!/bin/bash
# rate= and delay= make a disk of known slowness; the rule is gone afterwards.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop
R=/sys/fs/cgroup/blkio
if [ ! -w $R/blkio.throttle.read_bps_device ]; then
	expect 2 "$HOLD" "rdm:$T/d.img,size=64M,rate=50M" </dev/null 2>"$T/log.err"
	grep -q "cgroup v1" "$T/log.err" || die "$(cat "$T/log.err")"
	ok "refused without cgroup v1"
	exit 0
fi
rules() { cat $R/blkio.throttle.{read,write}_{bps,iops}_device; }
before=$(left; rules)
# another user of the same loop numbers may have rules of its own for a moment
gone() { local i; for i in $(seq 50); do [ "$(left; rules)" = "$before" ] && return; sleep .2; done; die "$1 left: $(left; rules)"; }
millis() { local a b; a=$(date +%s%N); "$@" || die "$*"; b=$(date +%s%N); echo $(((b - a) / 1000000)); }
# The rule itself is checked to the byte. Its effect is only bounded from below, and loosely: the kernel lets the first
# slices (0.1 s each) through at once, and a busy machine is slower by any factor.
ruled() { # VALUE FILE...: each of the files limits the disk of ROOT to VALUE
	local v=$1 d f; shift
	d=$(stat -c %Hd:%Ld "$ROOT/.")
	for f; do grep -qx "$d $v" "$R/blkio.throttle.$f" || die "no rule '$d $v' in $f: $(cat "$R/blkio.throttle.$f")"; done
}
hold "rdm:$T/d.img,size=128M,rate=20M"
case $HOW in *"; at most 20.0 MiB/s each way"*) ;; *) die "how: $HOW" ;; esac
ruled $((20 << 20)) read_bps_device write_bps_device
ms=$(millis dd if=/dev/zero of="$ROOT/f" bs=1M count=40 oflag=direct status=none)
[ "$ms" -ge 1000 ] || die "40 MiB at 20 MiB/s took $ms ms"
ms2=$(millis dd if="$ROOT/f" of=/dev/null bs=1M iflag=direct status=none)
[ "$ms2" -ge 1000 ] || die "40 MiB at 20 MiB/s took $ms2 ms to read"
ok "rate=20M: 40 MiB written in $ms ms, read in $ms2 ms"
release
gone down
hold "vmdk:$T/v.vmdk,size=128M,provision=eager,delay=5ms"
ruled 200 read_iops_device write_iops_device
dd if=/dev/zero of="$ROOT/f" bs=1M count=4 status=none; sync -f "$ROOT/f"
ms=$(millis dd if="$ROOT/f" of=/dev/null bs=4k count=200 iflag=direct status=none)
[ "$ms" -ge 500 ] || die "200 reads at 5 ms took $ms ms"
ok "delay=5ms: 200 reads in $ms ms"
release
gone down
hold "raid1:$T/a.img,$T/b.img,size=256M,rate=20M"
[ "$(rules | wc -l)" -ge 4 ] || die "not both legs: $(rules)"
kill -INT $HOLD_PID; wait $HOLD_PID; exec 9>&-
gone SIGINT
hold "raid1:$T/a.img,$T/b.img,size=256M,rate=20M"
kill -KILL $HOLD_PID; wait $HOLD_PID 2>/dev/null; exec 9>&-
for _ in $(seq 100); do losetup -l -n -O BACK-FILE | grep -qF "$T/" || break; sleep .05; done
rm "$T/a.img" "$T/b.img"
gone SIGKILL
ok "the rules are gone, also after SIGINT and SIGKILL"
