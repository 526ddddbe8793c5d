/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory like the library's: a mapping of a file without a name, which another
 * process of the machine can map too. */
#ifndef BENCH_LIKE_H
#define BENCH_LIKE_H

#include "jobs/bench/frame/pair.h"

/* Of rank 1; owned by whoever opened it. */
struct like {
    unsigned char *base; /* rank 0: NULL where it cannot map it */
    size_t len;
    bool is_shared; /* both ranks have it */
};

/* By both ranks. What one cannot have is told in a word; rank 1 must. */
void like_open(struct pair *pair, size_t len, struct like *ret_like);
void like_close(struct like *like);

#endif
