#!/bin/sh
# One line of what `iotape info --format=json` says, for the quick start's progress.
sed -n 's/^ *"\(events\|read_bytes\|write_bytes\|duration_seconds\|bytes_per_event\)": *\([0-9.]*\),*$/\1 \2/p' |
	awk '{v[$1] = $2} END {printf "%d operations, %.1f MB read, %.1f MB written, %.1f s\n",
		v["events"], v["read_bytes"] / 1e6, v["write_bytes"] / 1e6, v["duration_seconds"]}'
