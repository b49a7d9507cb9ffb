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
seconds() { local a b; a=$(date +%s%N); "$@" || die "$*"; b=$(date +%s%N); echo $(((b - a) / 1000000)); }
hold "rdm:$T/d.img,size=128M,rate=20M"
case $HOW in *"; at most 20.0 MiB/s each way"*) ;; *) die "how: $HOW" ;; esac
ms=$(seconds dd if=/dev/zero of="$ROOT/f" bs=1M count=40 oflag=direct status=none)
[ "$ms" -ge 1700 ] && [ "$ms" -le 6000 ] || die "40 MiB at 20 MiB/s took $ms ms"
ms2=$(seconds dd if="$ROOT/f" of=/dev/null bs=1M iflag=direct status=none)
[ "$ms2" -ge 1700 ] && [ "$ms2" -le 6000 ] || die "40 MiB at 20 MiB/s took $ms2 ms to read"
ok "rate=20M: 40 MiB written in $ms ms, read in $ms2 ms"
release
gone down
hold "vmdk:$T/v.vmdk,size=128M,provision=eager,delay=5ms"
dd if=/dev/zero of="$ROOT/f" bs=1M count=4 status=none; sync -f "$ROOT/f"
ms=$(seconds dd if="$ROOT/f" of=/dev/null bs=4k count=200 iflag=direct status=none)
[ "$ms" -ge 850 ] && [ "$ms" -le 4000 ] || die "200 reads at 5 ms took $ms ms"
ok "delay=5ms: 200 reads in $ms ms"
release
gone down
hold "raid1:$T/a.img,$T/b.img,size=256M,rate=20M"
[ "$(rules | wc -l)" -ge 4 ] || die "not both legs: $(rules)"
kill -INT $HOLD_PID; wait $HOLD_PID; exec 9>&-
gone SIGINT
ok "the rules are gone, also after SIGINT"
