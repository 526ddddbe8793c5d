#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# margo-info lists the transports of Margo, gives the reason for those that
# cannot be opened, and its exit code tells whether all requested ones can.
#
# margo_info.sh MARGO_INFO [LAUNCH...]: LAUNCH starts it as a rank of a job.
set -eu

info=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Each transport of MPI is a job of its own, also where the tool itself is a rank.
if [ $# -gt 0 ]; then
    code=0
    "$@" "$info" mpi+p2p mpi+rma mpi+static </dev/null >"$dir/out" || code=$?
    if [ "$code" = 0 ] && [ "$(grep -c ' mpi://' "$dir/out")" = 3 ]; then
        exit 0
    fi
    echo "margo_info.sh: as a rank it ends with $code:" >&2
    cat "$dir/out" >&2
    [ "$code" != 77 ] || exit 77
    exit 1
fi

# ends CODE PATTERN ARG...: must end so, with that stdout; "": with none.
ends() {
    local wanted=$1 pattern=$2 code=0
    shift 2
    "$info" "$@" </dev/null >"$dir/out" 2>"$dir/err" || code=$?
    if [ -n "$pattern" ]; then
        grep -qE "$pattern" "$dir/out" || code="$code, without that"
    elif [ -s "$dir/out" ]; then
        code="$code, with words"
    fi
    if [ "$code" != "$wanted" ]; then
        echo "margo_info.sh: '$*' ended with $code, not $wanted, '$pattern'" >&2
        cat "$dir/out" "$dir/err" >&2
        exit 1
    fi
}

ends 0 '^self +self://[^ ]+$' self
ends 0 '^na\+sm +na\+sm://[^ ]+$' self na+sm
ends 1 '^nothing +no: no transport .nothing. here' nothing
ends 1 '^self +self://' self nothing
ends 0 '^margo-info \[ADDRESS\.\.\.\]$' --help
ends 2 '' --unknown
ends 2 '' ''
# Everything: some transports here can be opened.
ends 0 '^self +self://'
grep -qE '^na\+sm +na\+sm://' "$dir/out"
if grep -q "$(printf '\033')" "$dir/out"; then
    echo "margo_info.sh: colours in a file" >&2
    exit 1
fi
