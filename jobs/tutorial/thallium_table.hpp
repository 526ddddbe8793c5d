/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data: a server reads and writes parts of a table in the memory of its
 * caller. */
#ifndef AMG_TUTORIAL_THALLIUM_TABLE_HPP
#define AMG_TUTORIAL_THALLIUM_TABLE_HPP

#include <cstddef>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <thallium.hpp>

namespace table_service
{

namespace tl = thallium;

/* The table, and the columns that the server works on. */
enum : std::size_t { ROWS = 4, COLUMNS = 1000, FIRST = 200, COUNT = 300 };

/* Where the columns begin in a row, and their bytes. */
constexpr std::size_t offset_of(std::size_t row)
{
    return (row * COLUMNS + FIRST) * sizeof(int);
}
constexpr std::size_t columns_size = COUNT * sizeof(int);

/* Doubles the columns in the table of the caller; answers with their sum. */
inline void serve(tl::engine &engine)
{
    /* Refers to the engine without keeping it from ending. */
    tl::engine here(engine.get_margo_instance());

    engine.define("double", [here](const tl::request &req, tl::bulk &table) {
        std::vector<int> numbers(ROWS * COUNT);
        tl::bulk local =
            here.expose({{numbers.data(), numbers.size() * sizeof(int)}},
                tl::bulk_mode::read_write);
        tl::endpoint caller = req.get_endpoint();
        long sum = 0;

        /* Never trust a length from another process. */
        if (table.size() != ROWS * COLUMNS * sizeof(int))
            return req.respond(-1L);
        /* The four transfers run at the same time. */
        std::vector<tl::async_bulk_op> pulls;
        for (std::size_t row = 0; row < ROWS; row++)
            pulls.push_back(
                table.on(caller)(offset_of(row), columns_size)
                    .pull_to(local(row * columns_size, columns_size)));
        for (tl::async_bulk_op &pull : pulls)
            pull.wait();
        sum = std::accumulate(numbers.begin(), numbers.end(), 0L);
        for (int &number : numbers)
            number *= 2;
        for (std::size_t row = 0; row < ROWS; row++)
            local(row * columns_size, columns_size) >>
                table(offset_of(row), columns_size).on(caller);
        req.respond(sum);
    });
}

/* Has the server double the columns, and checks the whole table. */
inline void ask(
    tl::engine &engine, const tl::endpoint &server, const std::string &who)
{
    std::ostringstream out;
    std::vector<int> numbers(ROWS * COLUMNS);
    std::size_t wrong = 0;

    std::iota(numbers.begin(), numbers.end(), 0);
    /* Two segments are one bulk. */
    std::vector<std::pair<void *, std::size_t>> segments = {
        {&numbers[0], 2 * COLUMNS * sizeof(int)},
        {&numbers[2 * COLUMNS], 2 * COLUMNS * sizeof(int)}};
    tl::bulk table = engine.expose(segments, tl::bulk_mode::read_write);
    long sum = engine.define("double").on(server)(table);

    for (std::size_t i = 0; i < numbers.size(); i++) {
        std::size_t column = i % COLUMNS;
        bool is_inside = column >= FIRST && column < FIRST + COUNT;

        wrong += numbers[i] != static_cast<int>(i) * (is_inside ? 2 : 1);
    }
    out << who << ": the sum is " << sum << ", " << wrong
        << " numbers are wrong\n";
    std::cout << out.str() << std::flush;
}

} /* namespace table_service */

#endif
