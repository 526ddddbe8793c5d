/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for strict hardware, between the driver and libfabric.
 *
 * It takes the place of the driver's table of calls (ofi_backend/ofi_call.h),
 * demands what the NIC of its profile would (shim_profile.c), and does what
 * such a NIC may do: refuse a post, complete late and in another order, hand
 * out keys of its own. A real provider underneath moves the bytes. Whoever
 * breaks a rule is told which, and the process ends by abort(). */
#ifndef TESTS_OFI_SHIM_SHIM_H
#define TESTS_OFI_SHIM_SHIM_H

/* The profile; unset or empty: no shim. */
#define SHIM_ENV "AMALGAM_TEST_SHIM"
/* What its dice begin with; unset: another number each time, which is said. */
#define SHIM_ENV_SEED "AMALGAM_TEST_SHIM_SEED"
/* The file of keys that the processes of a test share (shim_book.c); the first
 * process makes one where none is named. */
#define SHIM_ENV_BOOK "AMALGAM_TEST_SHIM_BOOK"

/* Puts the shim in place, if the environment asks for one. Before the first
 * domain is opened, and before processes are started that meet by it. */
void shim_use(void);
/* All that was opened has to be closed by now. */
void shim_end(void);

#endif
