/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls functions of another rank with objects, in C++.
 *
 * No address, message format or conversion is written by hand. Rank 0 serves,
 * all others call it; thallium_server.cc and thallium_client.cc do the same
 * without MPI. */
#include "thallium_job.hpp"
#include "thallium_sum.hpp"

int main(int argc, char **argv)
{
    mpi_job job(argc, argv);
    amalgam::engine engine(MPI_COMM_WORLD);

    if (engine.rank() == 0)
        sum_service::serve(engine);
    /* Rank 0 has defined its procedures when the others call. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (engine.rank() != 0)
        sum_service::ask(engine, engine.endpoint(0), rank_name(engine));
    /* Each rank serves here until all ranks are here. */
    engine.finalize_and_wait();
    return 0;
}
