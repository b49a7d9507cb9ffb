#!/usr/bin/env bash
# Records scp of a directory of many small files through a real sshd on 127.0.0.1: of 203 MB one file has 87 MB, one
# 16 MB, all others (about 1,500) less than 1 MB. --size and --files scale all of it.
. "$(dirname "$0")/lib.sh"
usage() {
	cat <<-EOF
		usage: samples/scp-small-files.sh [--write|--read] [--size=203M] [--files=1500] [-o TRACE] [--quiet]
		Records an scp -r of a directory of FILES files, SIZE bytes in all, into (--write) or out of (--read)
		a recorded directory. 87/203 of the bytes are one file, 16/203 another, the rest are below 1 MB each.
	EOF
}
SIZE=$(bytes 203M) FILES=1500
sample_options "$@"
case "$FILES" in '' | *[!0-9]*) die "--files needs a number" ;; esac
[ "$FILES" -ge 3 ] || die "--files needs at least 3"
sample_begin
mkdir "$W/in"
# Sizes spread over three powers of ten, then scaled to the sum; the same list every time.
awk -v size="$SIZE" -v files="$FILES" 'BEGIN {
	srand(20120402)
	n = files - 2; rest = size - int(size * 87 / 203) - int(size * 16 / 203)
	cap = size / 203; if (cap < 2 * rest / n) cap = 2 * rest / n # few files: they have to be larger
	for (i = 0; i < n; i++) { w[i] = exp(rand() * 6.9); sum += w[i] }
	for (pass = 0; pass < 20; pass++) {
		scale = rest / sum; sum = 0
		for (i = 0; i < n; i++) { w[i] *= scale; if (w[i] > cap * 0.98) w[i] = cap * 0.98; sum += w[i] }
	}
	print "archive.tar", int(size * 87 / 203), 0.05
	print "image.iso", int(size * 16 / 203), 0.2
	for (i = 0; i < n; i++)
		printf "d%02d/f%04d.%s %d %s\n", i % 40, i, i % 3 ? "txt" : "jpg", w[i], i % 3 ? 0.7 : 0
}' >"$W/list"
awk '$1 ~ "/" {sub("/.*", "", $1); print $1}' "$W/list" | sort -u | (cd "$W/in" && xargs mkdir)
make_files "$W/in" <"$W/list"
sample_run
