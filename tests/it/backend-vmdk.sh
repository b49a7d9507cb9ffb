#!/bin/bash
# vmdk: files that qemu accepts, blocks as the provisioning says, data readable through qemu afterwards.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/backend-lib.sh"
need_loop; need qemu-img filefrag
before=$(left)
for p in thin lazy eager; do
	hold -c "vmdk:$T/v.vmdk,size=256M,provision=$p"
	qemu-img info -U "$T/v.vmdk" | grep -q 'create type: monolithicFlat' || die "qemu does not know it"
	grep -q 'ddb.adapterType = "lsilogic"' "$T/v.vmdk" || die "no lsilogic"
	[ "$(stat -c %s "$T/v-flat.vmdk")" = $((256 << 20)) ] || die "size of the extent"
	un=$(filefrag -v "$T/v-flat.vmdk" | grep -c unwritten)
	case $p in
	thin) [ "$ALLOCATED" -lt $((64 << 20)) ] || die "thin took $ALLOCATED" ;;
	lazy) [ "$ALLOCATED" -ge $((256 << 20)) ] && [ "$un" -gt 0 ] || die "lazy: $ALLOCATED, $un unwritten" ;;
	eager) [ "$ALLOCATED" -ge $((256 << 20)) ] && [ "$un" = 0 ] || die "eager: $ALLOCATED, $un unwritten" ;;
	esac
	case $HOW in *"over the extent of $T/v.vmdk, monolithicFlat, 256.0 MiB ${p:0:3}"*) ;; *) die "how: $HOW" ;; esac
	round_trip "$ROOT"
	verify_fio "$ROOT"
	release
	[ "$(left)" = "$before" ] || die "$p left: $(left)"
	ok "vmdk $p"
done
hold -c "vmdk:$T/v.vmdk,size=400M,provision=eager,fs=xfs"
[ "$(filefrag -v "$T/v-flat.vmdk" | grep -c unwritten)" = 0 ] || die "mkfs.xfs made eager extents unwritten"
round_trip "$ROOT"; verify_fio "$ROOT"; release
[ "$(left)" = "$before" ] || die "xfs left: $(left)"
ok "vmdk eager stays eager through mkfs.xfs"
# kept: qemu converts it, and the file system inside is whole and holds the data
hold -c -k "vmdk:$T/v.vmdk,size=128M"; round_trip "$ROOT"; release
qemu-img convert -O raw "$T/v.vmdk" "$T/log.raw" || die "qemu-img convert"
e2fsck -fn "$T/log.raw" >"$T/log.fsck" 2>&1 || die "e2fsck: $(tail -3 "$T/log.fsck")"
debugfs -R 'cat /replay/d/f' "$T/log.raw" 2>/dev/null | cmp - "$T/log.data" || die "qemu reads something else"
expect 2 "$HOLD" "vmdk:$T/v.vmdk,size=128M" </dev/null 2>"$T/log.err"
grep -q "exists and is not overwritten" "$T/log.err" || die "$(cat "$T/log.err")"
rm "$T/v.vmdk" "$T/v-flat.vmdk"
[ "$(left)" = "$before" ] || die "left: $(left)"
ok "vmdk kept: readable by qemu, not overwritten"
