#!/bin/bash
# A process whose first request comes in the middle of execve(2), which closes the script that it was
# forked from: the kernel lets nobody look at such a process, and it waits for our answer.
. "$(dirname "$0")/lib.sh"
need_fuse
mkdir "$T/src" "$T/mnt"
printf '#!/bin/sh\n/bin/true && /bin/echo one >out\n/bin/echo two >>out\n' >"$T/src/script"
chmod +x "$T/src/script"
for view in app storage; do
	rm -f "$T/src/out"
	timeout -k 1 20 "$IOTAPE" record --view=$view -o "$T/$view.tape" "$T/src" "$T/mnt" -- \
		sh -c "cd '$T/mnt' && sh ./script" 2>"$T/err" || die "$view: ended with $?: $(cat "$T/err")"
	[ "$(tr '\n' ' ' <"$T/src/out")" = "one two " ] || die "$view: the script did not do its work"
	"$IOTAPE" dump "$T/$view.tape" >"$T/txt" || die "dump"
	[ "$(grep -c ' lane .*name="sh"' "$T/txt")" -ge 2 ] || die "$view: the forked shells have no lanes"
done
ok "a script on the mount runs programs, in both views"
