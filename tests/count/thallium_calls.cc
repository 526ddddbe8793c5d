/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a Thallium engine to itself, whose instructions callgrind counts. */
#include <cstdint>
#include <string>
#include <thallium.hpp>
#include <thallium/serialization/stl/string.hpp>

#include "count.h"

namespace tl = thallium;

namespace
{

struct ints {
    std::int32_t one;
    std::int32_t other;

    template <typename Archive> void serialize(Archive &archive)
    {
        archive &one;
        archive &other;
    }
};

void ints_call(const tl::callable_remote_procedure &procedure)
{
    const ints result = procedure(ints{1, 2});

    if (result.one != 2 || result.other != 1)
        std::exit(EXIT_FAILURE);
}

} /* namespace */

int main()
{
    tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
    const tl::endpoint self = engine.self();
    const std::string twenty = "a text of 20 bytes.";
    const auto null =
        engine
            .define(
                "null", [](const tl::request &request) { request.respond(); })
            .on(self);
    const auto swap = engine
                          .define("ints",
                              [](const tl::request &request, const ints &in) {
                                  request.respond(ints{in.other, in.one});
                              })
                          .on(self);
    const auto text =
        engine
            .define("text", [](const tl::request &request,
                                const std::string &) { request.respond(); })
            .on(self);

    COUNT("thallium", "self", null());
    COUNT("thallium_ints", "self", ints_call(swap));
    COUNT("thallium_text", "self", text(twenty));
    engine.finalize();
    return EXIT_SUCCESS;
}
