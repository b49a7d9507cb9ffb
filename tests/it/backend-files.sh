#!/bin/bash
# Nobody's file is overwritten or removed: not one that appears while ours are made, not one that took the place of ours;
# what a killed run left is told by its mark, with the command that removes it; one file or device by two names is one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop; need qemu-img
name=it$$
at_exit() { "$IOTAPE" backend down $name 2>/dev/null; losetup -n -O NAME -l | while read -r l; do
	case $(losetup -n -O BACK-FILE "$l" 2>/dev/null) in "$T"/log*) losetup -d "$l" ;; esac; done; }
before=$(left)
says() { # WORDS COMMAND...: refused with one line that has WORDS
	local words=$1; shift
	expect 2 "$@" </dev/null 2>"$T/log.err" >/dev/null
	grep -qF -- "$words" "$T/log.err" || die "$* says: $(cat "$T/log.err")"
	[ "$(wc -l <"$T/log.err")" = 1 ] || die "$*: more than one line: $(cat "$T/log.err")"
}
# a stand-in that does something first, then what it stands for
mkdir "$T/log.bin"
stand_in() { # TOOL LINE
	printf '#!/bin/bash\n%s\nPATH=${PATH#*:}\nexec %s "$@"\n' "$2" "$1" >"$T/log.bin/$1"; chmod 755 "$T/log.bin/$1"
}
with() { PATH=$T/log.bin:$PATH "$@"; }

# someone else makes files of these names at the worst moment: they can not, the names are ours already
stand_in qemu-img "set -C; for f in '$T/v.vmdk' '$T/v-flat.vmdk'; do { echo precious >\"\$f\"; } 2>/dev/null && echo \"\$f\" >>'$T/log.late'; done"
: >"$T/log.late"
with expect 0 "$HOLD" -n 1 "vmdk:$T/v.vmdk,size=64M" </dev/null
[ ! -s "$T/log.late" ] || die "could be made by others while iotape was about to: $(cat "$T/log.late")"
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "the names are taken before anything is written"

# killed in the middle of qemu-img: marked already; what the message says to run is all it takes
stand_in qemu-img 'kill -9 $PPID; exit 1'
odd="$T/it's \$odd"; mkdir "$odd"
with "$HOLD" "vmdk:$odd/v.vmdk,size=64M" </dev/null 2>/dev/null && die "was not killed"
[ -e "$odd/v.vmdk" ] && [ -e "$odd/v-flat.vmdk" ] || die "no files were left"
says "was left by iotape when it was killed" "$HOLD" "vmdk:$odd/v.vmdk,size=64M"
sh -c "$(sed 's/.*try again: //' "$T/log.err")" || die "does not run: $(cat "$T/log.err")"
expect 0 "$HOLD" -n 1 "vmdk:$odd/v.vmdk,size=64M" </dev/null
[ -z "$(ls -A "$odd")" ] || die "left: $(ls -A "$odd")"
rmdir "$odd"
stand_in mkfs.btrfs 'kill -9 $PPID; exit 1'
with "$HOLD" "raid1:$T/a.img,$T/b.img,size=128M" </dev/null 2>/dev/null && die "was not killed"
for _ in $(seq 100); do losetup -l -n -O BACK-FILE | grep -qF "$T/" || break; sleep .05; done
says "try again: rm $T/a.img $T/b.img" "$HOLD" "raid1:$T/a.img,$T/b.img,size=128M"
rm "$T/a.img" "$T/b.img"
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "what a killed run left: both files are named in a command that removes them"

# in use: never called a leftover
hold "rdm:$T/d.img,size=64M"
says "in use by iotape, process $HOLD_PID" "$HOLD" "rdm:$T/d.img,size=64M"
release
"$IOTAPE" backend up "$name=vmdk:$T/v.vmdk,size=64M" >/dev/null 2>&1 || die "up"
says "iotape backend down $name" "$IOTAPE" backend up "$name-2=vmdk:$T/v.vmdk,size=64M"
grep -q "rm " "$T/log.err" && die "told to remove what is up: $(cat "$T/log.err")"
"$IOTAPE" backend down $name || die "down"
ok "what is up is not called a leftover"

# up, then unmounted by hand, and other files in the place of ours: they stay
for s in "rdm:$T/d.img,size=64M" "vmdk:$T/v.vmdk,size=64M" "raid1:$T/a.img,$T/b.img,size=128M"; do
	dir=$("$IOTAPE" backend up "$name=$s" 2>/dev/null) || die "up $s"
	umount "${dir%/replay}" || die "umount"
	for f in "$T"/*.img "$T"/*.vmdk; do [ ! -e "$f" ] || { rm "$f"; echo precious >"$f"; echo "$f" >>"$T/log.mine"; }; done
	expect 0 "$IOTAPE" backend down $name
	while read -r f; do [ "$(cat "$f")" = precious ] || die "$s: $f was not ours and is gone"; rm "$f"; done <"$T/log.mine"
	: >"$T/log.mine"
	[ "$(left)" = "$before" ] || die "$s left: $(left)"
	# and when ours were removed under it
	"$IOTAPE" backend up "$name=$s" >/dev/null 2>&1 || die "up $s"
	for f in "$T"/*.img "$T"/*.vmdk; do [ ! -e "$f" ] || rm "$f"; done
	expect 0 "$IOTAPE" backend down $name
	[ "$(left)" = "$before" ] || die "$s left: $(left)"
done
ok "files that took the place of ours stay"

# one thing by two names
truncate -s 300M "$T/log.disk"; D=$(losetup -f --show "$T/log.disk") || die "no loop"
ln "$T/log.disk" "$T/log.hard"
says "is in use by $D" "$HOLD" -d "$T/log.hard" "rdm:$T/log.hard"
over=$(losetup -f --show "$D") || die "no loop over a loop"
says "is in use by $over" "$HOLD" -d "$D" "rdm:$D"
losetup -d "$over"
for _ in $(seq 100); do losetup "$over" >/dev/null 2>&1 || break; sleep .05; done
mknod "$T/log.node" b $(stat -c '0x%t 0x%T' "$D")
says "both legs are" "$HOLD" -d "$D" "raid1:$D,$T/log.node"
long=$T/log.$(printf 'n%.0s' $(seq 80)); ln -s "$D" "$long"
hold -c -d "$D" "rdm:$long"
[ "$HOW" = "ext4 on $D" ] || die "how: $HOW"
release
losetup -d "$D"
ok "hard links, loops over loops, second nodes and long links are seen through"
# a line end in a name: still told that a loop device stands over it
f=$T/$'log.line\nend'; truncate -s 64M "$f"; D=$(losetup -f --show "$f") || die "no loop"
expect 2 "$HOLD" -d "$f" "rdm:$f" </dev/null 2>"$T/log.err"
grep -q "is in use by $D" "$T/log.err" || die "$(cat "$T/log.err")"
losetup -d "$D"
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "also with a line end in the name"
