#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The first error that a compiler prints says what the program lacks: a newer
# standard, the header of an argument's type, a function that serializes it.
# messages.sh FOLDER-OF-CEREAL
set -u
cd "$(dirname "$0")/../../include" || exit 1
cereal=$1

# says STANDARD TEXT: the first error has that text, for the program on stdin.
says() {
    first=$(${CXX:-c++} "-std=$1" -D_GNU_SOURCE -fsyntax-only -I. -Iult \
        -idirafter "$cereal" -x c++ - 2>&1 | grep -m 1 'error')
    case $first in
    *"$2"*) ;;
    *)
        echo "FAILED: \"$2\" is expected, the compiler says: $first"
        exit 1
        ;;
    esac
}

call() {
    cat <<EOF
#include <thallium.hpp>
#include <thallium/serialization/stl/vector.hpp>
struct point { int x; };
void call(const thallium::callable_remote_procedure &rpc) { $1; }
EOF
}

call '' | says c++11 'needs C++14' || exit 1
call 'rpc(std::map<int, int>())' |
    says c++14 'serialization/stl/map.hpp' || exit 1
call 'std::vector<std::string> v = rpc(1)' |
    says c++17 'serialization/stl/string.hpp' || exit 1
call 'rpc(std::vector<point>())' | says c++14 'void serialize(A &ar)'
