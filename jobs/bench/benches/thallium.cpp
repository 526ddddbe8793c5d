/* SPDX-License-Identifier: BSD-3-Clause */
#include "jobs/bench/benches/thallium.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>
#include <thallium.hpp>
#include <thallium/serialization/stl/string.hpp>
#include <thallium/serialization/stl/vector.hpp>

namespace tl = thallium;

struct ints {
    std::int32_t a;
    std::int32_t b;

    template <typename Archive> void serialize(Archive &archive)
    {
        archive &a;
        archive &b;
    }
};

struct thallium_side {
    tl::engine engine;
    std::array<tl::remote_procedure, THALLIUM_KINDS> ids;
    std::array<tl::callable_remote_procedure, THALLIUM_KINDS> calls;
    std::string string = std::string(THALLIUM_STRING_LEN, 's');
    std::vector<char> vector = std::vector<char>(THALLIUM_VECTOR_LEN, 'v');
};

namespace
{

template <typename... In>
tl::remote_procedure define(
    tl::engine &engine, const char *name, void (*served)(void *), void *arg)
{
    return engine.define(
        name, [served, arg](const tl::request &request, const In &...) {
            served(arg);
            request.respond();
        });
}

} /* namespace */

thallium_side *thallium_open(
    margo_instance_id mid, hg_addr_t peer, void (*served)(void *), void *arg)
{
    tl::engine engine(mid);
    tl::endpoint to(engine, peer, false);
    std::array<tl::remote_procedure, THALLIUM_KINDS> ids = {
        define<>(engine, "bench_thallium_null", served, arg),
        engine.define("bench_thallium_ints",
            [served, arg](const tl::request &request, const ints &in) {
                served(arg);
                request.respond(ints{in.b, in.a});
            }),
        define<std::string>(engine, "bench_thallium_string", served, arg),
        define<std::vector<char>>(
            engine, "bench_thallium_vector", served, arg)};

    return new thallium_side{engine, ids,
        {ids[0].on(to), ids[1].on(to), ids[2].on(to), ids[3].on(to)}};
}

void thallium_close(thallium_side *side)
{
    delete side;
}

static void ints_verify(const ints &out)
{
    if (out.a != -2 || out.b != 1)
        throw std::runtime_error("two ints came back unswapped");
}

void thallium_call(thallium_side *side, thallium_kind kind)
{
    const tl::callable_remote_procedure &call = side->calls[kind];

    try {
        if (kind == THALLIUM_NULL)
            call();
        else if (kind == THALLIUM_INTS)
            ints_verify(call(ints{1, -2}));
        else if (kind == THALLIUM_STRING)
            call(side->string);
        else
            call(side->vector);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "thallium_call: %s\n", error.what());
        std::exit(EXIT_FAILURE);
    }
}
