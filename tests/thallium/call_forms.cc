/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs: all forms of their functions, of calls, and of waiting for them, and
 * the exceptions of calls that fail. */
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include "engines.hpp"

namespace
{

void add(const tl::request &req, int a, int b)
{
    req.respond(a + b);
}

struct adder {
    int m_more;

    void operator()(const tl::request &req, int a, int b) const
    {
        req.respond(a + b + m_more);
    }
};

/* Requests of an RPC "kept" that is answered when the test says so. */
class kept_requests
{
    std::mutex m_mutex;
    std::vector<tl::request> m_requests;

  public:
    explicit kept_requests(tl::engine &server)
    {
        server.define("kept", [this](const tl::request &req, int) {
            std::lock_guard<std::mutex> lock(m_mutex);
            m_requests.push_back(req);
        });
    }

    std::size_t size()
    {
        std::lock_guard<std::mutex> lock(m_mutex);
        return m_requests.size();
    }

    /* Answers the request of this argument, which is its answer. */
    void answer(int wanted)
    {
        std::vector<tl::request> requests;
        {
            std::lock_guard<std::mutex> lock(m_mutex);
            requests.swap(m_requests);
        }
        for (const tl::request &req : requests) {
            if (req.get_input().as<int>() == wanted) {
                req.respond(wanted);
                continue;
            }
            std::lock_guard<std::mutex> lock(m_mutex);
            m_requests.push_back(req);
        }
    }

    void await_size(std::size_t count)
    {
        await([&] { return size() >= count; });
    }
};

} /* namespace */

TEST_CASE("a function of each form serves an RPC")
{
    two_engines two;
    std::function<void(const tl::request &, int, int)> function = add;
    const std::function<void(const tl::request &, int, int)> constant = add;
    int more = 5;
    std::unique_ptr<int> moved(new int(7));

    two.server.define("pointer", add);
    two.server.define(std::string("address"), &add, 0);
    two.server.define("std_function", function);
    two.server.define("const_function", constant, 0);
    two.server.define("moved_function", std::move(function), 0, tl::pool());
    two.server.define("functor", adder{100}, 0);
    two.server.define("lambda", [&more](const tl::request &req, int a, int b) {
        req.respond(a + b + more);
    });
    two.server.define("mutable_lambda",
        [sum = 0](const tl::request &req, int a, int b) mutable {
            sum += a + b;
            req.respond(sum);
        });
    two.server.define(
        "by_reference", [](const tl::request &req, const int &a, int &b) {
            b += a;
            req.respond(b);
        });
    two.server.define("in_pool", add, 0, two.server.get_handler_pool());

    for (const char *name : {"pointer", "address", "std_function",
             "const_function", "moved_function", "by_reference", "in_pool"}) {
        int sum = two.client.define(name).on(two.peer)(40, 2);

        CHECK(sum == 42);
    }
    CHECK(two.client.define("functor").on(two.peer)(1, 2).as<int>() == 103);
    CHECK(two.client.define("lambda").on(two.peer)(1, 2).as<int>() == 8);
    auto kept = two.client.define("mutable_lambda");
    CHECK(kept.on(two.peer)(1, 2).as<int>() == 3);
    CHECK(kept.on(two.peer)(1, 2).as<int>() == 6);
}

TEST_CASE("an RPC is of the provider that it was defined for")
{
    two_engines two;

    two.server.define(
        "which", [](const tl::request &req) { req.respond(3); }, 3);
    two.server.define(
        "which", [](const tl::request &req) { req.respond(9); }, 9,
        two.server.get_handler_pool());
    auto which = two.client.define("which");
    tl::provider_handle third(two.peer, 3);

    CHECK(which.on(third)().as<int>() == 3);
    CHECK(which.on(tl::provider_handle(two.peer, 9))().as<int>() == 9);
    CHECK(thrown_code([&] { which.on(tl::provider_handle(two.peer, 4))(); }) !=
          HG_SUCCESS);
    CHECK(thrown_code([&] { which.on(two.peer)(); }) != HG_SUCCESS);
}

TEST_CASE("a name that is registered keeps its id")
{
    two_engines two;
    tl::remote_procedure first = two.client.define("name");
    tl::remote_procedure second = two.client.define(std::string("name"));

    CHECK(first.id() != 0);
    CHECK(first.id() == second.id());
    two.server.define("served", add);
    CHECK(tl::remote_procedure().id() == 0);
    CHECK(two.client.define("served").on(two.peer)(1, 2).as<int>() == 3);
}

TEST_CASE("a callable is called again and again")
{
    two_engines two;

    two.server.define("add", add);
    tl::callable_remote_procedure callable =
        two.client.define("add").on(two.peer);

    for (int i = 0; i < 100; i++)
        CHECK(callable(i, 1).as<int>() == i + 1);
    tl::callable_remote_procedure copy = callable;
    CHECK(copy(1, 1).as<int>() == 2);
    CHECK(callable(1, 2).as<int>() == 3);
}

TEST_CASE("a call that is not answered in time throws timeout")
{
    two_engines two;
    kept_requests kept(two.server);
    auto rpc = two.client.define("kept");
    auto in_time = rpc.on(two.peer).timed_async(std::chrono::minutes(1), 3);

    kept.await_size(
        1); /* a call to a peer without a connection may not leave */
    CHECK_THROWS_AS(
        rpc.on(two.peer).timed(std::chrono::milliseconds(20), 1), tl::timeout);
    auto response =
        rpc.on(two.peer).timed_async(std::chrono::milliseconds(20), 2);
    CHECK_THROWS_AS(response.wait(), tl::timeout);
    CHECK_THROWS_AS(response.wait(), tl::exception);

    kept.await_size(3);
    kept.answer(1); /* nobody waits for them */
    kept.answer(2);
    kept.answer(3);
    CHECK(in_time.wait().as<int>() == 3);
}

TEST_CASE("a call in time has an answer")
{
    two_engines two;

    two.server.define("add", add);
    auto rpc = two.client.define("add");
    int sum = rpc.on(two.peer).timed(std::chrono::seconds(30), 1, 2);

    CHECK(sum == 3);
    CHECK(rpc.on(two.peer)
              .timed_async(std::chrono::seconds(30), 3, 4)
              .wait()
              .as<int>() == 7);
}

TEST_CASE("a call under way is tested and waited for")
{
    two_engines two;
    kept_requests kept(two.server);
    auto rpc = two.client.define("kept");
    tl::async_response response = rpc.on(two.peer).async(11);

    kept.await_size(1);
    CHECK_FALSE(response.received());
    kept.answer(11);
    await([&] { return response.received(); });
    CHECK(response.received());
    CHECK(response.wait().as<int>() == 11);
    CHECK(response.received());
    CHECK_THROWS_AS(response.wait(), tl::exception);

    tl::async_response empty;
    CHECK(empty.received());
    CHECK_THROWS_AS(empty.wait(), tl::exception);
}

TEST_CASE("a call under way moves")
{
    two_engines two;

    two.server.define("add", add);
    auto rpc = two.client.define("add");
    tl::async_response first = rpc.on(two.peer).async(1, 1);
    tl::async_response second = std::move(first);

    first = rpc.on(two.peer).async(2, 2);
    first = rpc.on(two.peer).async(3, 3); /* waits for the former one */
    CHECK(first.wait().as<int>() == 6);
    CHECK(second.wait().as<int>() == 2);
    {
        tl::async_response dropped = rpc.on(two.peer).async(4, 4);
    }
}

TEST_CASE("wait_any waits for each call once, in the order of their answers")
{
    two_engines two;
    kept_requests kept(two.server);
    auto rpc = two.client.define("kept");
    std::vector<tl::async_response> calls;

    for (int i = 0; i < 4; i++)
        calls.push_back(rpc.on(two.peer).async(i));
    kept.await_size(4);
    for (int i : {2, 0, 3, 1}) {
        auto completed = calls.end();

        kept.answer(i);
        int answer =
            tl::async_response::wait_any(calls.begin(), calls.end(), completed);
        CHECK(answer == i);
        CHECK(completed - calls.begin() == i);
        CHECK_THROWS_AS(completed->wait(), tl::exception);
    }
    auto completed = calls.begin();
    CHECK_THROWS_AS(
        tl::async_response::wait_any(calls.begin(), calls.end(), completed),
        tl::exception);
    /* Over one that ended by wait_any. */
    calls[1] = rpc.on(two.peer).async(9);
    kept.await_size(1);
    kept.answer(9);
    CHECK(calls[1].wait().as<int>() == 9);
}

TEST_CASE("wait_any removes the calls that ended from a vector")
{
    two_engines two;

    two.server.define("add", add);
    auto rpc = two.client.define("add");
    std::vector<tl::async_response> calls;
    int total = 0;

    for (int i = 0; i < 10; i++)
        calls.push_back(rpc.on(two.peer).async(i, 0));
    while (!calls.empty()) {
        std::vector<tl::async_response>::iterator completed;
        int answer =
            tl::async_response::wait_any(calls.begin(), calls.end(), completed);

        total += answer;
        calls.erase(completed);
    }
    CHECK(total == 45);
}

TEST_CASE("wait_any says which call failed")
{
    two_engines two;
    kept_requests kept(two.server);
    auto rpc = two.client.define("kept");
    std::vector<tl::async_response> calls;
    auto completed = calls.end();

    calls.push_back(rpc.on(two.peer).async(1));
    calls.push_back(
        rpc.on(two.peer).timed_async(std::chrono::milliseconds(10), 2));
    CHECK_THROWS_AS(
        tl::async_response::wait_any(calls.begin(), calls.end(), completed),
        tl::timeout);
    CHECK(completed - calls.begin() == 1);
    kept.await_size(1);
    kept.answer(1);
    CHECK(tl::async_response::wait_any(calls.begin(), calls.end(), completed)
              .as<int>() == 1);
    CHECK(completed == calls.begin());
}

TEST_CASE("an RPC without a response is not waited for")
{
    two_engines two;
    std::atomic<int> sum{0};
    std::atomic<bool> has_thrown{false};

    two.server
        .define("note",
            [&](const tl::request &req, int value) {
                try {
                    req.respond(value);
                } catch (const tl::exception &) {
                    has_thrown = true;
                }
                sum += value;
            })
        .disable_response();
    auto note = two.client.define("note").disable_response();

    note.on(two.peer)(1);
    auto nothing = note.on(two.peer)(2);
    CHECK_THROWS_AS(nothing.as<int>(), tl::exception);
    CHECK(nothing.native_handle() == HG_HANDLE_NULL);
    CHECK_THROWS_AS(note.on(two.peer).async(3).wait().as<int>(), tl::exception);
    await([&] { return sum == 6; });
    CHECK(has_thrown);
}

TEST_CASE("an RPC is deregistered")
{
    two_engines two;
    tl::remote_procedure served = two.server.define("add", add);
    auto rpc = two.client.define("add");

    CHECK(rpc.on(two.peer)(1, 2).as<int>() == 3);
    served.deregister();
    CHECK(thrown_code([&] { rpc.on(two.peer)(1, 2); }) == HG_NOENTRY);
    {
        tl::auto_remote_procedure again = two.server.define("add", add);

        CHECK(again.id() != 0);
        CHECK(rpc.on(two.peer)(1, 2).as<int>() == 3);
        tl::auto_remote_procedure moved = std::move(again);
        CHECK(rpc.on(two.peer)(1, 2).as<int>() == 3);
    }
    CHECK(thrown_code([&] { rpc.on(two.peer)(1, 2); }) == HG_NOENTRY);
    rpc.deregister();
    CHECK_THROWS_AS(rpc.on(two.peer), tl::exception);
}

TEST_CASE("an RPC that is gone may be deregistered")
{
    two_engines two;
    tl::remote_procedure served = two.server.define("add", add);
    tl::remote_procedure same = served;

    served.deregister();
    CHECK_NOTHROW(same.deregister());
    CHECK_NOTHROW(same.deregister());
    CHECK(same.id() == 0);
    CHECK_NOTHROW(tl::remote_procedure().deregister());
}

TEST_CASE("a function deregisters its own RPC")
{
    two_engines two;
    tl::remote_procedure served;
    auto state = std::make_shared<int>(6);
    std::weak_ptr<int> watched = state;

    served =
        two.server.define("once", [state, &served](const tl::request &req) {
            served.deregister();
            req.respond(*state + 1);
        });
    state.reset();
    auto once = two.client.define("once");

    CHECK(once.on(two.peer)().as<int>() == 7);
    CHECK(thrown_code([&] { once.on(two.peer)(); }) == HG_NOENTRY);
    await([&] { return watched.expired(); });
}

TEST_CASE("calls that cannot be made or served throw")
{
    two_engines two;
    std::string text;
    auto nobodys = two.client.define("nobody_serves_it");

    CHECK(thrown_code([&] { nobodys.on(two.peer)(1); }, &text) == HG_NOENTRY);
    CHECK(text.find("nobody_serves_it") != std::string::npos);
    CHECK(thrown_code([&] { nobodys.on(two.peer).async(1).wait(); }) ==
          HG_NOENTRY);
    CHECK_THROWS_AS(tl::remote_procedure().on(two.peer), tl::exception);
    CHECK_THROWS_AS(nobodys.on(tl::endpoint()), tl::exception);
    CHECK(thrown_code([&] { two.client.lookup("no such address"); }) !=
          HG_SUCCESS);
}

TEST_CASE("a function that throws ends its request, not the process")
{
    two_engines two;
    std::string text;

    margo_set_log_level(two.server, MARGO_LOG_CRITICAL);
    two.server.define("throws", [](const tl::request &req, int what) {
        if (what == 1)
            throw std::runtime_error("one");
        if (what == 2)
            throw what;
        if (what == 5)
            throw std::runtime_error(std::string(5000, 'x'));
        req.respond(what);
        if (what == 4)
            throw std::runtime_error("four");
    });
    auto rpc = two.client.define("throws");

    CHECK(thrown_code([&] { rpc.on(two.peer)(1); }, &text) == HG_CANCELED);
    CHECK(text.find("\"throws\": margo_forward returned HG_CANCELED: one") !=
          std::string::npos);
    CHECK(thrown_code([&] { rpc.on(two.peer)(2); }, &text) == HG_CANCELED);
    CHECK(text.find("no std::exception") != std::string::npos);
    CHECK(thrown_code([&] { rpc.on(two.peer).async(1).wait(); }, &text) ==
          HG_CANCELED);
    CHECK(text.find("HG_CANCELED: one") != std::string::npos);
    CHECK(rpc.on(two.peer)(3).as<int>() == 3);
    CHECK(rpc.on(two.peer)(4).as<int>() == 4); /* it throws after its answer */
    CHECK(thrown_code([&] { rpc.on(two.peer)(5); }, &text) == HG_CANCELED);
    CHECK(text.size() > 500);
    CHECK(text.size() < 700);
}

TEST_CASE("a request that is dropped without an answer is cancelled")
{
    two_engines two;

    two.server.define("silent", [](const tl::request &) {});
    CHECK(thrown_code([&] { two.client.define("silent").on(two.peer)(); }) ==
          HG_CANCELED);
}

TEST_CASE("a call of a server that has ended throws")
{
    tl::engine client(transport, THALLIUM_CLIENT_MODE, true);
    tl::engine server(transport, THALLIUM_SERVER_MODE, true);
    tl::endpoint peer = client.lookup(server.self());

    server.define("add", add);
    auto rpc = client.define("add");
    CHECK(rpc.on(peer)(1, 2).as<int>() == 3);
    server.finalize();
    server = tl::engine();

    bool has_thrown = false;
    try {
        rpc.on(peer).timed(std::chrono::seconds(2), 1, 2);
    } catch (const tl::timeout &) {
        has_thrown = true;
    } catch (const tl::margo_exception &error) {
        has_thrown = error.error() != HG_SUCCESS;
    }
    CHECK(has_thrown);
    peer = tl::endpoint();
    client.finalize();
}

TEST_CASE("a request knows its caller, and calls it back")
{
    two_engines two;
    tl::engine caller(transport, THALLIUM_SERVER_MODE, true, 1);
    tl::endpoint peer = caller.lookup(two.server.self());
    tl::remote_procedure back = two.server.define("back");

    caller.define("back", add);
    two.server.define("there", [&](const tl::request &req, int a) {
        tl::endpoint from = req.get_endpoint();
        int sum = back.on(from)(a, 1000);

        req.respond(sum, static_cast<std::string>(from));
    });
    auto answer = caller.define("there").on(peer)(234).as<int, std::string>();
    CHECK(std::get<0>(answer) == 1234);
    CHECK(two.server.lookup(std::get<1>(answer)) ==
          two.server.lookup(caller.self()));
    peer = tl::endpoint();
    caller.finalize();
}

TEST_CASE("a handler makes calls of its own, nested")
{
    two_engines two;
    tl::endpoint self = two.server.self();
    tl::remote_procedure count;

    count = two.server.define("count", [&](const tl::request &req, int depth) {
        if (depth == 0) {
            req.respond(0);
            return;
        }
        int below = count.on(self)(depth - 1);
        req.respond(below + 1);
    });
    CHECK(two.client.define("count").on(two.peer)(10).as<int>() == 10);
    self = tl::endpoint();
}

TEST_CASE("auto_respond answers with what its object is at the end")
{
    two_engines two;

    two.server.define("square", [](const tl::request &req, int x) {
        int result = 0;
        tl::auto_respond<int> answer(req, result);

        result = x * x;
        if (x > 3)
            return;
        result += 1;
    });
    auto square = two.client.define("square");
    CHECK(square.on(two.peer)(5).as<int>() == 25);
    CHECK(square.on(two.peer)(2).as<int>() == 5);
}
