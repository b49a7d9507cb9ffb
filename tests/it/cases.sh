#!/bin/bash
# Every behaviour of ../shared/cases on the mount (its README says what they are): a file system that
# programs cannot tell from a directory. One that fails on this machine's native directory as well
# says nothing about the mount. CASES_SELF: mounted over the source itself. CASES_ARGS: for record.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_fuse; need_root; need python3 setfacl setfattr
: "${IOTAPE_CASES:=$IOTAPE_SRC/../shared/cases}"
[ -f "$IOTAPE_CASES/caselib.py" ] || skip "no cases at $IOTAPE_CASES (not part of a clone)"
KNOWN=${CASES_KNOWN:-} # cases that are known to fail, as " 18 26 "

mkdir "$T/native" "$T/src" "$T/traces"
mnt=$T/mnt
[ -z "${CASES_SELF:-}" ] || mnt=$T/src
mkdir -p "$mnt"
cat > "$T/mirror" <<EOF
#!/bin/sh
exec "$IOTAPE" record ${CASES_ARGS:-} -o "$T/traces/\$\$.tape" "\$1" "\$2"
EOF
chmod 755 "$T" "$T/mirror"
export MIRROR_CMD=$T/mirror UMOUNT_CMD="fusermount3 -u" PYTHONDONTWRITEBYTECODE=1
[ -n "${CASES_SELF:-}" ] || export SRC=$T/src

start() {
	pid=$("$MIRROR_CMD" "$T/src" "$mnt" | tail -1)
	mountpoint -q "$mnt" || die "cannot mount"
}
alive() { [ -d "/proc/$1" ] && ! grep -q 'State:.Z' "/proc/$1/status" 2>/dev/null; }
# Three times: it may be wrong now and then only.
wrong_natively() {
	for _ in 1 2 3; do
		(unset SRC MIRROR_CMD; timeout 300 bash "$1" "$T/native" >/dev/null 2>&1)
		[ $? = 1 ] && return 0
	done
	return 1
}
failed=() passed=0 native=() bad=
start
for c in "$IOTAPE_CASES"/[0-9][0-9]-*.sh; do
	n=$(basename "$c" .sh)
	line=$(timeout 300 bash "$c" "$mnt" 2>&1)
	r=$?
	echo "${line##*$'\n'}"
	if ! alive "$pid"; then
		echo "      the recorder died in $n"
		failed+=("$n")
		umount -l "$mnt" 2>/dev/null
		start
	elif [ $r = 0 ]; then
		passed=$((passed + 1))
	elif [ $r = 77 ]; then
		continue
	elif wrong_natively "$c"; then
		echo "      (so it does on the native directory)"
		native+=("$n")
	else
		failed+=("$n")
	fi
done
fusermount3 -u "$mnt" || die "the mount is busy"
for _ in $(seq 200); do alive "$pid" || break; sleep 0.1; done
alive "$pid" && die "the recorder did not end with the mount"
"$IOTAPE" check "$(ls -S "$T"/traces/*.tape | head -1)" >/dev/null || die "the trace is damaged"
for n in "${failed[@]}"; do
	case $KNOWN in *" ${n%%-*} "*) echo "known: $n" ;; *) bad="$bad $n" ;; esac
done
[ -z "$bad" ] || die "wrong on the mount:$bad"
[ $passed -gt 20 ] || die "only $passed cases ran"
ok "$passed cases right, ${#native[@]} wrong natively too"
