#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# amalgam_info prints limits that are too small, and what to do.
#
# limits.sh locked AMALGAM_INFO SHIM     a NIC that locks exposed memory: the
#                                        stand-in SHIM for providers
# limits.sh ranks AMALGAM_INFO LAUNCH... one rank has fewer descriptors; the job
#                                        needs more than its ranks may have
set -eu
unset CDPATH
how=$1 info=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export AMALGAM_LOG_LEVEL=none

fail() {
    echo "limits.sh: $*" >&2
    cat "$dir/text" >&2
    exit 1
}

said() {
    grep -qE "$1" "$dir/text" || fail "'$1' is not there"
}

if [ "$how" = locked ]; then
    # "cxi" demands that exposed memory has pages, which are locked then.
    (
        ulimit -l 64
        AMALGAM_TEST_SHIM=cxi LD_LIBRARY_PATH=$(dirname "$1") \
            LD_PRELOAD=$(basename "$1") "$info" -t ofi+tcp
    ) >"$dir/text" 2>&1 || fail "ended with $?"
    said '^      locked bytes  *65536  *0  *all exposed$'
    said '^  too small  *locked memory: .*, and 65536 bytes are the most\. ulimit'
    # The class does not use that NIC, so its memory is not locked.
    (
        ulimit -l 64
        AMALGAM_TEST_SHIM=cxi LD_LIBRARY_PATH=$(dirname "$1") \
            LD_PRELOAD=$(basename "$1") "$info" -t shm
    ) >"$dir/text" 2>&1 || fail "ended with $?"
    said '^      locked bytes  *65536  *0  *none$'
    said '^  too small  *nothing$'
    exit 0
fi

cat >"$dir/rank" <<'END'
#!/bin/bash
[ "${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-0}}" != 2 ] || ulimit -n 300
exec "$@"
END
chmod +x "$dir/rank"
"$@" -n 3 "$dir/rank" "$info" --job >"$dir/text" 2>&1 || fail "ended with $?"
said '^      descriptors  *300 '
said '^  too small  *nothing$'

if "$info" -t self | grep -q '^Libfabric: driver not installed'; then
    echo "no job over TCP: this build is without libfabric"
    exit 0
fi
# Eight nodes of a rank each: every rank has a connection to the seven others.
words=(-hosts "a,b,c,d,e,f,g,h" -ppn 1 -n 8 "$info" --job -t ofi+tcp)
"$@" "${words[@]}" >"$dir/text" 2>&1 || fail "ended with $?"
read -r open needed < <(awk '$1 == "descriptors" { print $3, $4 }' "$dir/text")
[ "$needed" = $((open + 7)) ] || fail "seven peers are $open to $needed descriptors"
few=$((needed - 3)) # enough to open the class
(
    ulimit -n $few
    "$@" "${words[@]}"
) >"$dir/text" 2>&1 || fail "ended with $?"
said "^      descriptors  *$few "
said "^  too small  *descriptors: the class needs [0-9]* when .*, and $few are"
