/* SPDX-License-Identifier: BSD-3-Clause */
/* Shim between the driver and libfabric: a stand-in for strict hardware. It
 * replaces the driver's table of calls (ofi_backend/ofi_call.h), demands what
 * the NIC of its profile would (shim_profile.c), and does what such a NIC may
 * do: refuse a post, complete late and in another order, choose its own keys. A
 * real provider below moves the bytes. After a breach of a rule it prints the
 * rule, and ends the process by abort(). */
#ifndef TESTS_OFI_SHIM_SHIM_H
#define TESTS_OFI_SHIM_SHIM_H

/* The profile; unset or empty: no shim. */
#define SHIM_ENV "AMALGAM_TEST_SHIM"
/* Seed of its random numbers; unset: another one each time, which it prints. */
#define SHIM_ENV_SEED "AMALGAM_TEST_SHIM_SEED"
/* The file of keys that the processes of a test share (shim_book.c); unset: the
 * first process creates one. */
#define SHIM_ENV_BOOK "AMALGAM_TEST_SHIM_BOOK"

/* Installs the shim if the environment asks for one. Call it before the first
 * domain is opened, and before other processes of the test are started. */
void shim_use(void);
/* All objects must be closed by now. */
void shim_end(void);

#endif
