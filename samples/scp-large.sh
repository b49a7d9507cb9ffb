#!/usr/bin/env bash
# Records scp of one large file through a real sshd on 127.0.0.1.
# --write (default): scp into the recorded directory; --read: out of it, with a cold cache.
. "$(dirname "$0")/lib.sh"
usage() {
	cat <<-EOF
		usage: samples/scp-large.sh [--write|--read] [--size=297M] [-o TRACE] [--quiet]
		Records an scp of one file of SIZE bytes into (--write) or out of (--read) a recorded directory.
	EOF
}
SIZE=$(bytes 297M)
sample_options "$@"
sample_begin
mkdir "$W/in"
echo "video.mkv $SIZE 0.02" | make_files "$W/in"
sample_run
