/* SPDX-License-Identifier: BSD-3-Clause */
/* Providers: their RPCs by the forms of member functions, instances beside each
 * other, identities. */
#include <atomic>
#include <memory>
#include "engines.hpp"

namespace
{

class account : public tl::provider<account>
{
    int m_balance;
    std::atomic<int> m_noted{0};
    tl::auto_remote_procedure m_closed;

    void deposit(const tl::request &req, int amount)
    {
        m_balance += amount;
        req.respond(m_balance);
    }

    int withdraw(int amount)
    {
        m_balance -= amount;
        return m_balance;
    }

    int balance() const
    {
        return m_balance;
    }

    std::string describe(const std::string &prefix, int times) const
    {
        std::string result;

        for (int i = 0; i < times; i++)
            result += prefix;
        return result + std::to_string(m_balance);
    }

    void note(int amount)
    {
        m_noted += amount;
    }

    int ignored(int amount)
    {
        m_noted += amount;
        return amount;
    }

    int of_values(std::string text, std::vector<int> numbers)
    {
        return static_cast<int>(text.size() + numbers.size());
    }

  public:
    account(const tl::engine &engine, std::uint16_t id, int balance,
        const char *identity = nullptr)
        : tl::provider<account>(engine, id, identity), m_balance(balance)
    {
        tl::pool handlers = engine.get_handler_pool();

        define("deposit", &account::deposit);
        define("withdraw", &account::withdraw, handlers);
        define("balance", &account::balance);
        define("describe", &account::describe);
        define("note", &account::note);
        define("ignored", &account::ignored, tl::ignore_return_value());
        define("ignored_in_pool", &account::ignored, handlers,
            tl::ignore_return_value());
        define("of_values", &account::of_values);
        (void)get_engine().define("of_another");
        m_closed = define("closed", &account::balance);
    }

    int noted() const
    {
        return m_noted;
    }
};

} /* namespace */

TEST_CASE("two instances of a provider serve beside each other")
{
    two_engines two;
    account first(two.server, 1, 100);
    account second(two.server, 2, 200);
    tl::provider_handle to_first(two.peer, 1);
    tl::provider_handle to_second(two.client, two.peer.get_addr(), 2, false);
    auto deposit = two.client.define("deposit");
    auto balance = two.client.define("balance");

    CHECK(to_second.provider_id() == 2);
    CHECK(deposit.on(to_first)(1).as<int>() == 101);
    CHECK(deposit.on(to_second)(2).as<int>() == 202);
    CHECK(two.client.define("withdraw").on(to_first)(51).as<int>() == 50);
    CHECK(balance.on(to_first)().as<int>() == 50);
    CHECK(balance.on(to_second)().as<int>() == 202);
    std::string text =
        two.client.define("describe").on(to_second)(std::string("$"), 3);
    CHECK(text == "$$$202");
    CHECK(two.client.define("of_values")
              .on(to_first)(std::string("abc"), std::vector<int>{1, 2})
              .as<int>() == 5);
    CHECK(first.get_engine() == two.server);
    CHECK(second.get_provider_id() == 2);
    CHECK(thrown_code([&] {
        balance.on(tl::provider_handle(two.peer, 3))();
    }) == HG_NOENTRY);
}

TEST_CASE("functions whose results are not sent have no response")
{
    two_engines two;
    account one(two.server, 1, 100);
    tl::provider_handle handle(two.peer, 1);
    auto note = two.client.define("note").disable_response();
    auto ignored = two.client.define("ignored").disable_response();
    auto in_pool = two.client.define("ignored_in_pool").disable_response();

    note.on(handle)(1);
    ignored.on(handle)(10);
    in_pool.on(handle)(100);
    await([&] { return one.noted() == 111; });
    CHECK_THROWS_AS(note.on(handle)(1).as<int>(), tl::exception);
    await([&] { return one.noted() == 112; }); /* before the object ends */
}

TEST_CASE("an RPC of a provider ends with its object")
{
    two_engines two;
    tl::provider_handle handle(two.peer, 1);
    auto closed = two.client.define("closed");
    {
        account one(two.server, 1, 100);

        CHECK(closed.on(handle)().as<int>() == 100);
    }
    CHECK(thrown_code([&] { closed.on(handle)(); }) == HG_NOENTRY);
}

TEST_CASE("providers have identities, one for each number")
{
    two_engines two;
    const std::string long_name(1000, 'n');
    tl::provider_handle handle(two.peer, 1);
    {
        account one(two.server, 1, 100, "account");
        account other(two.server, 2, 100);
        account third(two.server, 3, 100, long_name.c_str());

        CHECK(std::string(one.identity()) == "account");
        CHECK(other.identity() == nullptr);
        CHECK(handle.get_identity() == "account");
        CHECK(tl::provider_handle(two.peer, 3).get_identity() == long_name);
        CHECK_THROWS_AS(tl::provider_handle(two.peer, 2).get_identity(),
            tl::margo_exception);
        CHECK_THROWS_AS(tl::provider_handle(two.peer, 4).get_identity(),
            tl::margo_exception);
        two.server.set_log_level(tl::logger::level::critical);
        CHECK_THROWS_AS(account(two.server, 1, 0, "another"), tl::exception);
        CHECK(handle.get_identity() == "account");
    }
    CHECK_THROWS_AS(handle.get_identity(), tl::margo_exception);
    account again(two.server, 1, 100, "again");
    CHECK(handle.get_identity() == "again");
}

TEST_CASE("a provider that a finalize callback destroys")
{
    tl::engine server(transport, THALLIUM_SERVER_MODE, true, 1);
    tl::engine client(transport, THALLIUM_CLIENT_MODE, true);
    account *owned = new account(server, 1, 100, "owned");

    server.push_finalize_callback(owned, [owned] { delete owned; });
    CHECK(client.define("balance")
              .on(tl::provider_handle(client.lookup(server.self()), 1))()
              .as<int>() == 100);
    client.finalize();
    server.finalize();
}

TEST_CASE("a provider that outlives its engine")
{
    std::unique_ptr<account> late;
    tl::engine server(transport, THALLIUM_SERVER_MODE, true, 1);

    late.reset(new account(server, 1, 100, "late"));
    server.finalize();
}
