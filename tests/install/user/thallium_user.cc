/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for Thallium, without anything of this library: it calls itself. */
#include <thallium.hpp>
#include <thallium/serialization/stl/string.hpp>

#include <cstdio>
#include <string>

namespace tl = thallium;

#if defined(TYPES_ARE_CHECKED) != defined(THALLIUM_DEBUG_RPC_TYPES)
#error "THALLIUM_DEBUG_RPC_TYPES belongs to thallium_check_types"
#endif

int main()
{
    tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
    std::string answer;

    engine.define(
        "greet", [](const tl::request &request, const std::string &name) {
            request.respond("hello " + name);
        });
    answer = engine.define("greet")
                 .on(engine.self())(std::string("world"))
                 .as<std::string>();
    std::printf("API of version %s: %s\n", THALLIUM_VERSION, answer.c_str());
    engine.finalize();
    return answer == "hello world" ? 0 : 2;
}
