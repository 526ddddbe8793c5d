/* SPDX-License-Identifier: BSD-3-Clause */
/* Version and attributes of the names that begin with NA_. */
#ifndef NA_CONFIG_H
#define NA_CONFIG_H

#include "mercury_config.h"

/* Version of Mercury's network layer whose options and names exist here. */
#define NA_VERSION_MAJOR 6
#define NA_VERSION_MINOR 0
#define NA_VERSION_PATCH 0

#define NA_WARN_UNUSED_RESULT HG_WARN_UNUSED_RESULT
#define NA_UNUSED             HG_UNUSED
#define NA_PACKED(x)          HG_PACKED(x)
#define NA_FALLTHROUGH        HG_FALLTHROUGH
#define NA_PRINTF(fmt, first) HG_PRINTF(fmt, first)
#define NA_PUBLIC             HG_PUBLIC
#define NA_PLUGIN             HG_PUBLIC
#define NA_PRIVATE            HG_PRIVATE
#define NA_INLINE             HG_INLINE

/* Macros that programs test with #ifdef: the transports that init strings may
 * name. "na+sm" is in every build; a build without libfabric refuses "ofi+..."
 * when the class is opened. NA_HAS_MPI stays undefined, although "mpi" may be
 * named: programs that find NA_HAS_MPI defined give
 * NA_MPI_Set_init_intra_comm() a communicator of their servers only. */
#define NA_BUILD_SHARED_LIBS
#define NA_HAS_SM  1
#define NA_HAS_OFI 1
/* NA_Diag_dump_counters() is in every build. */
#define NA_HAS_DIAG 1

#endif
