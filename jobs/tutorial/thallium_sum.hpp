/* SPDX-License-Identifier: BSD-3-Clause */
/* A service that calculates: RPCs are functions, and arguments are objects. */
#ifndef AMG_TUTORIAL_THALLIUM_SUM_HPP
#define AMG_TUTORIAL_THALLIUM_SUM_HPP

#include <chrono>
#include <cmath>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>
#include <thallium.hpp>
#include <thallium/serialization/stl/string.hpp>
#include <thallium/serialization/stl/vector.hpp>

namespace sum_service
{

namespace tl = thallium;

/* An object can be an argument when it says what it consists of. */
struct point {
    double x;
    double y;

    template <typename Archive> void serialize(Archive &ar)
    {
        ar &x;
        ar &y;
    }
};

/* Defines what this process serves. Each request runs in a thread of its own,
 * so a function may wait. */
inline void serve(tl::engine &engine)
{
    engine.define("add",
        [](const tl::request &req, int x, int y) { req.respond(x + y); });
    engine.define("distance", [](const tl::request &req, point a, point b) {
        req.respond(std::hypot(a.x - b.x, a.y - b.y));
    });
    /* An answer can have several objects. */
    engine.define("total", [](const tl::request &req, const std::string &unit,
                               const std::vector<int> &numbers) {
        req.respond(std::accumulate(numbers.begin(), numbers.end(), 0), unit);
    });
}

/* Calls these functions; prints a line for each. `who` begins the lines. */
inline void ask(
    tl::engine &engine, const tl::endpoint &server, const std::string &who)
{
    const std::chrono::seconds patience(30);
    std::ostringstream out;
    tl::remote_procedure add = engine.define("add");
    int sum = add.on(server)(2, 3);
    double length =
        engine.define("distance").on(server)(point{0, 0}, point{3, 4});
    std::vector<tl::async_response> answers;
    int total = 0;
    std::string unit;

    out << who << ": 2 + 3 = " << sum << '\n';
    out << who << ": the distance is " << length << '\n';
    /* Several calls at a time; each has its own handle. A call that the server
     * does not answer in time ends with an exception. */
    for (int i = 1; i <= 3; i++)
        answers.push_back(add.on(server).timed_async(patience, i, 10 * i));
    for (tl::async_response &answer : answers) {
        sum = answer.wait();
        out << who << ": answered " << sum << '\n';
    }
    engine.define("total")
        .on(server)(std::string("apples"), std::vector<int>{1, 2, 3, 4})
        .unpack(total, unit);
    out << who << ": " << total << ' ' << unit << '\n';
    std::cout << out.str() << std::flush;
}

} /* namespace sum_service */

#endif
