/* SPDX-License-Identifier: BSD-3-Clause */
/* Serves the three services of thallium_client, on any host; no MPI.
 *
 *   thallium_server [TRANSPORT]
 *
 * Writes its address to stdout, for clients (thallium_client), one of which
 * ends the server. TRANSPORT is an init string of HG_Init(); default: "tcp". */
#include <cstdlib>
#include <exception>
#include <iostream>

#include "thallium_account.hpp"
#include "thallium_sum.hpp"
#include "thallium_table.hpp"

namespace tl = thallium;

static void run(const char *transport)
{
    tl::engine engine(transport, THALLIUM_SERVER_MODE);
    account_service::account savings(
        engine, account_service::SAVINGS, "savings");
    account_service::account points(engine, account_service::POINTS, "points");

    sum_service::serve(engine);
    table_service::serve(engine);
    engine.enable_remote_shutdown();
    std::cout << engine.self() << std::endl;
    /* Until a client ends the engine this thread waits, and its stream serves.
     * Without this line the engine would wait at the end of this function,
     * when the accounts are gone. */
    engine.wait_for_finalize();
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        std::cerr << "thallium_server [TRANSPORT]\n";
        return 2;
    }
    try {
        run(argc > 1 ? argv[1] : "tcp");
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
