#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the fuzz targets with clang's libFuzzer, or runs one of them.
#
#   run.sh build DIR                    builds them in DIR
#   run.sh run DIR NAME CORPUS short    runs DIR's fuzz_NAME for some seconds
#   run.sh run DIR NAME CORPUS long     for AMALGAM_FUZZ_SECONDS, 60 if not set
#   run.sh keep DIR NAME CORPUS         makes CORPUS anew, of it and what was found
#
# What a run finds goes to DIR/found/NAME, and is where the next run begins,
# besides CORPUS. An input that fails is kept in DIR/failed.
set -u
unset CDPATH

root=$(cd "$(dirname "$0")/../../.." && pwd)
short_seconds=2
input_seconds=300 # ends an input that hangs; a busy machine needs none
memory_mib=2048
# Memory for long arguments follows the length that their sender claims. Lengths
# beyond the machine's memory are refused; here that begins early.
block_mib=512

skip() {
    echo "skipped: $*"
    exit 77
}

# Is there a clang whose libFuzzer links?
has_libfuzzer() {
    local try
    try=$(mktemp -d) || return 1
    echo 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);
        int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n)
        { (void)d; return (int)(n & 0); }' >"$try/try.c"
    clang -fsanitize=fuzzer,address,undefined "$try/try.c" -o "$try/try" \
        >/dev/null 2>&1
    set -- $?
    rm -rf "$try"
    return "$1"
}

build() {
    local dir=$1
    has_libfuzzer ||
        skip "no clang with libFuzzer (Debian: clang libclang-rt-dev)"
    mkdir -p "$dir"
    (cd "$root" && cmake --preset fuzz -B "$dir") >"$dir/configure.log" 2>&1 || {
        cat "$dir/configure.log"
        exit 1
    }
    cmake --build "$dir" --target fuzz_all -j 2
}

run() {
    local dir=$1 name=$2 corpus=$3 length=$4
    local program=$dir/tests/fault/fuzz/fuzz_$name seconds=$short_seconds
    [ -x "$program" ] || skip "$program was not built"
    # A short run is the same each time: new inputs are for the long one.
    local seed=1
    [ "$length" = short ] || {
        seconds=${AMALGAM_FUZZ_SECONDS:-60}
        seed=0 # a different one each time
    }
    mkdir -p "$dir/found/$name" "$dir/failed"
    "$program" -seed="$seed" -max_total_time="$seconds" -timeout="$input_seconds" \
        -rss_limit_mb="$memory_mib" -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="$dir/failed/$name-" \
        "$dir/found/$name" "$corpus" 2>&1 | tail -n 60
    [ "${PIPESTATUS[0]}" -eq 0 ] || {
        echo "An input failed. Once more: $program $dir/failed/$name-..."
        exit 1
    }
}

keep() {
    local dir=$1 name=$2 corpus=$3
    local program=$dir/tests/fault/fuzz/fuzz_$name merged=$dir/merged/$name
    rm -rf "$merged"
    mkdir -p "$merged"
    "$program" -set_cover_merge=1 "$merged" "$corpus" "$dir/found/$name" ||
        exit 1
    mkdir -p "$corpus"
    # Inputs that came with the fix of their bug stay in any case.
    find "$corpus" -type f ! -name 'fix-*' -delete
    find "$merged" -type f ! -name 'fix-*' -exec cp {} "$corpus" \;
    du -sb "$corpus"
}

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
ASAN_OPTIONS=$ASAN_OPTIONS:max_allocation_size_mb=$block_mib
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
case ${1:-} in
build) build "$2" ;;
run) run "$2" "$3" "$4" "$5" ;;
keep) keep "$2" "$3" "$4" ;;
*)
    sed -n '3,11s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
