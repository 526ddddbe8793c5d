/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines for tests of thallium.hpp: two in one process, one of which serves
 * what the other one calls. The transport is the first argument of the
 * program; the functions of RPCs note what happens and check nothing, since
 * they run on small stacks. */
#ifndef TESTS_THALLIUM_ENGINES_HPP
#define TESTS_THALLIUM_ENGINES_HPP

#include <string>
#include <vector>
#include <doctest/doctest.h>
#include <thallium.hpp>
#include <thallium/serialization/stl/string.hpp>
#include <thallium/serialization/stl/vector.hpp>

namespace tl = thallium;

/* "na+sm", unless the first argument says something else. */
extern std::string transport;

/* Each engine has a thread that makes progress, so that the main thread may
 * block; requests of the server run beside it. */
struct two_engines {
    tl::engine server{transport, THALLIUM_SERVER_MODE, true, 1};
    tl::engine client{transport, THALLIUM_CLIENT_MODE, true};
    tl::endpoint peer = client.lookup(server.self());

    two_engines() = default;
    two_engines(const two_engines &) = delete;
    two_engines &operator=(const two_engines &) = delete;

    ~two_engines()
    {
        peer = tl::endpoint();
        client.finalize();
        server.finalize();
    }
};

/* Lets other threads run until a condition holds. */
template <typename F> void await(const F &condition)
{
    while (!condition())
        (void)ABT_thread_yield();
}

/* The code of the margo_exception that a function throws; HG_SUCCESS without
 * one. Its text goes to ret_text. */
template <typename F>
hg_return_t thrown_code(F &&function, std::string *ret_text = nullptr)
{
    try {
        function();
    } catch (const tl::margo_exception &error) {
        if (ret_text != nullptr)
            *ret_text = error.what();
        return error.error();
    }
    return HG_SUCCESS;
}

#endif
