#!/bin/bash
# backend up, list, down: as a user without help would use it; names, what is busy, what was changed by hand, `up` killed at
# any moment. Whatever happens, `down NAME` ends it and nothing stays.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop; need qemu-img mkfs.btrfs
name=it$$ NOTES=/run/iotape
[ "$(id -u)" = 0 ] || NOTES=$XDG_RUNTIME_DIR/iotape
export TMPDIR=$T/log.mnt; mkdir "$TMPDIR"
D=; at_exit() { [ -z "$D" ] || losetup -d "$D" 2>/dev/null; "$IOTAPE" backend down $name 2>/dev/null; "$IOTAPE" backend down $name-b 2>/dev/null; }
before=$(left)
clean() { # WHAT
	[ "$(left)" = "$before" ] || die "$1 left: $(left)"
	[ -z "$(ls -A "$TMPDIR")" ] || die "$1 left mount points: $(ls -A "$TMPDIR")"
	[ ! -e "$NOTES/$name" ] || die "$1 left its note"
}
up() { dir=$("$IOTAPE" backend up "$name=$1" 2>"$T/log.err") || die "up $1: $(cat "$T/log.err")"; }
specs=("rdm:$T/d.img,size=64M" "vmdk:$T/v.vmdk,size=64M,provision=eager" "raid1:$T/a.img,$T/b.img,size=128M" "dir:$T")
for s in "${specs[@]}"; do
	up "$s"
	grep -q "iotape backend down $name\$" "$T/log.err" || die "up does not say how to take it down: $(cat "$T/log.err")"
	echo data >"$dir/f" || die "cannot write to $dir"
	"$IOTAPE" backend list >"$T/log.list"
	grep -q "^up: $name at $dir" "$T/log.list" || die "list does not show it: $(cat "$T/log.list")"
	"$IOTAPE" backend list --format=json | jq -e --arg n $name '.up[] | select(.name == $n) | .state == "up"' >/dev/null || die "JSON"
	expect 2 "$IOTAPE" backend up "$name=$s" 2>"$T/log.err"
	grep -q "'$name' is up already" "$T/log.err" || die "$(cat "$T/log.err")"
	case $s in dir:*) ;; *)
		findmnt -n -T "$dir" -o TARGET | grep -q "^$TMPDIR/iotape-$name-" || die "not seen by others"
		(cd "$dir" && exec sleep 600) & p=$!; IT_PIDS+=($p)
		for _ in $(seq 100); do [ "$(readlink /proc/$p/cwd)" = "$dir" ] && break; sleep .05; done
		expect 2 "$IOTAPE" backend down $name 2>"$T/log.err"
		grep -q "cannot unmount" "$T/log.err" || die "$(cat "$T/log.err")"
		[ "$(cat "$dir/f")" = data ] || die "a down that failed took the data"
		kill $p; wait $p 2>/dev/null ;;
	esac
	expect 0 "$IOTAPE" backend down $name
	clean "down $s"
	[ ! -e "$dir" ] || die "$dir stays"
done
expect 2 "$IOTAPE" backend down $name 2>"$T/log.err"
grep -q "none is up by the name of '$name'" "$T/log.err" || die "$(cat "$T/log.err")"
ok "up, list, down"

# without a name: the kind's, made unique
mkdir "$T/x"; before=$(left)
a=$("$IOTAPE" backend up "$T/x" 2>"$T/log.err") || die "up: $(cat "$T/log.err")"; na=$(sed -n 's/.*stays until: iotape backend down //p' "$T/log.err")
b=$("$IOTAPE" backend up "$T/x" 2>"$T/log.err") || die "up: $(cat "$T/log.err")"; nb=$(sed -n 's/.*stays until: iotape backend down //p' "$T/log.err")
[ "$na" != "$nb" ] && [ "$a" != "$b" ] || die "both are $na at $a"
expect 0 "$IOTAPE" backend down "$na"; [ -d "$b" ] && [ ! -e "$a" ] || die "took the wrong one down"
expect 0 "$IOTAPE" backend down "$nb"
clean "down of both"; rmdir "$T/x"; before=$(left)
ok "names are made unique"

# changed by hand behind its back
for s in "${specs[@]:0:3}"; do
	up "$s"; umount "${dir%/replay}"; expect 0 "$IOTAPE" backend down $name; clean "$s, unmounted by hand"
	up "$s"; for l in $(losetup -l -n -O NAME,BACK-FILE | grep -F "$T/" | cut -d' ' -f1); do losetup -d "$l"; done
	umount "${dir%/replay}"; rmdir "${dir%/replay}"; expect 0 "$IOTAPE" backend down $name; clean "$s, detached by hand"
done
if "$IOTAPE" backend check "rdm:$T/d.img,size=64M,rate=20M" >/dev/null 2>&1; then
	up "rdm:$T/d.img,size=64M,rate=20M"; d=$(findmnt -n -o MAJ:MIN "${dir%/replay}" | tr -d " ")
	rule() { cat /sys/fs/cgroup/blkio/blkio.throttle.{read,write}_bps_device | grep -qx "$d $((20 << 20))"; }
	rule || die "no rule for $d"
	umount "${dir%/replay}"; expect 0 "$IOTAPE" backend down $name
	rule && die "the rule for $d stays"
	clean "unmounted by hand with a rule"
fi
# a device that was named: wiped at down as long as what is on it is ours
truncate -s 64M "$T/log.disk"; D=$(losetup -f --show "$T/log.disk") || die "no loop"
dir=$("$IOTAPE" backend up --destroy="$D" "$name=rdm:$D" 2>/dev/null) || die "up"
expect 0 "$IOTAPE" backend down $name; blkid -p "$D" && die "down did not wipe $D"
dir=$("$IOTAPE" backend up --destroy="$D" "$name=rdm:$D" 2>/dev/null) || die "up"
umount "${dir%/replay}"; mkfs.ext4 -q -L precious "$D" || die "mkfs"
expect 0 "$IOTAPE" backend down $name
[ "$(blkid -p -s LABEL -o value "$D")" = precious ] || die "down wiped what was not ours"
losetup -d "$D"; D=; clean "a device"
# as after a reboot: no mount, no note; what is to be done is said, and does it
up "raid1:$T/a.img,$T/b.img,size=128M"; umount "${dir%/replay}"; rmdir "${dir%/replay}"; rm "$NOTES/$name"
expect 2 "$IOTAPE" backend up "$name=raid1:$T/a.img,$T/b.img,size=128M" 2>"$T/log.err"
grep -q "no longer mounted: iotape backend down $name; .*: rm $T/a.img $T/b.img\$" "$T/log.err" || die "$(cat "$T/log.err")"
sh -c "$(sed 's/.*: rm/rm/' "$T/log.err")"; clean "after a reboot"
ok "changed by hand: down still cleans up"

# up killed: by its tools, at each step; and when all is done but the last
mkdir "$T/log.bin"
for tool in qemu-img mkfs.ext4 mkfs.btrfs; do
	printf '#!/bin/bash\nkill -9 $PPID\nsleep .2\nexit 1\n' >"$T/log.bin/$tool"; chmod 755 "$T/log.bin/$tool"
done
for s in "${specs[@]:0:3}"; do
	PATH=$T/log.bin:$PATH "$IOTAPE" backend up "$name=$s" >/dev/null 2>&1 && die "was not killed"
	"$IOTAPE" backend list | grep -q "^killed: $name" || die "list: $("$IOTAPE" backend list)"
	expect 0 "$IOTAPE" backend down $name
	for _ in $(seq 100); do [ "$(left)" = "$before" ] && break; sleep .05; done
	clean "$s, up killed, down"
	PATH=$T/log.bin:$PATH "$IOTAPE" backend up "$name=$s" >/dev/null 2>&1 && die "was not killed"
	for _ in $(seq 100); do losetup -l -n -O BACK-FILE | grep -qF "$T/" || break; sleep .05; done
	up "$s"; expect 0 "$IOTAPE" backend down $name; clean "$s, up killed, up and down"
done
: >"$NOTES/$name"; "$IOTAPE" backend list >/dev/null || die "list"
up "dir:$T"; expect 0 "$IOTAPE" backend down $name; clean "an empty note"
: >"$NOTES/$name"; expect 0 "$IOTAPE" backend down $name; clean "an empty note"
for ms in 0 2 5 10 20 40 60 90; do
	"$IOTAPE" backend up "$name=raid1:$T/a.img,$T/b.img,size=128M" >/dev/null 2>&1 & p=$!
	sleep "$(printf .%03d $ms)"; kill -9 $p 2>/dev/null; wait $p 2>/dev/null
	"$IOTAPE" backend down $name 2>"$T/log.err" || grep -q "none is up" "$T/log.err" || die "after $ms ms: $(cat "$T/log.err")"
	for _ in $(seq 100); do [ "$(left)" = "$before" ] && break; sleep .05; done
	rmdir "$TMPDIR"/* 2>/dev/null # between two system calls: an empty directory
	clean "up killed after $ms ms, down"
done
ok "up killed at any moment: down, or the next up of that name, cleans up"

# nobody to tell: does not stay
expect 2 "$IOTAPE" backend up "$name=rdm:$T/d.img,size=64M" >/dev/full 2>"$T/log.err"
clean "up with a full standard output"
ok "up that cannot say where it is does not stay"
