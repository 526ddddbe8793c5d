#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that take turns: a seed repeats the calls of all ranks, and another one
# does not.
#
#   repeats.sh LAUNCH LIBRARY MANNERS
set -u
launch=$1 library=$2 manners=$3
traces() {
    "$launch" -n 2 env "LD_PRELOAD=$library" AMALGAM_TEST_STRICT_SEED=1 \
        AMALGAM_TEST_STRICT_TOKEN=1 AMALGAM_TEST_STRICT_TRACE=1 \
        "$manners" 1 5 </dev/null | grep '^strict: seed'
}
first=$(traces)
again=$(traces)
echo "$first"
[ "$(wc -l <<<"$first")" -ge 5 ] || {
    echo "traces are missing"
    exit 1
}
[ "$first" = "$again" ] || {
    echo "the same seeds again:"
    echo "$again"
    exit 1
}
[ -z "$(awk '{ print $NF }' <<<"$first" | sort | uniq -d)" ] || {
    echo "two seeds have one trace"
    exit 1
}
