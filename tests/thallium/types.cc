/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and answers of all types: the containers of the standard library,
 * types of the program, and packed_data's ways to decode them. Each value goes
 * to the server and back. */
#include <cstdint>
#include <limits>
#include <memory>
#include "engines.hpp"
#include <thallium/serialization/stl/array.hpp>
#include <thallium/serialization/stl/complex.hpp>
#include <thallium/serialization/stl/deque.hpp>
#include <thallium/serialization/stl/forward_list.hpp>
#include <thallium/serialization/stl/list.hpp>
#include <thallium/serialization/stl/map.hpp>
#include <thallium/serialization/stl/multimap.hpp>
#include <thallium/serialization/stl/multiset.hpp>
#include <thallium/serialization/stl/pair.hpp>
#include <thallium/serialization/stl/set.hpp>
#include <thallium/serialization/stl/tuple.hpp>
#include <thallium/serialization/stl/unordered_map.hpp>
#include <thallium/serialization/stl/unordered_multimap.hpp>
#include <thallium/serialization/stl/unordered_multiset.hpp>
#include <thallium/serialization/stl/unordered_set.hpp>

namespace
{

/* Answers with its argument. */
template <typename T> void echo(const tl::request &req, const T &value)
{
    req.respond(value);
}

/* Sends each value to a server and back. */
class there_and_back : public two_engines
{
    int m_count = 0;

  public:
    template <typename T> void operator()(const T &value)
    {
        std::string name = "echo" + std::to_string(m_count++);

        server.define(name, echo<T>);
        auto rpc = client.define(name);
        T answer = rpc.on(peer)(value);
        CHECK((answer == value));
        answer = T();
        rpc.on(peer).async(value).wait().unpack(answer);
        CHECK((answer == value));
    }
};

template <typename Container> Container many(std::size_t count)
{
    Container result;

    for (std::size_t i = 0; i < count; i++)
        result.insert(result.end(), typename Container::value_type());
    return result;
}

const std::string with_nul("a\0b", 3);

/* Encoded as nothing. */
struct nothing {
    bool operator==(const nothing &) const
    {
        return true;
    }
};

} /* namespace */

TEST_CASE("numbers")
{
    there_and_back check;

    check(true);
    check(false);
    check('x');
    check(static_cast<signed char>(-1));
    check(static_cast<unsigned char>(255));
    check(std::numeric_limits<short>::min());
    check(std::numeric_limits<std::uint16_t>::max());
    check(std::numeric_limits<std::int32_t>::min());
    check(std::numeric_limits<std::uint32_t>::max());
    check(std::numeric_limits<std::int64_t>::min());
    check(std::numeric_limits<std::uint64_t>::max());
    check(1.5f);
    check(-2.25);
    check(3.5L);
    check(L'w');
}

TEST_CASE("sequences")
{
    there_and_back check;

    check(std::string());
    check(std::string("hello"));
    check(with_nul);
    check(std::string(1 << 20, 'x'));
    check(std::vector<int>());
    check(std::vector<int>{1, 2, 3});
    check(std::vector<double>(100000, 0.5));
    check(std::vector<char>(3 << 20, 'y'));
    check(std::vector<bool>{true, false, true});
    check(std::vector<std::string>{"", "a", std::string(5000, 'b')});
    check(std::vector<std::vector<std::vector<int>>>{{}, {{}, {1}}, {{2, 3}}});
    check(std::array<int, 4>{{1, 2, 3, 4}});
    check(std::array<std::string, 2>{{"x", ""}});
    check(std::deque<int>{1, 2});
    check(std::deque<std::string>{});
    check(std::list<int>{3, 4});
    check(many<std::list<std::string>>(1000));
    check(std::forward_list<int>{5, 6});
    check(std::forward_list<std::string>{});
    check(std::vector<nothing>(5));
}

TEST_CASE("associative containers")
{
    there_and_back check;

    check(std::map<int, std::string>());
    check(std::map<std::string, std::vector<int>>{{"a", {1}}, {"", {}}});
    check(std::multimap<int, int>{{1, 2}, {1, 3}, {0, 0}});
    check(std::set<std::string>{"x", "y"});
    check(std::set<int>{});
    check(std::multiset<int>{1, 1, 2});
    check(std::unordered_map<std::string, int>{{"a", 1}, {"b", 2}});
    check(std::unordered_map<int, std::map<int, std::string>>{{1, {{2, "3"}}}});
    check(std::unordered_multimap<int, int>{{1, 2}, {1, 2}});
    check(std::unordered_set<int>{1, 2, 3});
    check(std::unordered_multiset<int>{1, 1, 2});
}

TEST_CASE("pairs, tuples and complex numbers")
{
    there_and_back check;

    check(std::pair<int, std::string>(1, "one"));
    check(std::pair<std::pair<int, int>, std::vector<char>>({1, 2}, {'x'}));
    check(std::tuple<>());
    check(std::tuple<int>(1));
    check(std::tuple<int, std::string, std::vector<double>>(1, "x", {2.5}));
    check(std::complex<double>(1.5, -2.5));
    check(std::complex<float>(0, 1));
}

/* Arguments of plain types are coded without an archive; a pair needs one. */
TEST_CASE("arguments have the same bytes with and without an archive")
{
    using text_and_numbers = std::pair<std::string, std::vector<std::int16_t>>;
    two_engines engines;
    const text_and_numbers sent(with_nul, {1, -2, 3});

    engines.server.define(
        "takes_plain", [](const tl::request &req, const std::string &text,
                           const std::vector<std::int16_t> &numbers) {
            req.respond(text, numbers);
        });
    engines.server.define("takes_archive",
        [](const tl::request &req, const text_and_numbers &both) {
            req.respond(both);
        });
    auto takes_plain = engines.client.define("takes_plain").on(engines.peer);
    auto takes_archive =
        engines.client.define("takes_archive").on(engines.peer);
    text_and_numbers from_plain = takes_plain(sent);
    std::string text;
    std::vector<std::int16_t> numbers;

    takes_archive(sent.first, sent.second).unpack(text, numbers);
    CHECK(from_plain == sent);
    CHECK(text == sent.first);
    CHECK(numbers == sent.second);
}

/* Types of a program: with one function for both directions, with a pair of
 * them, with free functions, and without anything to send. */
namespace program
{

struct point {
    double x = 0;
    double y = 0;

    template <typename A> void serialize(A &ar)
    {
        ar &x;
        ar &y;
    }

    bool operator==(const point &other) const
    {
        return x == other.x && y == other.y;
    }
};

struct line {
    point from;
    point to;
    std::vector<std::string> labels;

    template <typename A> void serialize(A &ar)
    {
        ar(from, to, labels);
    }

    bool operator==(const line &other) const
    {
        return from == other.from && to == other.to && labels == other.labels;
    }
};

class halves
{
    int m_value = 0;

  public:
    halves() = default;
    explicit halves(int value) : m_value(value)
    {
    }

    template <typename A> void save(A &ar) const
    {
        ar(static_cast<short>(m_value >> 16));
        ar(static_cast<unsigned short>(m_value & 0xffff));
    }

    template <typename A> void load(A &ar)
    {
        short high = 0;
        unsigned short low = 0;

        ar(high, low);
        m_value = static_cast<int>(high) * 65536 + low;
    }

    bool operator==(const halves &other) const
    {
        return m_value == other.m_value;
    }
};

struct outside {
    int a = 0;
    std::string b;

    bool operator==(const outside &other) const
    {
        return a == other.a && b == other.b;
    }
};

template <typename A> void serialize(A &ar, outside &value)
{
    ar &value.a &value.b;
}

struct pairwise {
    int a = 0;

    bool operator==(const pairwise &other) const
    {
        return a == other.a;
    }
};

template <typename A> void save(A &ar, const pairwise &value)
{
    ar(value.a + 1);
}

template <typename A> void load(A &ar, pairwise &value)
{
    ar(value.a);
    value.a -= 1;
}

enum class colour { red, green, blue };

struct nothing {
    bool operator==(const nothing &) const
    {
        return true;
    }
};

/* Of bytes, as a block. */
struct block {
    char bytes[10] = "nine char";

    template <typename A> void save(A &ar) const
    {
        ar.write(bytes, sizeof(bytes));
    }
    template <typename A> void load(A &ar)
    {
        ar.read(bytes, sizeof(bytes));
    }
    bool operator==(const block &other) const
    {
        return std::string(bytes) == other.bytes;
    }
};

} /* namespace program */

TEST_CASE("types of the program")
{
    there_and_back check;
    program::block other;

    other.bytes[0] = 'X';
    check(program::point{});
    check(program::line{});
    check(std::vector<program::point>(100));
    check(program::halves(-123456789));
    check(program::pairwise());
    check(program::colour::blue);
    check(other);
    check(program::nothing());
    check(std::map<std::string, program::halves>{{"a", program::halves(7)}});
}

TEST_CASE("types of the program, with values")
{
    there_and_back check;
    program::line line;
    program::outside outside;

    line.to.x = 2;
    line.labels = {"a", "b"};
    outside.a = 5;
    outside.b = "five";
    check(line);
    check(outside);
    check(std::vector<program::line>{line, line});
}

namespace
{

/* Its serialization needs an object of the program, and the engine. */
struct with_context {
    int value = 0;

    template <typename... Ctx>
    void save(tl::proc_output_archive<Ctx...> &ar) const
    {
        int &counter = std::get<0>(ar.get_context());

        counter++;
        ar(value + std::get<1>(ar.get_context()));
    }

    template <typename... Ctx> void load(tl::proc_input_archive<Ctx...> &ar)
    {
        int &counter = std::get<0>(ar.get_context());

        counter++;
        ar(value);
        value -= std::get<1>(ar.get_context());
    }
};

/* Knows which engine decoded it. */
struct with_engine {
    std::string address;

    template <typename A> void save(A &ar) const
    {
        ar(static_cast<std::string>(ar.get_engine().self()));
    }
    template <typename A> void load(A &ar)
    {
        ar(address);
        address += " to " + static_cast<std::string>(ar.get_engine().self());
    }
};

} /* namespace */

TEST_CASE("serialization contexts, each where it is given")
{
    two_engines two;
    int served = 0;

    two.server.define("context", [&](const tl::request &req) {
        with_context x;

        req.get_input()
            .with_serialization_context(std::ref(served), 100)
            .unpack(x);
        x.value *= 2;
        req.with_serialization_context(std::ref(served), 10).respond(x);
    });
    int called = 0;
    with_context sent;

    sent.value = 21;
    tl::callable_remote_procedure rpc =
        two.client.define("context").on(two.peer);
    auto answer = rpc.with_serialization_context(std::ref(called), 100)(sent);
    auto x = answer.with_serialization_context(std::ref(called), 10)
                 .as<with_context>();

    CHECK(x.value == 42);
    CHECK(called == 2);
    CHECK(served == 2);
    with_context y = rpc.with_serialization_context(std::ref(called), 100)
                         .async(sent)
                         .wait()
                         .with_serialization_context(std::ref(called), 10);
    CHECK(y.value == 42);
    CHECK(called == 4);
}

TEST_CASE("archives know their engine")
{
    two_engines two;

    two.server.define(
        "engine", [](const tl::request &req, const with_engine &x) {
            req.respond(x.address);
        });
    std::string path = two.client.define("engine").on(two.peer)(with_engine());
    CHECK(path == static_cast<std::string>(two.client.self()) + " to " +
                      static_cast<std::string>(two.server.self()));
}

TEST_CASE("an answer is decoded in each of its ways, and again")
{
    two_engines two;

    two.server.define("three", [](const tl::request &req) {
        req.respond(1, std::string("two"), std::vector<int>{3, 3, 3});
    });
    auto answer = two.client.define("three").on(two.peer)();
    int one = 0;
    std::string two_;
    std::vector<int> three;

    CHECK(answer.native_handle() != HG_HANDLE_NULL);
    CHECK(answer.as<int, std::string, std::vector<int>>() ==
          std::make_tuple(1, std::string("two"), std::vector<int>{3, 3, 3}));
    answer.unpack(one, two_, three);
    CHECK(one == 1);
    CHECK(two_ == "two");
    CHECK(three.size() == 3);
#ifndef THALLIUM_DEBUG_RPC_TYPES
    int first = answer; /* the rest is not wanted */
    CHECK(first == 1);
    CHECK(std::get<1>(answer.as<int, std::string>()) == "two");
#endif
    tl::packed_data<> moved = std::move(answer);
    CHECK_THROWS_AS(answer.unpack(one), tl::exception);
    std::tie(one, two_, three) = moved.as<int, std::string, std::vector<int>>();
    CHECK(three.size() == 3);
    moved = tl::packed_data<>();
    CHECK_THROWS_AS(moved.as<int>(), tl::exception);
    CHECK(moved.native_handle() == HG_HANDLE_NULL);
}

TEST_CASE("a handler decodes its arguments itself, into what cannot move")
{
    struct fixed {
        int value = 0;
        fixed() = default;
        fixed(const fixed &) = delete;
        fixed &operator=(const fixed &) = delete;
        void serialize(tl::proc_input_archive<> &ar)
        {
            ar(value);
        }
        void serialize(tl::proc_output_archive<> &ar)
        {
            ar(value);
        }
    };
    two_engines two;

    two.server.define("fixed", [](const tl::request &req) {
        fixed value;
        std::string text;

        req.get_input().unpack(value, text);
        value.value++;
        req.respond(value, text + "!");
    });
    fixed sent;
    fixed answer;
    std::string text;

    sent.value = 41;
    two.client.define("fixed")
        .on(two.peer)(sent, std::string("x"))
        .unpack(answer, text);
    CHECK(answer.value == 42);
    CHECK(text == "x!");
}

TEST_CASE("endpoints and bulks that are sent are used at the other side")
{
    two_engines two;
    std::string memory = "memory of the client";

    two.server.define("read", [&](const tl::request &req, tl::bulk &remote) {
        std::vector<char> copy(remote.size());
        tl::bulk local = two.server.expose(
            {{copy.data(), copy.size()}}, tl::bulk_mode::write_only);

        remote.on(req.get_endpoint()) >> local;
        req.respond(std::string(copy.begin(), copy.end()), remote);
    });
    tl::bulk bulk = two.client.expose(
        {{&memory[0], memory.size()}}, tl::bulk_mode::read_only);
    auto answer = two.client.define("read")
                      .on(two.peer)(bulk)
                      .as<std::string, tl::bulk>();
    CHECK(std::get<0>(answer) == memory);
    CHECK(std::get<1>(answer).size() == memory.size());
    CHECK(std::get<1>(answer).segment_count() == 1);
}
