/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are not what their receiver wants: other arguments than its
 * function's, and bytes made by hand, by a client of plain Margo. Each is
 * refused with an exception, and nothing beyond the message is read. */
#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include "engines.hpp"
#include <thallium/serialization/stl/list.hpp>
#include <thallium/serialization/stl/map.hpp>
#include <thallium/serialization/stl/unordered_map.hpp>

namespace
{

/* Bytes of a message, as they are. */
using bytes = std::vector<unsigned char>;

extern "C" hg_return_t proc_bytes(hg_proc_t proc, void *data)
{
    auto *message = static_cast<bytes *>(data);

    if (hg_proc_get_op(proc) == HG_FREE || message->empty())
        return HG_SUCCESS;
    return hg_proc_bytes(proc, message->data(), message->size());
}

/* Numbers, as the archives write them. */
class message
{
    bytes m_bytes;

  public:
    template <typename T> message &operator<<(T value)
    {
        const auto *first = reinterpret_cast<const unsigned char *>(&value);

        m_bytes.insert(m_bytes.end(), first, first + sizeof(value));
        return *this;
    }

    message &operator<<(const char *text)
    {
        m_bytes.insert(m_bytes.end(), text, text + std::strlen(text));
        return *this;
    }

    bytes &get()
    {
        return m_bytes;
    }
};

/* A server with an RPC of these arguments that tells that it was called; a
 * client of thallium.hpp and one of plain Margo. */
template <typename... Args> class attacked : public two_engines
{
    margo_instance_id m_plain =
        margo_init(transport.c_str(), MARGO_CLIENT_MODE, 1, 0);
    hg_addr_t m_addr = HG_ADDR_NULL;
    hg_id_t m_id = margo_provider_register_name(
        m_plain, "wants", proc_bytes, proc_bytes, nullptr, 0, ABT_POOL_NULL);

  public:
    std::atomic<int> m_called{0}; /* in the thread of a handler */

    attacked()
    {
        server.set_log_level(tl::logger::level::critical);
        server.define(
            "wants", std::function<void(const tl::request &, Args...)>(
                         [this](const tl::request &req, Args...) {
                             m_called++;
                             req.respond();
                         }));
        std::string address = server.self();
        REQUIRE(
            margo_addr_lookup(m_plain, address.c_str(), &m_addr) == HG_SUCCESS);
    }

    ~attacked()
    {
        margo_addr_free(m_plain, m_addr);
        margo_finalize(m_plain);
    }

    /* The code with which the server refuses the bytes. */
    hg_return_t refuses(message input)
    {
        hg_handle_t handle = HG_HANDLE_NULL;
        hg_return_t ret = HG_SUCCESS;

        REQUIRE(margo_create(m_plain, m_addr, m_id, &handle) == HG_SUCCESS);
        ret = margo_forward(handle, &input.get());
        REQUIRE(margo_destroy(handle) == HG_SUCCESS);
        return ret;
    }

    /* The same for arguments. */
    template <typename... Sent> hg_return_t refuses_call(const Sent &...sent)
    {
        return thrown_code([&] { client.define("wants").on(peer)(sent...); });
    }
};

const std::uint64_t huge = UINT64_MAX;
const std::uint64_t lies[] = {1, 5, 1 << 20, 1ull << 40, huge, huge / 2,
    huge / 4 + 1, huge / 8 + 1, 1ull << 63};

} /* namespace */

TEST_CASE("arguments that are fewer than the function's are refused")
{
    attacked<int, double, std::string> server;

    CHECK(server.refuses_call() != HG_SUCCESS);
    CHECK(server.refuses_call(1) != HG_SUCCESS);
    CHECK(server.refuses_call(1, 2.0) != HG_SUCCESS);
    CHECK(server.m_called == 0);
    CHECK(server.refuses_call(1, 2.0, std::string("3")) == HG_SUCCESS);
    CHECK(server.m_called == 1);
}

TEST_CASE("arguments of other types end in an answer or an exception")
{
    attacked<std::string, std::vector<int>> server;

    /* Without the check of types, bytes that fit by chance are taken. */
    (void)server.refuses_call(1, 2, 3);
    (void)server.refuses_call(std::vector<int>(100, -1));
    (void)server.refuses_call(std::string("a"), std::string("bcd"));
    (void)server.refuses_call(1.5, 2.5);
#ifdef THALLIUM_DEBUG_RPC_TYPES
    CHECK(server.m_called == 0);
#endif
    int before = server.m_called.load();
    CHECK(server.refuses_call(std::string("a"), std::vector<int>{1}) ==
          HG_SUCCESS);
    CHECK(server.m_called == before + 1);
}

TEST_CASE("an answer of other types than wanted throws, and names the RPC")
{
    two_engines two;
    std::string text;

    two.server.define(
        "answers_int", [](const tl::request &req) { req.respond(7); });
    auto answer = two.client.define("answers_int").on(two.peer)();
    CHECK(thrown_code([&] { (void)answer.as<std::string>(); }, &text) !=
          HG_SUCCESS);
    CHECK(text.find("answers_int") != std::string::npos);
    CHECK(
        thrown_code([&] { (void)answer.as<int, int>(); }, &text) != HG_SUCCESS);
    CHECK(text.find("answers_int") != std::string::npos);
    CHECK(text.find("4") != std::string::npos);
    CHECK(thrown_code([&] { (void)answer.as<std::vector<double>>(); }) !=
          HG_SUCCESS);
    CHECK(answer.as<int>() == 7); /* still there */

    two.server.define(
        "answers_nothing", [](const tl::request &req) { req.respond(); });
    auto nothing = two.client.define("answers_nothing").on(two.peer)();
    CHECK(thrown_code([&] { (void)nothing.as<int>(); }, &text) != HG_SUCCESS);
    CHECK(text.find("answers_nothing") != std::string::npos);
}

#ifdef THALLIUM_DEBUG_RPC_TYPES

TEST_CASE("the check of types names both types, for more and for fewer")
{
    two_engines two;
    std::string text;

    two.server.set_log_level(tl::logger::level::critical);
    two.server.define("checked", [](const tl::request &req, int a) {
        req.respond(a, std::string("x"));
    });
    auto rpc = two.client.define("checked");
    CHECK(thrown_code([&] { rpc.on(two.peer)(1, 2); }) == HG_INVALID_ARG);
    CHECK(thrown_code([&] { rpc.on(two.peer)(1u); }) == HG_INVALID_ARG);
    CHECK(thrown_code([&] { rpc.on(two.peer)(); }) == HG_INVALID_ARG);
    auto answer = rpc.on(two.peer)(1);
    CHECK(
        thrown_code([&] { (void)answer.as<int>(); }, &text) == HG_INVALID_ARG);
    CHECK(text.find("checked") != std::string::npos);
    CHECK(text.find("int") != std::string::npos);
    CHECK(text.find("string") != std::string::npos);
    CHECK(std::get<0>(answer.as<int, std::string>()) == 1);
}

TEST_CASE("names of types that lie about their length are refused")
{
    attacked<int> server;

    CHECK(server.refuses(message()) != HG_SUCCESS);
    for (std::uint64_t lie : lies) {
        CHECK(server.refuses(message() << lie) != HG_SUCCESS);
        CHECK(server.refuses(message() << lie << "std::") != HG_SUCCESS);
    }
    CHECK(server.m_called == 0);
}

#else

TEST_CASE("strings that lie about their length are refused")
{
    attacked<std::string> server;

    CHECK(server.refuses(message()) != HG_SUCCESS);
    CHECK(server.refuses(message() << 'x') != HG_SUCCESS);
    CHECK(server.refuses(message() << std::uint32_t(0)) != HG_SUCCESS);
    for (std::uint64_t lie : lies) {
        CHECK(server.refuses(message() << lie) != HG_SUCCESS);
        if (lie != 1)
            CHECK(server.refuses(message() << lie << "abcd") != HG_SUCCESS);
    }
    CHECK(server.m_called == 0);
    CHECK(
        server.refuses(message() << std::uint64_t(4) << "abcd") == HG_SUCCESS);
    CHECK(server.refuses(message() << std::uint64_t(0)) == HG_SUCCESS);
    CHECK(server.m_called == 2);
}

TEST_CASE("vectors that lie about their length are refused")
{
    attacked<std::vector<double>, std::vector<std::string>> server;

    for (std::uint64_t lie : lies) {
        CHECK(server.refuses(message() << lie << 1.5) != HG_SUCCESS);
        CHECK(server.refuses(message() << std::uint64_t(1) << 1.5 << lie) !=
              HG_SUCCESS);
        CHECK(
            server.refuses(message() << std::uint64_t(1) << 1.5
                                     << std::uint64_t(1) << lie) != HG_SUCCESS);
    }
    CHECK(server.m_called == 0);
    CHECK(
        server.refuses(message() << std::uint64_t(1) << 1.5 << std::uint64_t(1)
                                 << std::uint64_t(1) << 'a') == HG_SUCCESS);
}

TEST_CASE("containers that lie about their length are refused")
{
    attacked<std::map<int, int>, std::list<int>,
        std::unordered_map<std::string, int>, std::vector<bool>>
        server;
    const std::uint64_t none = 0;

    for (std::uint64_t lie : lies) {
        CHECK(server.refuses(message() << lie) != HG_SUCCESS);
        CHECK(server.refuses(message() << lie << 1) != HG_SUCCESS);
        CHECK(server.refuses(message() << none << lie) != HG_SUCCESS);
        CHECK(server.refuses(message() << none << none << lie << "ab") !=
              HG_SUCCESS);
        CHECK(server.refuses(message() << none << none << none << lie) !=
              HG_SUCCESS);
    }
    CHECK(server.m_called == 0);
    CHECK(server.refuses(message() << none << none << none << none) ==
          HG_SUCCESS);
}

TEST_CASE("vectors of vectors of nothing take no memory beyond the message")
{
    attacked<std::vector<std::vector<std::vector<char>>>> server;

    for (std::uint64_t lie : lies) {
        CHECK(
            server.refuses(message() << std::uint64_t(1) << lie) != HG_SUCCESS);
        CHECK(server.refuses(message() << std::uint64_t(1) << std::uint64_t(1)
                                       << lie) != HG_SUCCESS);
    }
    CHECK(server.m_called == 0);
}

TEST_CASE("bulks made of any bytes are refused, or are somebody's memory")
{
    attacked<tl::bulk> server;
    unsigned state = 1;

    CHECK(server.refuses(message()) != HG_SUCCESS);
    for (std::size_t length = 1; length < 200; length += 7) {
        message any;

        for (std::size_t i = 0; i < length; i++) {
            state = state * 1103515245u + 12345u;
            any << static_cast<unsigned char>(state >> 16);
        }
        (void)server.refuses(any);
    }
    /* It still serves. */
    char byte = 0;
    tl::bulk memory =
        server.client.expose({{&byte, 1}}, tl::bulk_mode::read_only);
    int before = server.m_called.load();
    CHECK(server.refuses_call(memory) == HG_SUCCESS);
    CHECK(server.m_called == before + 1);
}

TEST_CASE("what is sent beyond the arguments is ignored")
{
    attacked<int> server;

    CHECK(server.refuses_call(1, 2, std::string("three")) == HG_SUCCESS);
    CHECK(server.refuses_call(1) == HG_SUCCESS);
    CHECK(server.m_called == 2);
}

TEST_CASE("a C server's answer that lies is refused by the client")
{
    tl::engine client(transport, THALLIUM_CLIENT_MODE, true);
    margo_instance_id plain =
        margo_init(transport.c_str(), MARGO_SERVER_MODE, 1, 1);
    tl::engine server(plain);
    std::string text;

    /* The same bytes as a server in C would send. */
    server.define("lies", [](const tl::request &req) {
        req.respond(std::uint64_t(1) << 60, 'a', 'b');
    });
    auto answer = client.define("lies").on(client.lookup(server.self()))();
    CHECK(thrown_code([&] { (void)answer.as<std::string>(); }, &text) ==
          HG_OVERFLOW);
    CHECK(text.find("lies") != std::string::npos);
    CHECK_THROWS_AS(answer.as<std::vector<double>>(), tl::margo_exception);
    client.finalize();
    server = tl::engine();
    margo_finalize(plain);
}

#endif

namespace
{

/* Its serialization throws, when told so. */
struct throws {
    int when = 0;

    template <typename A> void save(A &ar) const
    {
        if (when == 1)
            throw std::runtime_error("save has thrown");
        ar(when);
    }
    template <typename A> void load(A &ar)
    {
        ar(when);
        if (when == 2)
            throw std::runtime_error("load has thrown");
    }
};

} /* namespace */

TEST_CASE("what a type's serialization throws comes to the caller")
{
    two_engines two;

    two.server.set_log_level(tl::logger::level::critical);
    two.server.define("takes", [](const tl::request &req, const throws &x) {
        throws answer;

        answer.when = x.when == 3 ? 2 : 0;
        req.respond(answer);
    });
    auto rpc = two.client.define("takes");
    throws x;

    x.when = 1;
    CHECK_THROWS_WITH_AS(
        rpc.on(two.peer)(x), "save has thrown", std::runtime_error);
    CHECK_THROWS_WITH_AS(
        rpc.on(two.peer).async(x), "save has thrown", std::runtime_error);
    x.when = 2; /* thrown at the server */
    CHECK(thrown_code([&] { rpc.on(two.peer)(x); }) == HG_PROTOCOL_ERROR);
    x.when = 3;
    auto answer = rpc.on(two.peer)(x);
    CHECK_THROWS_WITH_AS(
        answer.as<throws>(), "load has thrown", std::runtime_error);
    x.when = 0;
    CHECK(rpc.on(two.peer)(x).as<throws>().when == 0);
}

TEST_CASE("a refused answer does not give the size of the request")
{
    two_engines two;
    std::string text;
    hg_return_t code = HG_SUCCESS;
    std::atomic<bool> is_over{false};

    two.server.set_log_level(tl::logger::level::critical);
    two.server.define("twice", [&](const tl::request &req, int) {
        req.respond(1);
        code = thrown_code([&] { req.respond(2); }, &text);
        is_over = true;
    });
    CHECK(two.client.define("twice").on(two.peer)(7).as<int>() == 1);
    await([&] { return is_over.load(); });
    CHECK(code != HG_SUCCESS);
    CHECK(text.find("margo_respond returned") != std::string::npos);
    CHECK(text.find("bytes of input") == std::string::npos);
}
