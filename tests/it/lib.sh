# Sourced by every integration test: . "$(dirname "$0")/lib.sh"
# Gives $IOTAPE (the program), $T (a fresh temporary directory, removed at the end with every mount below it), ok/die/skip.
# A test that has more to undo defines at_exit. It prints what it checked; exit 0 passed, 1 failed, 77 skipped with the reason (meson's codes).
set -u -o pipefail
export LC_ALL=C.UTF-8
IT_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${IOTAPE_SRC:=$(cd "$IT_HERE/../.." && pwd)}"
: "${IOTAPE:=$IOTAPE_SRC/build/cli/iotape}"
export IOTAPE IOTAPE_SRC
T=$(mktemp -d "${TMPDIR:-/var/tmp}/iotape-it-XXXXXX") || exit 1
IT_PIDS=()
it_cleanup() {
	local r=$? p m
	# a child that a signal meets between fork and exec still has our traps
	[ $BASHPID = $$ ] || exit $r
	cd /
	declare -F at_exit >/dev/null && at_exit
	for p in "${IT_PIDS[@]}"; do kill "$p" 2>/dev/null; done
	while read -r m; do
		umount "$m" 2>/dev/null || umount -l "$m" 2>/dev/null
	done < <(awk -v t="$T" 'index($2, t) == 1 {print $2}' /proc/self/mounts | sort -r)
	rm -rf "$T"
	exit $r
}
trap it_cleanup EXIT
trap 'exit 130' INT TERM HUP
die() { echo "FAIL: $*" >&2; exit 1; }
skip() { echo "SKIP: $*" >&2; exit 77; }
ok() { echo "ok: $*"; }
need() { local c; for c in "$@"; do command -v "$c" >/dev/null || skip "needs $c"; done; }
need_fuse() { [ -c /dev/fuse ] || skip "no /dev/fuse"; need fusermount3; }
need_root() { [ "$(id -u)" = 0 ] || skip "needs root"; }
need_loop() { need_root; [ -c /dev/loop-control ] || skip "no loop devices"; }
# expect STATUS CMD...: the command must end with this exit status
expect() { local want=$1 r; shift; "$@"; r=$?; [ $r = "$want" ] || die "'$*' ended with $r, not $want"; }
