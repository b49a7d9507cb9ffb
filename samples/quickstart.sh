#!/usr/bin/env bash
# The main job on a fresh Debian 12, as root: installs what is missing, builds, records scp of one large file and of a
# directory of many small files (both into and out of a directory), replays the four traces on a plain directory, a raw
# disk, a thin and an eagerly zeroed VMDK and a RAID1, and prints the comparison. Leaves nothing but its result folder.
set -eu -o pipefail
export LC_ALL=C.UTF-8 PATH=$PATH:/usr/sbin:/sbin
usage() {
	cat <<-EOF
		usage: samples/quickstart.sh [--size=PERCENT] [--rounds=6] [--out=DIR] [--work=DIR] [--iotape=PROGRAM]
		  --size    of the published files (297 MB and 203 MB): 100 is all, default $PERCENT
		  --rounds  of every replay, at least 6 for a 95 % interval
		  --out     result folder (default iotape-quickstart-DATE in the current directory)
		  --work    where disks and files are made meanwhile (default /var/tmp; needs 4 GB free, 1.1 GB at --size=2)
		  --iotape  use this program instead of building one
	EOF
}
die() { echo "quickstart: $*" >&2; exit 2; }

PERCENT=100 ROUNDS=6 OUT=$PWD/iotape-quickstart-$(date +%Y%m%d-%H%M%S) WORK=${TMPDIR:-/var/tmp} PROGRAM=
for a in "$@"; do
	case "$a" in
	--size=*) PERCENT=${a#*=} ;;
	--rounds=*) ROUNDS=${a#*=} ;;
	--out=*) OUT=$(realpath -m "${a#*=}") ;;
	--work=*) WORK=$(realpath -m "${a#*=}") ;;
	--iotape=*) PROGRAM=$(realpath "${a#*=}") || die "no program ${a#*=}" ;;
	-h | --help) usage; exit 0 ;;
	*) die "unknown option '$a' (see --help)" ;;
	esac
done
case "$PERCENT$ROUNDS" in *[!0-9]*) die "--size and --rounds take whole numbers" ;; esac
[ "$PERCENT" -ge 1 ] && [ "$PERCENT" -le 100 ] || die "--size takes 1 to 100"
[ "$(id -u)" = 0 ] || die "needs root for FUSE, loop devices and file systems: run it as root (su -, or sudo $0)"
[ -c /dev/fuse ] || die "no /dev/fuse here: load the fuse module (modprobe fuse), or give the container --device /dev/fuse"
[ -c /dev/loop-control ] || die "no loop devices here: load the loop module (modprobe loop)"
[ ! -e "$OUT" ] || die "$OUT exists; name another folder with --out"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
W='' CHILD='' STEP='' MADE_WORK=''
finish() {
	local r=$?
	trap - EXIT
	[ -z "$W" ] || rm -rf "$W"
	[ -z "$MADE_WORK" ] || rmdir "$WORK" 2>/dev/null || true
	[ $r = 0 ] || rmdir "$OUT" 2>/dev/null || true
	exit $r
}
# What runs has a process group of its own, so that a signal to this script alone reaches all of it, and is waited for.
interrupted() {
	trap '' INT TERM HUP
	[ -z "$CHILD" ] || { kill -TERM -- "-$CHILD" 2>/dev/null; wait "$CHILD"; } || true
	echo "quickstart: interrupted in step $STEP; nothing stays but what is in $OUT" >&2
	exit 130
}
run() {
	set -m
	{ trap : INT TERM HUP && "$@"; } </dev/null & # waits for what it runs, and does not die before it
	CHILD=$!
	set +m
	local r=0
	wait "$CHILD" || r=$?
	CHILD=''
	return $r
}
trap finish EXIT
trap interrupted INT TERM HUP

[ -d "$WORK" ] || { mkdir -p "$WORK" 2>/dev/null && MADE_WORK=1; } || die "cannot make $WORK"
need_mb=$((1024 + 3072 * PERCENT / 100))
free_mb=$(df -Pm "$WORK" | awk 'END {print $(NF - 2)}')
[ "$free_mb" -ge $need_mb ] || die "needs $need_mb MB free in $WORK, there are $free_mb (another place: --work=DIR; less: --size=PERCENT)"
W=$(mktemp -d "$WORK/iotape-quickstart-XXXXXX") || die "cannot make a folder in $WORK"
mkdir -p "$OUT" 2>/dev/null || die "cannot make $OUT"
began=$SECONDS
say() { printf '[%3ds] %s\n' $((SECONDS - began)) "$*" >&2; }
step() {
	STEP=${1%% *}
	say "$@"
}
export TMPDIR=$W

step "1/4 installing what is missing"
run bash "$TOP/.ci/setup" build lab
if [ -n "$PROGRAM" ]; then
	export IOTAPE=$PROGRAM
else
	step "2/4 building"
	export IOTAPE=$W/build/cli/iotape
	build() { meson setup "$W/build" "$TOP" --buildtype=release -Dtests=false && ninja -C "$W/build"; } >"$W/build.log" 2>&1
	run build || {
		tail -20 "$W/build.log" >&2
		die "iotape does not build"
	}
fi

step "3/4 recording four scp copies through the mount"
large=$((297 * PERCENT / 100))M small=$((203 * PERCENT / 100))M files=$((1500 * PERCENT / 100 + 3))
info() { "$IOTAPE" info --format=json "$1" | "$TOP/samples/summary.sh"; }
for d in write read; do
	run "$TOP/samples/scp-large.sh" --$d --size=$large -o "$OUT/large-$d.tape" --quiet
	say "    large file, $d: $(info "$OUT/large-$d.tape")"
	run "$TOP/samples/scp-small-files.sh" --$d --size=$small --files=$files -o "$OUT/small-$d.tape" --quiet
	say "    small files, $d: $(info "$OUT/small-$d.tape")"
done

step "4/4 replaying them on five kinds of storage, $ROUNDS rounds in random order"
mkdir "$W/dir"
size=$((1024 * PERCENT / 100))
[ $size -ge 320 ] || size=320
size=${size}M
at=${W//\\/\\\\} at=${at//,/\\,} # in a spec a comma ends the path
set -- --on "directory=dir:$W/dir" --on "rdm=rdm:$at/rdm.img,size=$size" \
	--on "vmdk-thin=vmdk:$at/thin.vmdk,size=$size,provision=thin" \
	--on "vmdk-eager=vmdk:$at/eager.vmdk,size=$size,provision=eager" \
	--on "raid1=raid1:$at/leg-a.img,$at/leg-b.img,size=$size"
compare() { "$IOTAPE" compare "$@" | (trap '' INT TERM HUP && exec tee "$OUT/compare.txt"); }
run compare --rounds="$ROUNDS" --baseline=rdm --json="$OUT/compare.json" --progress \
	"$OUT/large-write.tape" "$OUT/large-read.tape" "$OUT/small-write.tape" "$OUT/small-read.tape" "$@"
say "done: traces, compare.txt and compare.json are in $OUT"
