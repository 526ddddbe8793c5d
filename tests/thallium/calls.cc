/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls return what functions answer, or throw; objects outlive finalize(). */
#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>
#include <thallium.hpp>
#include <thallium/serialization/stl/string.hpp>
#include <thallium/serialization/stl/vector.hpp>

namespace tl = thallium;

TEST_CASE("arguments and results are objects")
{
    tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
    tl::provider_handle provider(engine.self(), 3);
    std::vector<double> numbers{1, 2, 3.5};

    engine.define("add",
        [](const tl::request &req, int x, int y) { req.respond(x + y); });
    engine.define(
        "two",
        [](const tl::request &req, const std::string &text,
            std::vector<double> &values) {
            req.respond(text + "!", values.size());
        },
        3);
    int sum = engine.define("add").on(engine.self())(3, 4);
    CHECK(sum == 7);
    auto both = engine.define("two")
                    .on(provider)(std::string("abc"), numbers)
                    .as<std::string, std::size_t>();
    CHECK(std::get<0>(both) == "abc!");
    CHECK(std::get<1>(both) == 3);
    engine.finalize();
}

TEST_CASE("what does not match is refused, and the server goes on")
{
    tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
    tl::endpoint self = engine.self();

    engine.define("length", [](const tl::request &req, const std::string &s) {
        req.respond(s.size());
    });
    engine.define("throws",
        [](const tl::request &) { throw std::runtime_error("a test"); });
    tl::remote_procedure length = engine.define("length");
    /* A length that no memory has. */
    CHECK_THROWS_AS(
        length.on(self)(std::uint64_t(1) << 60), tl::margo_exception);
    CHECK_THROWS_AS(length.on(self)(), tl::margo_exception);
    CHECK_THROWS_AS(length.on(self)(std::string("x")).as<std::string>(),
        tl::margo_exception);
    CHECK_THROWS_AS(engine.define("throws").on(self)(), tl::margo_exception);
    CHECK_THROWS_AS(engine.define("unknown").on(self)(), tl::margo_exception);
    CHECK_THROWS_AS(tl::remote_procedure().on(self), tl::exception);
    CHECK_THROWS_AS(tl::packed_data<>().as<int>(), tl::exception);
    CHECK(length.on(self)(std::string("four")).as<std::size_t>() == 4);
    engine.finalize();
}

TEST_CASE("wait_any ends each request once")
{
    tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
    std::vector<tl::async_response> calls;
    std::vector<tl::async_response>::iterator done;
    int sum = 0;

    engine.define(
        "same", [](const tl::request &req, int x) { req.respond(x); });
    for (int i = 1; i <= 4; i++)
        calls.push_back(engine.define("same").on(engine.self()).async(i));
    for (int i = 1; i <= 4; i++) {
        sum += tl::async_response::wait_any(calls.begin(), calls.end(), done)
                   .as<int>();
        CHECK(done->received());
        CHECK_THROWS_AS(done->wait(), tl::exception);
    }
    CHECK(sum == 10);
    CHECK_THROWS_AS(
        tl::async_response::wait_any(calls.begin(), calls.end(), done),
        tl::exception);
    CHECK(done == calls.end());
    engine.finalize();
}

TEST_CASE("a call and its answer have a limit of time")
{
    tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
    tl::eventual<void> release;

    engine.define("late", [&release](const tl::request &req) {
        release.wait();
        req.respond();
    });
    tl::remote_procedure late = engine.define("late");
    CHECK_THROWS_AS(late.on(engine.self()).timed(std::chrono::milliseconds(5)),
        tl::timeout);
    release.set_value();
    engine.finalize();
}

TEST_CASE("objects may outlive finalize, and the instance ends with them")
{
    char memory[8] = "";
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    unsigned count = 0;

    {
        tl::endpoint self;
        tl::bulk bulk;
        {
            tl::engine engine("na+sm", THALLIUM_SERVER_MODE);

            mid = engine.get_margo_instance();
            /* One that refers to its own engine. */
            engine.define("own", [engine](const tl::request &req) {
                req.respond(engine.is_listening());
            });
            CHECK(engine.define("own").on(engine.self())().as<bool>());
            self = engine.self();
            bulk = engine.expose(
                {{memory, sizeof(memory)}}, tl::bulk_mode::read_only);
            engine.finalize();
        }
        CHECK(margo_instance_ref_count(mid, &count) == HG_SUCCESS);
        CHECK(count == 2);
        CHECK(!static_cast<std::string>(self).empty());
        CHECK(bulk.size() == sizeof(memory));
    }
    CHECK(margo_instance_ref_count(mid, &count) != HG_SUCCESS);
}

TEST_CASE("an exception ends a server that nobody finalizes")
{
    bool is_caught = false;

    try {
        tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
        throw std::runtime_error("a test");
    } catch (const std::runtime_error &) {
        is_caught = true;
    }
    CHECK(is_caught);
}

TEST_CASE("ranges of bulks are cut where memory ends")
{
    tl::engine engine("na+sm", THALLIUM_SERVER_MODE);
    tl::endpoint self = engine.self();
    std::vector<char> from(100, 'x');
    std::vector<char> to(50, '.');
    tl::bulk source =
        engine.expose({{from.data(), from.size()}}, tl::bulk_mode::read_only);
    tl::bulk target =
        engine.expose({{to.data(), to.size()}}, tl::bulk_mode::read_write);

    CHECK((source(3, 45).on(self) >> target(10, 100)) == 40);
    CHECK(std::string(to.begin(), to.end()) ==
          std::string(10, '.') + std::string(40, 'x'));
    CHECK(target.pull_from(source.on(self)).wait() == 50);
    CHECK((source(200, 10).on(self) >> target) == 0);
    engine.finalize();
}
