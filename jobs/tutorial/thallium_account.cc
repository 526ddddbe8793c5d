/* SPDX-License-Identifier: BSD-3-Clause */
/* Uses two providers of one kind at another rank, in C++.
 *
 * Each provider has its own functions and data. Rank 0 serves, all others call
 * it; thallium_server.cc and thallium_client.cc do the same without MPI. */
#include <memory>

#include "thallium_job.hpp"
#include "thallium_account.hpp"

int main(int argc, char **argv)
{
    mpi_job job(argc, argv);
    amalgam::engine engine(MPI_COMM_WORLD);

    std::unique_ptr<account_service::account> savings, points;

    if (engine.rank() == 0) {
        using namespace account_service;
        savings.reset(new account(engine, SAVINGS, "savings"));
        points.reset(new account(engine, POINTS, "points"));
    }
    /* Rank 0 has defined its procedures when the others call. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (engine.rank() != 0)
        account_service::ask(engine, engine.endpoint(0), rank_name(engine));
    /* Each rank serves here until all ranks are here. */
    engine.finalize_and_wait();
    return 0;
}
