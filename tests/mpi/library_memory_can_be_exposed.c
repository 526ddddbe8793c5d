/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of amalgam_alloc() can be exposed, keeps the class open, and also
 * works with AMALGAM_POOL_BYTES too small. */
#include <string.h>

#include "ranks.h"

enum { LEN = 100000 };

int main(void)
{
    struct ranks ranks;
    void *bytes = NULL;
    void *more = NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    const hg_size_t len = LEN;

    ranks_start(MPI_THREAD_MULTIPLE);
    HG_Set_log_level("error");
    ranks_open(&ranks, MPI_COMM_WORLD);
    bytes = amalgam_alloc(ranks.cls, LEN);
    more = amalgam_alloc(ranks.cls, 0);
    CHECK(bytes != NULL && more != NULL && bytes != more);
    CHECK((uintptr_t)bytes % 4096 == 0 && (uintptr_t)more % 64 == 0);
    memset(bytes, 42, LEN);
    OK(HG_Bulk_create(ranks.cls, 1, &bytes, &len, HG_BULK_READWRITE, &bulk));
    ranks_swap(&ranks, (ranks.rank + 1) % ranks.size, LEN);
    OK(HG_Bulk_free(bulk));
    for (int i = 0; i < LEN; i++)
        CHECK(((char *)bytes)[i] == 42);

    EXPECT(HG_BUSY, amalgam_finalize(ranks.cls));
    OK(amalgam_free(ranks.cls, bytes));
    EXPECT(HG_BUSY, amalgam_finalize(ranks.cls));
    OK(amalgam_free(ranks.cls, more));
    OK(amalgam_free(ranks.cls, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_free(NULL, NULL));
    CHECK(amalgam_alloc(NULL, LEN) == NULL);
    ranks_close(&ranks);
    return ranks_stop();
}
