# Turns the output of go test -v into that of go test, with one line for each
# skipped test that says why, and a last line with the counts.

/^=== / { next }

/^ *--- PASS/ { passed++ }
/^--- SKIP/ {
	skipped++
	sub(/^ *[^ ]*_test\.go:[0-9]+: |^ *[^ ]*\.go:[0-9]+: /, "", last)
	print "--- SKIP: " $3 ": " last
}
/^ *--- FAIL/ { failed++ }
{ text = text $0 "\n"; last = $0 }

/^(ok  |\?   )\t/ { print; text = ""; fflush() }
/^FAIL\t/ { printf "%s", text; text = ""; bad++; fflush() }

END {
	# What no package line followed: a build that broke off, a killed test.
	if (text !~ /^(FAIL\n)?$/) printf "%s", text
	printf "%d passed, %d failed, %d skipped%s\n", passed, failed, skipped, bad ? "; " bad " packages FAILED" : ""
}
