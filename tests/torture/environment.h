/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process has of the system: descriptors, mappings and files of the
 * library, bytes of the heap. */
#ifndef TESTS_TORTURE_ENVIRONMENT_H
#define TESTS_TORTURE_ENVIRONMENT_H

#include "book.h"

#ifdef __cplusplus
extern "C" {
#endif

/* While classes are open: remembers the files of the library that are mapped.
 */
void environment_look(void);

/* After all ranks have closed, and before the next round: a finding for each
 * such file that still exists, and each that is mapped. */
void environment_closed(struct book *book);

/* At the end of `rounds` rounds of a plan, which all are alike: a finding if
 * the last three each left more than the one before. */
void environment_rounds(struct book *book, unsigned rounds);

#ifdef __cplusplus
}
#endif

#endif
