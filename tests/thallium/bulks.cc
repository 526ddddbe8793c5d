/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulks: parts of them, transfers both ways by both sides' operators, at once
 * and later, with limits of time, and what they throw. */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include "engines.hpp"

namespace
{

const std::size_t size = 1000;

/* Memory of both engines, in one and in two segments. Bulks of the server come
 * to the client as answers, as in programs. */
struct two_memories : two_engines {
    std::vector<char> there = std::vector<char>(size);
    std::vector<char> here = std::vector<char>(size);
    tl::bulk served =
        server.expose({{there.data(), 300}, {there.data() + 300, size - 300}},
            tl::bulk_mode::read_write);
    tl::bulk local =
        client.expose({{here.data(), size}}, tl::bulk_mode::read_write);
    tl::bulk remote;

    two_memories()
    {
        server.define(
            "memory", [this](const tl::request &req) { req.respond(served); });
        remote = client.define("memory").on(peer)();
        for (std::size_t i = 0; i < size; i++) {
            there[i] = static_cast<char>(i % 101);
            here[i] = static_cast<char>(-static_cast<int>(i % 103));
        }
    }

    /* True if these bytes are equal. */
    bool are_equal(std::size_t first_there, std::size_t first_here,
        std::size_t count) const
    {
        return std::equal(there.begin() + static_cast<long>(first_there),
            there.begin() + static_cast<long>(first_there + count),
            here.begin() + static_cast<long>(first_here));
    }
};

} /* namespace */

TEST_CASE("a bulk tells its size")
{
    two_memories two;
    tl::bulk null;
    std::string text = "abc";
    void *pointers[] = {&two.here[0], &two.here[500]};
    std::size_t sizes[] = {10, 20};
    tl::bulk of_arrays =
        two.client.expose(2, pointers, sizes, tl::bulk_mode::read_only);
    hg_bulk_attr attributes = hg_bulk_attr();
    tl::bulk with_attributes = two.client.expose(
        {{&text[0], 3}}, tl::bulk_mode::read_only, attributes);

    CHECK(null.is_null());
    CHECK(null.size() == 0);
    CHECK(null.segment_count() == 0);
    CHECK(null.get_bulk() == HG_BULK_NULL);
    CHECK(two.served.size() == size);
    CHECK(two.served.segment_count() == 2);
    CHECK(two.remote.size() == size);
    CHECK_FALSE(two.remote.is_null());
    CHECK(of_arrays.size() == 30);
    CHECK(of_arrays.segment_count() == 2);
    CHECK(with_attributes.size() == 3);
    of_arrays = two.client.expose(
        2, pointers, sizes, tl::bulk_mode::read_only, attributes);
    CHECK(of_arrays.size() == 30);
}

TEST_CASE("copies of a bulk are the same memory, and it outlives the first")
{
    two_memories two;
    tl::bulk copy = two.local;
    tl::bulk moved = std::move(two.local);

    CHECK(two.local.is_null());
    two.local = copy;
    copy = tl::bulk();
    CHECK(copy.is_null());
    CHECK((moved << two.remote.on(two.peer)) == size);
    CHECK(two.are_equal(0, 0, size));
    hg_bulk_t raw = two.local.get_bulk(true);
    tl::bulk wrapped = two.client.wrap(raw, true);
    CHECK(margo_bulk_free(raw) == HG_SUCCESS);
    two.local = tl::bulk();
    moved = std::move(wrapped);
    two.here.assign(size, 0);
    CHECK((moved << two.remote.on(two.peer)) == size);
    CHECK(two.are_equal(0, 0, size));
}

TEST_CASE("whole bulks are pulled and pushed by either side's operator")
{
    two_memories two;

    SUBCASE("remote >> local")
    {
        CHECK((two.remote.on(two.peer) >> two.local) == size);
        CHECK(two.there[1] == 1);
    }
    SUBCASE("local << remote")
    {
        CHECK((two.local << two.remote.on(two.peer)) == size);
        CHECK(two.there[1] == 1);
    }
    SUBCASE("remote << local")
    {
        CHECK((two.remote.on(two.peer) << two.local) == size);
        CHECK(two.there[1] == -1);
    }
    SUBCASE("local >> remote")
    {
        CHECK((two.local >> two.remote.on(two.peer)) == size);
        CHECK(two.there[1] == -1);
    }
    CHECK(two.are_equal(0, 0, size));
}

TEST_CASE("parts are moved to parts, as many bytes as the smaller one has")
{
    two_memories two;

    SUBCASE("over the border of segments")
    {
        CHECK((two.remote(290, 45).on(two.peer) >> two.local(13, 45)) == 45);
        CHECK(two.are_equal(290, 13, 45));
        CHECK(two.here[12] == -12);
        CHECK(two.here[58] == -58);
    }
    SUBCASE("the local one is smaller")
    {
        CHECK((two.remote.on(two.peer) >> two.local(0, 6)) == 6);
        CHECK(two.are_equal(0, 0, 6));
        CHECK(two.here[6] == -6);
    }
    SUBCASE("the remote one is smaller")
    {
        CHECK((two.local(100, 500) >> two.remote.on(two.peer)(20, 30)) == 30);
        CHECK(two.are_equal(20, 100, 30));
        CHECK(two.there[50] == 50);
    }
    SUBCASE("by select, in parts of parts")
    {
        tl::bulk_segment part = two.local.select(100, 200).select(50, 20);
        tl::remote_bulk other =
            two.remote.on(two.peer).select(500, 400).select(10, 100);

        CHECK(part.size() == 20);
        CHECK((part << other) == 20);
        CHECK(two.are_equal(510, 150, 20));
        CHECK((other(5, 5) << part(10, 1000)) == 5);
        CHECK(two.are_equal(515, 160, 5));
    }
    SUBCASE("of a segment said where it is")
    {
        CHECK((two.remote.select(3, 45).on(two.peer) >>
                  two.local.select(13, 45)) == 45);
        CHECK(two.are_equal(3, 13, 45));
        CHECK(
            (two.remote(3, 45)(5, 10).on(two.peer) << two.local(0, 10)) == 10);
        CHECK(two.are_equal(8, 0, 10));
    }
    SUBCASE("that are longer than their memory are cut")
    {
        CHECK(two.local(990, 100).size() == 10);
        CHECK(two.local(2000, 100).size() == 0);
        CHECK(two.local(10, SIZE_MAX).size() == 990);
        CHECK(two.local(100, 50).select(40, 20).size() == 10);
        CHECK(two.local(100, 50)(60, 20).size() == 0);
        CHECK((two.remote(950, 200).on(two.peer) >> two.local) == 50);
        CHECK(two.are_equal(950, 0, 50));
        CHECK((two.remote(5000, 1).on(two.peer) >> two.local) == 0);
        CHECK((two.local(0, 0) >> two.remote.on(two.peer)) == 0);
    }
}

TEST_CASE("transfers under way are tested and waited for")
{
    two_memories two;
    tl::remote_bulk remote = two.remote.on(two.peer);

    tl::async_bulk_op pull = two.local.pull_from(remote);
    await([&] { return pull.test(); });
    CHECK(pull.test());
    CHECK(pull.wait() == size);
    CHECK(two.are_equal(0, 0, size));
    CHECK_THROWS_AS(pull.wait(), tl::exception);

    std::fill(two.here.begin(), two.here.end(), 'x');
    tl::async_bulk_op push = two.local.push_to(remote);
    tl::async_bulk_op moved = std::move(push);
    CHECK_THROWS_AS(push.wait(), tl::exception);
    CHECK(moved.wait() == size);
    CHECK(two.there[size - 1] == 'x');

    CHECK(remote.pull_to(two.local(0, 10)).wait() == 10);
    CHECK(remote.push_from(two.local(0, 20)).wait() == 20);
    CHECK(two.local(1, 2).pull_from(remote).wait() == 2);
    CHECK(two.local(1, 3).push_to(remote).wait() == 3);
    CHECK(two.local(0, 0).push_to(remote).wait() == 0);
    {
        tl::async_bulk_op dropped = remote.pull_to(two.local);
        tl::async_bulk_op other = remote.pull_to(two.local);

        other = remote.push_from(two.local);
    }
    tl::async_bulk_op none;
    CHECK_THROWS_AS(none.wait(), tl::exception);
}

TEST_CASE("transfers have a limit of time")
{
    two_memories two;
    tl::timed_remote_bulk remote =
        two.remote.on(two.peer).timed(std::chrono::minutes(1));
    tl::timed_remote_bulk in_ms = two.remote.on(two.peer).timed(60e3);

    CHECK((remote >> two.local) == size);
    CHECK(two.are_equal(0, 0, size));
    std::fill(two.here.begin(), two.here.end(), 'z');
    CHECK((in_ms << two.local(0, 5)) == 5);
    CHECK(two.there[4] == 'z');
    CHECK(in_ms.pull_to(two.local).wait() == size);
    CHECK(remote.push_from(two.local(0, 7)).wait() == 7);
}

TEST_CASE("transfers that cannot be made throw")
{
    two_memories two;
    tl::bulk read_only =
        two.client.expose({{two.here.data(), size}}, tl::bulk_mode::read_only);
    tl::remote_bulk nowhere = two.remote.on(tl::endpoint());

    CHECK(thrown_code([&] { two.remote.on(two.peer) >> read_only; }) !=
          HG_SUCCESS);
    CHECK_THROWS_AS(nowhere >> two.local, tl::exception);
    CHECK_THROWS_AS(nowhere.pull_to(two.local), tl::exception);
    /* There is nothing in a null bulk. */
    CHECK((tl::bulk().on(two.peer) >> two.local) == 0);
    CHECK((two.remote.on(two.peer) >> tl::bulk()) == 0);
    CHECK((tl::bulk() << two.remote.on(two.peer)) == 0);
}

TEST_CASE("big memory moves within the handler of an RPC")
{
    two_engines two;
    const std::size_t count = 1 << 20;
    std::vector<int> numbers(count);

    std::iota(numbers.begin(), numbers.end(), 1);
    two.server.define("sum", [&](const tl::request &req, tl::bulk &remote) {
        std::vector<int> copy(count);
        tl::bulk local = two.server.expose(
            {{copy.data(), count * sizeof(int)}}, tl::bulk_mode::read_write);

        local << remote.on(req.get_endpoint());
        long sum = std::accumulate(copy.begin(), copy.end(), 0L);
        for (int &number : copy)
            number = -number;
        local >> remote.on(req.get_endpoint());
        req.respond(sum);
    });
    tl::bulk memory = two.client.expose(
        {{numbers.data(), count * sizeof(int)}}, tl::bulk_mode::read_write);
    long sum = two.client.define("sum").on(two.peer)(memory);
    CHECK(sum == static_cast<long>(count) * (static_cast<long>(count) + 1) / 2);
    CHECK(numbers[7] == -8);
    CHECK(numbers[count - 1] == -static_cast<int>(count));
}
