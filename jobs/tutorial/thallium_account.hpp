/* SPDX-License-Identifier: BSD-3-Clause */
/* A provider: a service of which a process has several, told apart by their
 * numbers. */
#ifndef AMG_TUTORIAL_THALLIUM_ACCOUNT_HPP
#define AMG_TUTORIAL_THALLIUM_ACCOUNT_HPP

#include <cstdint>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thallium.hpp>
#include <thallium/serialization/stl/string.hpp>

namespace account_service
{

namespace tl = thallium;

/* The numbers of the two providers. */
enum : std::uint16_t { SAVINGS = 1, POINTS = 2 };

/* Keeps a balance for each owner. */
class account : public tl::provider<account>
{
    tl::mutex m_lock; /* guards the rest: requests run at the same time */
    std::map<std::string, int> m_balances;

    int deposit(const std::string &owner, int amount)
    {
        std::lock_guard<tl::mutex> guard(m_lock);

        return m_balances[owner] += amount;
    }

    /* A function that takes the request answers by itself, at any time. */
    void withdraw(const tl::request &req, const std::string &owner, int amount)
    {
        bool is_enough = false;

        {
            std::lock_guard<tl::mutex> guard(m_lock);

            is_enough = m_balances[owner] >= amount;
            if (is_enough)
                m_balances[owner] -= amount;
        }
        req.respond(is_enough);
    }

  public:
    account(const tl::engine &engine, std::uint16_t number, const char *kind)
        : tl::provider<account>(engine, number, kind)
    {
        define("deposit", &account::deposit);
        define("withdraw", &account::withdraw);
    }
};

/* Uses both accounts of the server; prints what they say. */
inline void ask(
    tl::engine &engine, const tl::endpoint &server, const std::string &who)
{
    std::ostringstream out;
    tl::remote_procedure deposit = engine.define("deposit");
    tl::remote_procedure withdraw = engine.define("withdraw");
    tl::provider_handle savings(server, SAVINGS);
    tl::provider_handle points(server, POINTS);

    deposit.on(savings)(who, 100);
    int balance = deposit.on(savings)(who, 50);
    int other = deposit.on(points)(who, 7);
    bool is_paid = withdraw.on(savings)(who, 120);
    bool is_paid_again = withdraw.on(savings)(who, 120);

    out << who << ": " << savings.get_identity() << " " << balance << ", "
        << points.get_identity() << " " << other << '\n';
    out << who << ": paid " << (is_paid ? "once" : "never")
        << (is_paid_again ? " and again" : "") << '\n';
    std::cout << out.str() << std::flush;
}

} /* namespace account_service */

#endif
