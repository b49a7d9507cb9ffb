# text_trace N: the text twin of a trace of 4 N + 3 events, for the tests of the log: N files are created, written,
# read back and released, with a rename and a failed open at the end. "#chunk" every 1,000 files.
text_trace() {
	awk -v n="$1" 'BEGIN {
		print "#iotape 1"; print "#recorder \"text-trace\""; print "#view \"app\""; print "#host_kernel \"6.1\""
		print "#fs_type \"ext4\""; print "#command \"cp -r a b\\xff\""; print "#start_wall_ns 1700000000000000000"; print "#level 1"
		print "#chunk"
		print ++s " +0.000000000s 0ns q0 L0 snap iid=1 parent=0 name=\"\" = 0 mode=040755"
		for (i = 0; i < n; i++) {
			if (i && i % 1000 == 0) print "#chunk"
			t = i / 1000
			l = 1 + i % 3
			printf "%d +%.9fs %dns q900 L%d create iid=%d oid=%d parent=1 name=\"file\\x0a%d\" = 0 flags=0x8041 mode=0100644\n", ++s, t, 3000 + i, l, i + 2, i + 1, i
			printf "%d +%.9fs %dns q900 L%d write iid=%d oid=%d offset=%.0f size=4096 = 4096 first_touch=1\n", ++s, t + 0.0001, 5000 + i, l, i + 2, i + 1, i * 4096
			printf "%d +%.9fs 2000ns q900 L%d read iid=%d oid=%d offset=%.0f size=8192 = %d\n", ++s, t + 0.0002, l, i + 2, i + 1, i * 4096, i % 4097
			printf "%d +%.9fs 100ns q900 L%d release iid=%d oid=%d = 0\n", ++s, t + 0.0003, l, i + 2, i + 1
		}
		printf "%d +%.9fs 7000ns q900 L1 rename iid=2 parent=1 name=\"file\\x0a0\" parent2=1 name2=\"g\" = 0\n", ++s, t + 0.001
		printf "%d +%.9fs 7000ns q900 L1 open iid=2 = -2 ENOENT flags=0x8000\n", ++s, t + 0.002
		print "#trailer reason=\"unmounted\""
	}'
}
