#!/bin/bash
# What was there before is in the trace before it is first used, once, and what the job made is not;
# a recycled inode number is a new inode; writes say whether they allocate.
. "$(dirname "$0")/lib.sh"
need_fuse; need_root; need setfattr
D=$T/d; mkdir -p "$D/old"
echo hi > "$D/old/a"; ln "$D/old/a" "$D/old/b"; ln -s old/a "$D/link"; setfattr -n user.k -v v "$D/old/a"
truncate -s 1M "$D/sparse"; printf data | dd of="$D/sparse" bs=1 seek=500000 conv=notrunc 2>/dev/null; sync "$D/sparse"
"$IOTAPE" record -o "$T/t.tape" "$D" -- sh -ec "cd '$D'
	cat old/b old/a; readlink link; getfattr -n user.k old/a
	echo one > new; echo more >> new; ln new new2; cat new2; mv new old/a; rm old/b
	for i in 1 2 3; do echo x > n; rm n; done
	printf x | dd of=sparse bs=1 seek=100 conv=notrunc; printf x | dd of=sparse bs=1 seek=200 conv=notrunc
	truncate -s 100 sparse; truncate -s 1M sparse
	printf x | dd of=sparse bs=1 seek=500000 conv=notrunc; head -c 65536 /dev/zero >> old/a
	ls" >/dev/null 2>&1 || die "the job failed"
"$IOTAPE" dump "$T/t.tape" > "$T/dump" || die "dump"
has() { grep -qE "$1" "$T/dump" || die "no event like: $1"; }
count() { [ "$(grep -cE "$1" "$T/dump")" = "$2" ] || die "not $2 events like: $1"; }
has '^1 .* snap iid=1 .* mode=0407'
has ' snap iid=.* name="a" .*mode=0100644 arg=2'
has ' snap iid=.* name="b" .*mode=0100644 arg=2'
a=$(grep ' snap .* name="a"' "$T/dump" | grep -o ' iid=[0-9]*'); b=$(grep ' snap .* name="b"' "$T/dump" | grep -o ' iid=[0-9]*')
[ "$a" = "$b" ] || die "two names of one file are$a and$b"
has ' snap iid=.* name="link" target="old/a"'
has ' snap_xattr iid=.* name="user.k" size=1 '
count ' snap_data ' 1
has ' snap_data iid=.* offset=499712 size=4096'
ok "type, mode, links, text, holes and attributes of what was there"
for n in new new2 n; do count " snap .* name=\"$n\"" 0; done
for n in a b link sparse old; do count " snap .* name=\"$n\"" 1; done
[ "$(grep ' create .* name="n"' "$T/dump" | grep -o ' iid=[0-9]*' | sort -u | wc -l)" = 3 ] || die "three files of one name are not three inodes"
has " rename iid=[0-9]+ .*name=\"new\" .*name2=\"a\" iid2=${b# iid=} "
has " unlink${b} .* name=\"b\""
ok "what the job made is not, and inodes are told apart"
s=$(grep ' snap .* name="sparse"' "$T/dump" | grep -o ' iid=[0-9]*')
grep " write$s " "$T/dump" > "$T/w"
sed -n 1p "$T/w" | grep -q ' offset=100 .*first_touch=1' || die "a write into a hole is no first touch"
sed -n 2p "$T/w" | grep -q first_touch && die "the second write of a block is a first touch"
sed -n 3p "$T/w" | grep -q ' offset=500000 .*first_touch=1' || die "a write behind a cut is no first touch"
grep -q ' write .* content=zero' "$T/dump" || die "zeros are not seen as zeros"
grep -q ' write .* content=sample:' "$T/dump" || die "no sample of what was written"
ok "first touch and content of writes"
