/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI around a tutorial program in C++. */
#ifndef AMG_TUTORIAL_THALLIUM_JOB_HPP
#define AMG_TUTORIAL_THALLIUM_JOB_HPP

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <amalgam.hpp>

/* Initializes MPI, and finalizes it when all engines are gone. The command line
 * has no arguments. */
class mpi_job
{
  public:
    mpi_job(int argc, char **argv)
    {
        int level = 0;
        int rank = 0;

        /* Margo's threads may run anywhere. */
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
        if (argc == 1)
            return;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0)
            std::cerr << argv[0] << " takes no words; what is \"" << argv[1]
                      << "\"?\n";
        MPI_Finalize();
        std::exit(2);
    }

    mpi_job(const mpi_job &) = delete;
    mpi_job &operator=(const mpi_job &) = delete;

    ~mpi_job()
    {
        MPI_Finalize();
    }
};

inline std::string rank_name(const amalgam::engine &engine)
{
    return "rank " + std::to_string(engine.rank());
}

#endif
