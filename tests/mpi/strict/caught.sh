#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The stand-in reports each breach:
#
#   caught.sh LAUNCH LIBRARY BREACHES
set -u
launch=$1 library=$2 breaches=$3
failed=0
while read -r name report; do
    out=$(AMALGAM_TEST_STRICT_OVERLAP=1 AMALGAM_TEST_STRICT_END=exit \
        timeout 20 "$launch" -n 2 env "LD_PRELOAD=$library" \
        "$breaches" "$name" 2>&1 </dev/null)
    code=$?
    [ $code -ne 0 ] && grep -q "^strict: rank [01]: .*$report" <<<"$out" &&
        continue
    echo "not reported: $name (exit code $code)"
    echo "$out"
    failed=1
done < <("$breaches" list)
exit $failed
