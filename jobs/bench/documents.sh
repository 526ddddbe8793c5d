# SPDX-License-Identifier: BSD-3-Clause
# Sourced by plot and table: reads what amalgam_bench writes with --json.
# shellcheck shell=bash

unset CDPATH
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
me=jobs/bench/${0##*/}

# Ends the script with exit code $1 and a message.
give_up() {
    local code=$1
    shift
    echo "$me: $*" >&2
    exit "$code"
}

# Ends the script with exit code 4 where one of the programs "$@" is missing.
need_tools() {
    local tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || give_up 4 "there is no $tool here:" \
            "apt-get install gnuplot-nox jq (the results stay as they are)"
    done
}

# Ends the script unless the file "$1" holds one document that we understand.
check_document() {
    local file=$1 wrong
    [ -f "$file" ] && [ -r "$file" ] || give_up 2 "cannot read $file"
    # The parser's message has the place: "... at line 3, column 14".
    wrong=$(jq -s empty "$file" 2>&1) || give_up 2 "$file: no JSON: ${wrong#jq: }"
    wrong=$(jq -r -s 'if length != 1 then
            "holds \(length) values instead of one document"
        elif (.[0] | type) != "object" or .[0].format != "amalgam_bench" then
            "these are no results of amalgam_bench: its \"format\" is not \"amalgam_bench\""
        elif .[0].version != 1 then
            "is of version \(.[0].version), and this reads version 1: take " +
            "the scripts that came with the amalgam_bench that wrote it"
        elif (.[0].rows | type) != "array" or
            any(.[0].rows[]; type != "object") then
            "has no list of rows"
        else "" end' "$file") || give_up 2 "$file: cannot be read"
    [ -z "$wrong" ] || give_up 2 "$file: $wrong"
}

# Prints the documents of the files "$@" as an array of {file, doc}.
read_documents() {
    local file
    for file in "$@"; do
        jq --arg file "${file##*/}" '{file: $file, doc: .}' "$file"
    done | jq -s .
}
