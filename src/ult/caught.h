/* SPDX-License-Identifier: BSD-3-Clause */
/* The C++ exceptions that a thread handles: their list and number, which the
 * C++ runtime keeps for each OS thread (Itanium C++ ABI, exception handling
 * 2.2.2), and a switch of stacks for each user-level thread. */
#ifndef AMG_ULT_CAUGHT_H
#define AMG_ULT_CAUGHT_H

struct amg_caught {
    void *exceptions;
    unsigned uncaught;
};

#endif
