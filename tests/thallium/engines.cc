/* SPDX-License-Identifier: BSD-3-Clause */
/* Engines: the forms of their constructors, their callbacks, how they end, what
 * outlives them, and what they manage. */
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include "engines.hpp"

namespace
{

void add(const tl::request &req, int a, int b)
{
    req.respond(a + b);
}

/* Calls RPC "add" of an engine that makes progress by itself. */
void check_serves(tl::engine &engine)
{
    engine.define("add", add);
    CHECK(engine.define("add").on(engine.self())(1, 2).as<int>() == 3);
}

/* Notes the calls of callbacks: a letter each. */
class note
{
    std::string *m_letters;
    char m_letter;

  public:
    note(std::string &letters, char letter)
        : m_letters(&letters), m_letter(letter)
    {
    }

    void operator()() const
    {
        *m_letters += m_letter;
    }
};

} /* namespace */

TEST_CASE("an engine opens by each of its constructors")
{
    margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    hg_init_info hg_info = HG_INIT_INFO_INITIALIZER;
    const std::string json = "{\"use_progress_thread\":true}";

    info.json_config = json.c_str();
    SUBCASE("by its mode")
    {
        tl::engine engine(transport, THALLIUM_SERVER_MODE);

        check_serves(engine);
        engine.finalize();
    }
    SUBCASE("with threads")
    {
        tl::engine engine(transport, MARGO_SERVER_MODE, true, 2);

        check_serves(engine);
        engine.finalize();
    }
    SUBCASE("with Mercury's settings")
    {
        tl::engine engine(transport, THALLIUM_SERVER_MODE, false, -1, &hg_info);

        check_serves(engine);
        engine.finalize();
    }
    SUBCASE("with JSON")
    {
        tl::engine engine(
            transport, THALLIUM_SERVER_MODE, "{\"rpc_thread_count\":1}");

        check_serves(engine);
        engine.finalize();
    }
    SUBCASE("with a string of JSON")
    {
        tl::engine engine(transport, THALLIUM_SERVER_MODE, json, &hg_info);

        check_serves(engine);
        CHECK(engine.get_config().find("progress") != std::string::npos);
        engine.finalize();
    }
    SUBCASE("with Margo's settings")
    {
        tl::engine engine(transport, THALLIUM_SERVER_MODE, &info);

        check_serves(engine);
        engine.finalize();
    }
    SUBCASE("of an instance")
    {
        margo_instance_id mid =
            margo_init(transport.c_str(), MARGO_SERVER_MODE, 1, 0);
        tl::engine engine(mid);

        check_serves(engine);
        CHECK(engine.get_margo_instance() == mid);
        engine = tl::engine();
        margo_finalize(mid);
    }
    SUBCASE("of an instance that it owns")
    {
        margo_instance_id mid =
            margo_init(transport.c_str(), MARGO_SERVER_MODE, 1, 0);
        tl::engine engine(mid, true);

        check_serves(engine);
        engine.finalize();
    }
}

TEST_CASE("an engine that cannot be opened throws")
{
    CHECK_THROWS_AS(tl::engine("no_such_transport", THALLIUM_SERVER_MODE),
        tl::margo_exception);
    CHECK_THROWS_AS(tl::engine(transport, THALLIUM_SERVER_MODE, "{no JSON"),
        tl::margo_exception);
}

TEST_CASE("an empty engine throws, and harms nothing")
{
    tl::engine empty;
    tl::engine copy = empty;
    tl::endpoint nowhere;

    CHECK_FALSE(static_cast<bool>(empty));
    CHECK(empty == copy);
    CHECK(empty.get_margo_instance() == MARGO_INSTANCE_NULL);
    CHECK_THROWS_AS(empty.self(), tl::exception);
    CHECK_THROWS_AS(empty.define("x"), tl::exception);
    CHECK_THROWS_AS(empty.finalize(), tl::exception);
    CHECK(nowhere.is_null());
    CHECK_FALSE(static_cast<bool>(nowhere));
    CHECK(static_cast<std::string>(nowhere).empty());
    CHECK(nowhere == tl::endpoint(nowhere));
    CHECK_FALSE(static_cast<bool>(nowhere.get_engine()));
    CHECK_FALSE(static_cast<bool>(tl::engine(MARGO_INSTANCE_NULL)));
    CHECK_FALSE(static_cast<bool>(tl::margo_instance_ref(nullptr, true)));
}

TEST_CASE("copies are the same engine")
{
    tl::engine engine(transport, THALLIUM_SERVER_MODE, true);
    tl::engine other(transport, THALLIUM_CLIENT_MODE, true);
    tl::engine copy(engine);
    tl::margo_instance_ref ref = engine;
    margo_instance_id mid = copy;

    CHECK(copy == engine);
    CHECK(copy != other);
    CHECK(ref == engine);
    CHECK(mid == engine.get_margo_instance());
    CHECK(engine.is_listening());
    CHECK_FALSE(other.is_listening());
    other.finalize();
    copy.finalize();
    engine.wait_for_finalize();
    CHECK(copy == engine);
}

TEST_CASE("an endpoint is the address of a process")
{
    two_engines two;
    tl::endpoint self = two.server.self();
    tl::endpoint found = two.server.lookup(self);
    std::ostringstream printed;
    hg_addr_t addr = self.get_addr(true);

    CHECK(self == found);
    CHECK_FALSE(self != found);
    CHECK(self != tl::endpoint());
    CHECK(two.peer.get_engine() == two.client);
    printed << self;
    CHECK(printed.str() == static_cast<std::string>(self));
    CHECK(addr != HG_ADDR_NULL);

    tl::endpoint borrowed(two.server, self.get_addr(), false);
    tl::endpoint taken(two.server, addr);
    CHECK(borrowed == taken);
    tl::endpoint moved = std::move(taken);
    CHECK(taken.is_null());
    CHECK(moved == self);
    moved = found;
    found = std::move(moved);
    CHECK(found == self);
}

TEST_CASE("callbacks of the end run newest first, before and after serving")
{
    std::string called;
    int owner = 0;
    tl::engine engine(transport, THALLIUM_SERVER_MODE, true);

    engine.define("add", add);
    engine.push_prefinalize_callback(note(called, 'a'));
    engine.push_prefinalize_callback([&] {
        int sum = engine.define("add").on(engine.self())(1, 2);

        called += sum == 3 ? 'b' : '?';
    });
    engine.push_prefinalize_callback(&owner, note(called, 'c'));
    engine.push_finalize_callback(note(called, 'x'));
    engine.push_finalize_callback(&owner, note(called, 'y'));
    engine.finalize();
    CHECK(called == "cbayx");
}

TEST_CASE("callbacks of the end are found and taken back, by their owner")
{
    std::string called;
    int owner = 0;
    tl::engine engine(transport, THALLIUM_CLIENT_MODE);

    CHECK_FALSE(static_cast<bool>(engine.top_prefinalize_callback()));
    CHECK_FALSE(static_cast<bool>(engine.pop_prefinalize_callback(&owner)));
    CHECK_FALSE(static_cast<bool>(engine.top_finalize_callback(&owner)));
    CHECK_FALSE(static_cast<bool>(engine.pop_finalize_callback()));

    engine.push_prefinalize_callback(note(called, 'a'));
    engine.push_prefinalize_callback(&owner, note(called, 'b'));
    engine.push_finalize_callback(note(called, 'x'));
    engine.push_finalize_callback(&owner, note(called, 'y'));
    engine.top_prefinalize_callback()();
    engine.top_prefinalize_callback (&owner)();
    engine.top_finalize_callback()();
    engine.top_finalize_callback (&owner)();
    CHECK(called == "abxy");
    engine.pop_prefinalize_callback()();
    engine.pop_finalize_callback (&owner)();
    CHECK(called == "abxyay");
    CHECK_FALSE(static_cast<bool>(engine.top_prefinalize_callback()));
    CHECK_FALSE(static_cast<bool>(engine.top_finalize_callback(&owner)));
    called.clear();
    engine.finalize();
    CHECK(called == "bx");
}

TEST_CASE("a callback of the end that throws does not stop it")
{
    std::string called;
    tl::engine engine(transport, THALLIUM_CLIENT_MODE);

    margo_set_log_level(engine, MARGO_LOG_CRITICAL);
    engine.push_finalize_callback(note(called, 'a'));
    engine.push_finalize_callback([] { throw std::runtime_error("no"); });
    engine.finalize();
    CHECK(called == "a");
}

TEST_CASE("objects outlive finalize")
{
    std::vector<char> memory(64);
    tl::engine server(transport, THALLIUM_SERVER_MODE, true, 1);
    tl::engine engine(transport, THALLIUM_CLIENT_MODE, true);
    tl::request *kept = nullptr;
    std::atomic<bool> is_kept{false};

    server.define("add", add);
    server.define("keep", [&](const tl::request &req) {
        kept = new tl::request(req);
        req.respond();
        is_kept = true;
    });
    tl::endpoint peer = engine.lookup(server.self());
    tl::endpoint copy = peer;
    tl::provider_handle handle(peer, 3);
    tl::remote_procedure rpc = engine.define("add");
    tl::callable_remote_procedure callable = rpc.on(peer);
    tl::packed_data<> answer = callable(1, 2);
    tl::bulk bulk = engine.expose(
        {{memory.data(), memory.size()}}, tl::bulk_mode::read_write);
    tl::bulk_segment segment = bulk.select(1, 2);
    tl::remote_bulk remote = bulk.on(peer);
    tl::timed_callback timer = engine.create_timed_callback([] {});
    tl::async_response response = rpc.on(peer).async(1, 2);
    tl::async_response other = rpc.on(peer).async(3, 4);

    engine.define("keep").on(peer)();
    await([&] { return is_kept.load(); });
    await([&] { return other.received() && response.received(); });
    response.wait();
    engine.finalize();
    server.finalize();
    tl::endpoint after = copy;
    tl::bulk memory_after = bulk;
    CHECK(memory_after.size() == 64);
    CHECK(answer.as<int>() == 3);
    delete kept;
}

TEST_CASE("one thread waits until another one finalizes")
{
    tl::engine engine(transport, THALLIUM_SERVER_MODE, true);
    std::atomic<bool> has_ended{false};

    engine.push_finalize_callback([&] { has_ended = true; });
    std::thread ender([engine]() mutable {
        (void)engine.self();
        engine.finalize();
    });
    engine.wait_for_finalize();
    CHECK(has_ended);
    engine.wait_for_finalize(); /* returns at once */
    ender.join();
}

TEST_CASE("an RPC ends the engine that serves it")
{
    tl::engine client(transport, THALLIUM_CLIENT_MODE, true);
    bool has_ended = false;
    {
        tl::engine server(transport, THALLIUM_SERVER_MODE);
        std::string address = server.self();

        server.push_finalize_callback([&] { has_ended = true; });
        server.define("end", [server = tl::engine(server.get_margo_instance())](
                                 const tl::request &req) mutable {
            req.respond();
            server.finalize();
        });
        std::thread caller([&client, address] {
            client.define("end").on(client.lookup(address))();
        });
        SUBCASE("that waits")
        {
            server.wait_for_finalize();
            CHECK(has_ended);
        }
        SUBCASE("that goes away without waiting")
        {
        }
        server = tl::engine(); /* waits, as at the end of its scope */
        CHECK(has_ended);
        caller.join();
    }
    client.finalize();
}

TEST_CASE("a client that goes away without finalize ends")
{
    bool has_ended = false;
    {
        tl::engine client(transport, THALLIUM_CLIENT_MODE);

        client.push_finalize_callback([&] { has_ended = true; });
    }
    CHECK(has_ended);
}

TEST_CASE("a server that nobody can call ends with its scope")
{
    bool has_ended = false;

    for (int round = 0; round < 2; round++) {
        tl::engine server(transport, THALLIUM_SERVER_MODE);

        server.push_finalize_callback([&] { has_ended = true; });
        (void)server.define("called");
        if (round == 1) {
            CHECK(has_ended);
            tl::auto_remote_procedure gone = server.define("add", add);
        }
        has_ended = false;
    }
    CHECK(has_ended);
}

TEST_CASE("a server that need not wait ends with its scope")
{
    bool has_ended = false;

    setenv("AMALGAM_ENGINE_WAIT", "0", 1);
    {
        tl::engine server(transport, THALLIUM_SERVER_MODE);

        server.push_finalize_callback([&] { has_ended = true; });
        server.define("add", add);
        server.enable_remote_shutdown();
    }
    unsetenv("AMALGAM_ENGINE_WAIT");
    CHECK(has_ended);
}

TEST_CASE("an engine that its function has captured goes with the others")
{
    std::weak_ptr<int> watched;
    {
        tl::engine client(transport, THALLIUM_CLIENT_MODE);
        auto kept = std::make_shared<int>(1);

        watched = kept;
        client.define("captured",
            [client, kept](const tl::request &req) { req.respond(*kept); });
        client.finalize();
    }
    CHECK(watched.expired());
}

TEST_CASE("a server that an exception unwinds ends without waiting")
{
    bool has_ended = false;

    try {
        tl::engine server(transport, THALLIUM_SERVER_MODE);

        server.push_finalize_callback([&] { has_ended = true; });
        throw std::runtime_error("out");
    } catch (const std::runtime_error &) {
    }
    CHECK(has_ended);
}

TEST_CASE("an engine lets others end it, or does not")
{
    tl::engine client(transport, THALLIUM_CLIENT_MODE, true);
    tl::engine server(transport, THALLIUM_SERVER_MODE, true, 1);
    tl::endpoint peer = client.lookup(server.self());

    client.set_log_level(tl::logger::level::critical);
    CHECK_THROWS_AS(client.shutdown_remote_engine(peer), tl::margo_exception);
    server.enable_remote_shutdown();
    client.shutdown_remote_engine(peer);
    server.wait_for_finalize();
    peer = tl::endpoint();
    client.finalize();
}

TEST_CASE("finalize_and_wait returns when it is over")
{
    bool has_ended = false;
    tl::engine engine(transport, THALLIUM_SERVER_MODE, true);

    engine.push_finalize_callback([&] { has_ended = true; });
    engine.finalize_and_wait();
    CHECK(has_ended);
}

TEST_CASE("an engine tells its pools and streams")
{
    tl::engine engine(transport, THALLIUM_SERVER_MODE, true, 1);
    auto pools = engine.pools();
    auto xstreams = engine.xstreams();
    auto first = pools[0];

    CHECK(pools.size() >= 2);
    CHECK(xstreams.size() >= 2);
    CHECK(first.index() == 0);
    CHECK(pools[first.name()] == first);
    CHECK(pools[first.name().c_str()].index() == 0);
    CHECK(pools[static_cast<const tl::pool &>(first)].name() == first.name());
    CHECK(xstreams[xstreams[1u].name()].index() == 1);
    CHECK(xstreams[static_cast<const tl::xstream &>(xstreams[1])].index() == 1);
    CHECK_FALSE(engine.get_handler_pool().is_null());
    CHECK_FALSE(engine.get_progress_pool().is_null());
    CHECK_THROWS_AS(pools[1000], tl::margo_exception);
    CHECK_THROWS_AS(pools[-1], tl::margo_exception);
    CHECK_THROWS_AS(pools["no such pool"], tl::margo_exception);
    CHECK_THROWS_AS(xstreams["no such stream"], tl::margo_exception);
    CHECK_THROWS_AS(pools[tl::pool()], tl::margo_exception);

    unsigned count = pools.ref_count(0);
    pools.ref_incr(first.name());
    CHECK(pools.ref_count(first.name()) == count + 1);
    pools.release(0);
    CHECK(pools.ref_count(0) == count);
    CHECK_THROWS_AS(pools.remove(0), tl::margo_exception); /* it is used */
    CHECK_THROWS_AS(xstreams.remove(0), tl::margo_exception);
    engine.finalize();
}

TEST_CASE("a timed callback runs once for each start")
{
    tl::engine engine(transport, THALLIUM_CLIENT_MODE, true);
    std::atomic<int> count{0};
    tl::timed_callback timer = engine.create_timed_callback([&] { ++count; });

    timer.start(1);
    await([&] { return count >= 1; });
    timer.cancel();
    timer.start(1);
    await([&] { return count >= 2; });
    timer.cancel();
    timer.start(3600e3);
    timer.cancel();
    timer.start(3600e3);
    tl::timed_callback moved = std::move(timer);
    CHECK_THROWS_AS(moved.start(1), tl::exception); /* it runs */
    moved.cancel();
    {
        tl::timed_callback dropped =
            engine.create_timed_callback([&] { count = 100; });

        dropped.start(3600e3);
    }
    moved.start(3600e3);
    engine.finalize();
    CHECK(count == 2);
}

namespace
{

/* Keeps the lines and their levels. */
class kept_lines : public tl::logger
{
  public:
    mutable std::string m_lines;

    void trace(const char *line) const override
    {
        m_lines += std::string("trace ") + line + "\n";
    }
    void debug(const char *line) const override
    {
        m_lines += std::string("debug ") + line + "\n";
    }
    void info(const char *line) const override
    {
        m_lines += std::string("info ") + line + "\n";
    }
    void warning(const char *line) const override
    {
        m_lines += std::string("warning ") + line + "\n";
    }
    void error(const char *line) const override
    {
        m_lines += std::string("error ") + line + "\n";
    }
    void critical(const char *line) const override
    {
        m_lines += std::string("critical ") + line + "\n";
    }
};

} /* namespace */

TEST_CASE("lines go to the logger of their engine, by their level")
{
    kept_lines lines;
    tl::engine engine(transport, THALLIUM_CLIENT_MODE);

    engine.set_logger(&lines);
    engine.set_log_level(tl::logger::level::info);
    margo_debug(engine, "one");
    margo_info(engine, "two");
    margo_error(engine, "three");
    engine.set_log_level(tl::logger::level::trace);
    margo_trace(engine, "four");
    CHECK(lines.m_lines.find("one") == std::string::npos);
    CHECK(lines.m_lines.find("info two") != std::string::npos);
    CHECK(lines.m_lines.find("error three") != std::string::npos);
    CHECK(lines.m_lines.find("trace four") != std::string::npos);
    CHECK_THROWS_AS(engine.set_logger(nullptr), tl::exception);
    engine.set_log_level(tl::logger::level::error);
    engine.finalize();
}

TEST_CASE("lines of no engine go to the global logger")
{
    static kept_lines lines;

    tl::logger::set_global_logger(&lines);
    tl::logger::set_global_log_level(tl::logger::level::warning);
    margo_info(MARGO_INSTANCE_NULL, "one");
    margo_warning(MARGO_INSTANCE_NULL, "two");
    CHECK(lines.m_lines.find("one") == std::string::npos);
    CHECK(lines.m_lines.find("warning two") != std::string::npos);
}
