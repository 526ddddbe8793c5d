/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes a part of a table in the memory of another rank, in C++.
 *
 * The rank that is called reads and writes columns of the caller's table. Rank
 * 0 serves, all others call it; thallium_server.cc and thallium_client.cc do
 * the same without MPI. */
#include "thallium_job.hpp"
#include "thallium_table.hpp"

int main(int argc, char **argv)
{
    mpi_job job(argc, argv);
    amalgam::engine engine(MPI_COMM_WORLD);

    if (engine.rank() == 0)
        table_service::serve(engine);
    /* Rank 0 has defined its procedures when the others call. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (engine.rank() != 0)
        table_service::ask(engine, engine.endpoint(0), rank_name(engine));
    /* Each rank serves here until all ranks are here. */
    engine.finalize_and_wait();
    return 0;
}
