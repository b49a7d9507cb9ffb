#!/usr/bin/env bash
# The main job on a fresh Debian 12, as root: installs what is missing, builds, records scp of one large file and of a
# directory of many small files (both into and out of a directory), replays the four traces on a plain directory, a raw
# disk, a thin and an eagerly zeroed VMDK and a RAID1, and prints the comparison. Leaves nothing but its result folder.
set -eu -o pipefail
export LC_ALL=C.UTF-8 PATH=$PATH:/usr/sbin:/sbin
usage() {
	cat <<-EOF
		usage: samples/quickstart.sh [--size=PERCENT] [--rounds=6] [--out=DIR] [--work=DIR]
		  --size    of the published files (297 MB and 203 MB): 100 is all, default $PERCENT
		  --rounds  of every replay, at least 6 for a 95 % interval
		  --out     result folder (default iotape-quickstart-DATE in the current directory)
		  --work    where disks and files are made meanwhile (default /var/tmp; needs 4 GB free)
	EOF
}
die() { echo "quickstart: $*" >&2; exit 2; }

PERCENT=100 ROUNDS=6 OUT=$PWD/iotape-quickstart-$(date +%Y%m%d-%H%M%S) WORK=${TMPDIR:-/var/tmp}
for a in "$@"; do
	case "$a" in
	--size=*) PERCENT=${a#*=} ;;
	--rounds=*) ROUNDS=${a#*=} ;;
	--out=*) OUT=$(realpath -m "${a#*=}") ;;
	--work=*) WORK=$(realpath -m "${a#*=}") ;;
	-h | --help) usage; exit 0 ;;
	*) die "unknown option '$a' (see --help)" ;;
	esac
done
case "$PERCENT$ROUNDS" in *[!0-9]*) die "--size and --rounds take whole numbers" ;; esac
[ "$PERCENT" -ge 1 ] && [ "$PERCENT" -le 100 ] || die "--size takes 1 to 100"
[ "$(id -u)" = 0 ] || die "needs root for FUSE, loop devices and file systems: sudo $0"
[ -c /dev/fuse ] || die "no /dev/fuse here: load the fuse module (modprobe fuse), or give the container --device /dev/fuse"
[ -c /dev/loop-control ] || die "no loop devices here: load the loop module (modprobe loop)"
[ ! -e "$OUT" ] || die "$OUT exists; name another folder with --out"
mkdir -p "$WORK"
free_mb=$(df -Pm "$WORK" | awk 'NR == 2 {print $4}')
[ "$free_mb" -ge 4096 ] || die "needs 4096 MB free in $WORK, there are $free_mb (another place: --work=DIR)"

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
W=$(mktemp -d "$WORK/iotape-quickstart-XXXXXX")
finish() {
	local r=$?
	trap - EXIT
	rm -rf "$W"
	[ $r = 0 ] || rmdir "$OUT" 2>/dev/null || true
	exit $r
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$OUT"
began=$SECONDS
step() { printf '[%3ds] %s\n' $((SECONDS - began)) "$*" >&2; }
export TMPDIR=$W

step "1/4 installing what is missing"
bash "$TOP/.ci/setup" build lab
step "2/4 building"
if ! { meson setup "$W/build" "$TOP" --buildtype=release -Dtests=false && ninja -C "$W/build"; } >"$W/build.log" 2>&1; then
	tail -20 "$W/build.log" >&2
	die "iotape does not build"
fi
export IOTAPE=$W/build/cli/iotape

step "3/4 recording four scp copies through the mount"
large=$((297 * PERCENT / 100))M small=$((203 * PERCENT / 100))M files=$((1500 * PERCENT / 100 + 3))
for d in write read; do
	"$TOP/samples/scp-large.sh" --$d --size=$large -o "$OUT/large-$d.tape" --quiet
	step "    large file, $d: $("$IOTAPE" info --format=json "$OUT/large-$d.tape" | "$TOP/samples/summary.sh")"
	"$TOP/samples/scp-small-files.sh" --$d --size=$small --files=$files -o "$OUT/small-$d.tape" --quiet
	step "    small files, $d: $("$IOTAPE" info --format=json "$OUT/small-$d.tape" | "$TOP/samples/summary.sh")"
done

step "4/4 replaying them on five kinds of storage, $ROUNDS rounds in random order"
mkdir "$W/dir"
size=1G
set -- --on "directory=dir:$W/dir" --on "rdm=rdm:$W/rdm.img,size=$size" \
	--on "vmdk-thin=vmdk:$W/thin.vmdk,size=$size,provision=thin" \
	--on "vmdk-eager=vmdk:$W/eager.vmdk,size=$size,provision=eager" \
	--on "raid1=raid1:$W/leg-a.img,$W/leg-b.img,size=$size"
"$IOTAPE" compare --rounds="$ROUNDS" --baseline=rdm --json="$OUT/compare.json" --progress \
	"$OUT/large-write.tape" "$OUT/large-read.tape" "$OUT/small-write.tape" "$OUT/small-read.tape" "$@" |
	tee "$OUT/compare.txt"
step "done: traces, compare.txt and compare.json are in $OUT"
