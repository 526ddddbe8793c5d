/* SPDX-License-Identifier: BSD-3-Clause */
/* Turns of the ranks. */
#include "mpi/strict/strict_token.h"

void strict_token_begin(void)
{
}

void strict_token_end(void)
{
}

void strict_token_turn(void)
{
}

void strict_token_reseed(uint64_t seed)
{
    (void)seed;
}

unsigned strict_meet_open(MPI_Comm comm)
{
    (void)comm;
    return strict_open();
}

unsigned strict_meet_open_group(MPI_Group group)
{
    (void)group;
    return strict_open();
}

unsigned strict_meet_open_window(MPI_Win window)
{
    (void)window;
    return strict_open();
}

void strict_meet_close(unsigned depth)
{
    strict_close(depth);
}

unsigned strict_poke_open(void)
{
    return strict_open();
}

void strict_poke_close(unsigned depth)
{
    strict_close(depth);
}
