#!/bin/bash
# Other file systems below the source: on the mount all is one device, so files with the same inode number
# in different ones must not look like one file, while the source's own numbers stay as they are.
# And a mount point inside its own source.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root; need rsync python3
mkdir -p "$T/s/a" "$T/s/b" "$T/s/own" "$T/m"
for d in a b; do mount -t tmpfs "iotape-$d" "$T/s/$d" || skip "no tmpfs"; done
for d in a b own; do
	echo "file in $d" >"$T/s/$d/f"; ln "$T/s/$d/f" "$T/s/$d/g"
	mkdir "$T/s/$d/sub"; echo "other in $d" >"$T/s/$d/sub/h"
done
[ "$(stat -c %i "$T/s/a/f")" = "$(stat -c %i "$T/s/b/f")" ] || die "the two tmpfs number otherwise: nothing is tested"

check_mount() { # check_mount DIR HOW
	/usr/bin/python3 - "$T/n" "$1" <<'P' || die "$2: see above"
import os, stat, sys
src, mnt = sys.argv[1:]
of, names = {}, {}
def must(c, t):
    if not c: print("FAIL:", t); sys.exit(1)
for top, dirs, files in os.walk(mnt):
    seen = {e.name: e.inode() for e in os.scandir(top)}
    for n in dirs + files:
        p = os.path.join(top, n); q = os.path.join(src, os.path.relpath(p, mnt))
        m, s = os.lstat(p), os.lstat(q)
        native = (s.st_dev, s.st_ino)
        must(of.setdefault(m.st_ino, native) == native, "%s has the number of another file" % p)
        must(names.setdefault(native, m.st_ino) == m.st_ino, "%s: a hard link has two numbers" % p)
        must(m.st_nlink == s.st_nlink and m.st_mode == s.st_mode, p)
        if s.st_dev == os.stat(src).st_dev: must(m.st_ino == s.st_ino, "%s: the source's own number changed" % p)
        if not os.path.ismount(q): must(seen[n] == m.st_ino, "%s: listed as %d, is %d" % (p, seen[n], m.st_ino))
must(len(of) == 3 * 4, "%d files" % len(of))
P
	for tool in "cp -a" "rsync -aH" tar; do
		rm -rf "$T/out"; mkdir "$T/out"
		case $tool in
		tar) tar -C "$1" -cf - . | tar -C "$T/out" -xf - ;;
		*) $tool "$1/." "$T/out/" ;;
		esac || die "$2: $tool"
		diff -r "$1" "$T/out" || die "$2: $tool copies other content"
		[ "$(stat -c %h "$T/out/a/f" "$T/out/b/f" "$T/out/own/f" | sort -u)" = 2 ] || die "$2: $tool: link counts $(stat -c %h "$T"/out/*/f)"
	done
	[ "$(du -s "$1" | cut -f1)" = "$(du -s "$T/n" | cut -f1)" ] || die "$2: du counts otherwise"
}
mkdir "$T/n"; mount --bind -o rbind "$T/s" "$T/n" || die "bind"
mount --make-private "$T/n"
pid=$("$IOTAPE" record -o "$T/a.tape" "$T/s" "$T/m" | tail -1) || die "cannot mount"
check_mount "$T/m" "elsewhere"
umount "$T/m" || die "busy"
pid=$("$IOTAPE" record -o "$T/b.tape" "$T/s" | tail -1) || die "cannot mount"
ls -lR "$T/s" >/dev/null
check_mount "$T/s" "over itself"
umount "$T/s" || die "busy"
ok "numbers, hard links, copies, du"

# met first in a listing that tells number and type only (behind the first part of a large directory)
mkdir "$T/big"
(cd "$T/big" && seq -f d%05g 3000 | xargs mkdir)
read -r x y < <(ls -U "$T/big" | tail -2 | tr '\n' ' ')
mount -t tmpfs iotape-x "$T/big/$x" && mount -t tmpfs iotape-y "$T/big/$y" || die "tmpfs"
"$IOTAPE" record -o "$T/c.tape" "$T/big" "$T/m" -- /usr/bin/python3 -c 'import os, sys
os.listdir(sys.argv[1])
for n in sys.argv[2:]: os.stat(os.path.join(sys.argv[1], n))' "$T/m" "$x" "$y" 2>/dev/null || die "listing"
"$IOTAPE" dump "$T/c.tape" >"$T/text" || die dump
grep -q ' readdir ' "$T/text" || die "no plain listing: nothing is tested"
for n in "$x" "$y"; do
	i=$(grep " snap .* name=\"$n\"" "$T/text" | grep -o ' iid=[0-9]*' | sort -u | wc -l)
	[ "$i" = 1 ] || die "'$n' was $i inodes before: $(grep " snap .* name=\"$n\"" "$T/text")"
done
ok "a mount is one entry in the trace"

# A mount point inside its own source: shown empty. The mirror sees the mounts as they were when it
# started: what is mounted later below the source is not seen, what is unmounted is still there.
mkdir "$T/s/own/m" "$T/s/own/late"
pid=$("$IOTAPE" record -o "$T/d.tape" "$T/s" "$T/s/own/m" | tail -1) || die "cannot mount inside"
M=$T/s/own/m
[ -z "$(ls -A "$M/own/m")" ] || die "the mount shows itself"
[ "$(cat "$M/a/f")" = "file in a" ] || die "a mount from before is not seen"
mount -t tmpfs iotape-late "$T/s/own/late" || die tmpfs
touch "$T/s/own/late/new"
[ -z "$(ls -A "$M/own/late")" ] || die "the man page is wrong: a later mount is seen"
umount "$T/s/own/late" "$T/s/a" || die "a mount below the source is held"
[ "$(cat "$M/a/f")" = "file in a" ] || die "the man page is wrong: an unmount is seen"
echo written >"$M/own/through" && [ "$(cat "$T/s/own/through")" = written ] || die "not a mirror"
umount "$M" || die "busy"
for i in $(seq 200); do [ -d "/proc/$pid" ] || break; sleep 0.05; done
"$IOTAPE" check "$T/d.tape" >/dev/null || die "the trace is damaged"
ok "a mount point inside its source"
