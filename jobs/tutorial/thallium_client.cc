/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls the services of a thallium_server, on any host; no MPI.
 *
 *   thallium_client ADDRESS NAME [stop]
 *
 * ADDRESS is the line that the server has written, NAME an owner of accounts;
 * with "stop" the client ends the server. */
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "thallium_account.hpp"
#include "thallium_sum.hpp"
#include "thallium_table.hpp"

namespace tl = thallium;

static void run(const std::string &address, const std::string &who, bool stops)
{
    /* An address begins with its transport. */
    tl::engine engine(
        address.substr(0, address.find_first_of(":;")), THALLIUM_CLIENT_MODE);
    tl::endpoint server = engine.lookup(address);

    sum_service::ask(engine, server, who);
    account_service::ask(engine, server, who);
    table_service::ask(engine, server, who);
    if (stops)
        engine.shutdown_remote_engine(server);
}

int main(int argc, char **argv)
{
    bool stops = argc == 4 && std::string(argv[3]) == "stop";

    if (argc < 3 || argc > 4 || (argc == 4 && !stops)) {
        std::cerr << "thallium_client ADDRESS NAME [stop]\n";
        return 2;
    }
    try {
        run(argv[1], argv[2], stops);
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
