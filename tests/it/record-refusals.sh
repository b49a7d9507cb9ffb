#!/usr/bin/env bash
# What record refuses: exit 2, one line that says what and what to do, nothing mounted, no file left.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root

mkdir -p "$T/d/sub" "$T/m" "$T/full" "$T/bind"
echo x >"$T/full/x"
echo x >"$T/file"
ln -s "$T/d/sub" "$T/link"
refused() { # refused WHAT PATTERN ARGS...
	local what=$1 pat=$2 before after r
	shift 2
	before=$(find "$T" | sort)
	"$IOTAPE" record "$@" >"$T.out" 2>&1 </dev/null
	r=$?
	after=$(find "$T" | sort)
	out=$(cat "$T.out"); rm -f "$T.out"
	[ $r = 2 ] || die "$what: exit $r: $out"
	[ "$(printf '%s\n' "$out" | wc -l)" = 1 ] || die "$what: not one line: $out"
	printf '%s' "$out" | grep -q -- "$pat" || die "$what: says '$out'"
	[ "$before" = "$after" ] || die "$what: files were left: $(diff <(echo "$before") <(echo "$after"))"
	grep -q " $T/[a-z]* fuse" /proc/self/mounts && die "$what: a mount stays"
	ok "$what: $out"
}
for form in "" "-- true"; do
	# shellcheck disable=SC2086
	{
		refused "no directory" "no such directory" -o "$T/a" "$T/none" $form
		refused "a file" "not a directory" -o "$T/a" "$T/file" $form
		refused "mount point missing" "no such directory" -o "$T/a" "$T/d" "$T/none" $form
		refused "mount point not empty" "not empty" -o "$T/a" "$T/d" "$T/full" $form
		refused "trace in the directory" "inside the recorded directory" -o "$T/d/a" "$T/d" $form
		refused "trace below it" "inside the recorded directory" -o "$T/d/sub/a" "$T/d" "$T/m" $form
		refused "trace below it by a link" "inside the recorded directory" -o "$T/link/a" "$T/d" $form
		refused "trace in the mount point" "inside the recorded directory" -o "$T/m/a" "$T/d" "$T/m" $form
		refused "trace exists" "--force" -o "$T/file" "$T/d" $form
		refused "trace nowhere" "none/a: cannot create" -o "$T/none/a" "$T/d" $form
	}
done
mount --bind "$T/d" "$T/bind" || die "bind mount"
refused "trace below it by a bind mount" "inside the recorded directory" -o "$T/bind/sub/a" "$T/d"
umount "$T/bind"
(cd "$T/d" && refused "default name in the directory" "inside the recorded directory" .) || exit 1
refused "unknown option" "did you mean --max-size" --maxsize=3 "$T/d"
refused "no operand" "usage" -o "$T/a"
refused "empty command" "no COMMAND" -o "$T/a" "$T/d" --
refused "a pipe in the background" "needs COMMAND" -o - "$T/d"
refused "bad view" "view" --view=both "$T/d"
refused "nonsense size" "--max-size: .12X. is no size" --max-size=12X "$T/d"
refused "nonsense level" "--level: .x. is no whole" --level=x "$T/d"
refused "bad level" "1 to 19" --level=0 "$T/d"

# without /dev/fuse (in a mount namespace of its own; in a chroot / is no mount point to make private)
unshare -m --propagation unchanged sh -c 'mount --make-private /dev && mount -t tmpfs none /dev && exec "$0" record -o "$1/a" "$1/d"' "$IOTAPE" "$T" >"$T/out" 2>&1 </dev/null
r=$?
{ [ $r = 2 ] && grep -q "apt-get install fuse3" "$T/out"; } || die "no FUSE: exit $r: $(cat "$T/out")"
ok "no FUSE: $(cat "$T/out")"

# a file that is replaced stays when the recording cannot start
echo precious >"$T/old"
"$IOTAPE" record --force -o "$T/old" "$T/d" "$T/full" 2>/dev/null && die "not refused"
[ "$(cat "$T/old")" = precious ] || die "a refused recording took the old file away"
expect 0 "$IOTAPE" record --force -o "$T/old" "$T/d" -- true 2>/dev/null
"$IOTAPE" dump "$T/old" | grep -q '^#trailer' || die "--force does not replace"
[ "$(stat -c %a "$T/old")" = 600 ] || die "mode of the replaced trace"
[ "$(find "$T" -maxdepth 1 -name 'old*' | wc -l)" = 1 ] || die "a temporary file stays"
ok "--force"
