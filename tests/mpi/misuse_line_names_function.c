/* SPDX-License-Identifier: BSD-3-Clause */
/* The line of a broken contract names the public function, and the argument
 * with its value and what is allowed; it names no file of the library. */
#include "log_kept.h"
#include "ranks.h"

/* The last call logged one line, which has this text. */
static void line_check(const char *wanted)
{
    bool is_there = log_has(wanted) && atomic_load(&log_lines) == 1;

    if (!is_there)
        fprintf(stderr, "\"%s\" is not the only line:\n%s\n", wanted, log_text);
    CHECK(is_there);
    CHECK(!log_has(".c:"));
    log_clear();
}

static void calls_misuse(struct ranks *all)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t self = HG_ADDR_NULL;
    hg_id_t id = HG_Register_name(all->cls, "none", NULL, NULL, NULL);
    int out = 0;

    OK(HG_Addr_self(all->cls, &self));
    EXPECT(HG_INVALID_ARG, HG_Create(all->context, self, id, NULL));
    line_check("HG_Create(): handle is NULL");
    OK(HG_Create(all->context, self, id, &handle));
    EXPECT(HG_INVALID_ARG, HG_Get_output(handle, &out));
    line_check("has no answer yet; wait until its callback ran");
    EXPECT(HG_INVALID_ARG, HG_Get_input(handle, &out));
    line_check("was made by HG_Create(); only the target of a call");
    EXPECT(HG_INVALID_ARG, HG_Respond(handle, NULL, NULL, NULL));
    line_check("HG_Respond(): handle ");
    OK(HG_Destroy(handle));
    OK(HG_Addr_free(all->cls, self));
}

static void memory_misuse(struct ranks *all)
{
    char bytes[8] = {0};
    void *base = bytes;
    hg_size_t len = sizeof(bytes);
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_uint32_t count = 0;

    EXPECT(
        HG_INVALID_ARG, HG_Bulk_create(all->cls, 1, &base, &len, 0x40, &bulk));
    line_check("HG_Bulk_create(): flags is 0x40; it must be HG_BULK_READ_ONLY");
    OK(HG_Bulk_create(all->cls, 1, &base, &len, HG_BULK_READ_ONLY, &bulk));
    EXPECT(HG_INVALID_ARG,
        HG_Bulk_access(bulk, 4, 5, HG_BULK_READ_ONLY, 1, NULL, NULL, &count));
    line_check("HG_Bulk_access(): 5 bytes at 4 pass the end of handle");
    OK(HG_Bulk_free(bulk));
}

int main(void)
{
    struct ranks all;
    hg_addr_t addr = HG_ADDR_NULL;

    ranks_start(MPI_THREAD_SINGLE);
    ranks_open(&all, MPI_COMM_WORLD);
    HG_Set_log_func(log_keep);
    EXPECT(HG_INVALID_ARG, amalgam_addr_rank(all.cls, 99, &addr));
    line_check(
        "amalgam_addr_rank(): rank 99, but the class has the ranks 0 to 1");
    EXPECT(HG_INVALID_ARG, amalgam_addr_rank(all.cls, -1, &addr));
    line_check(
        "amalgam_addr_rank(): rank -1, but the class has the ranks 0 to 1");
    calls_misuse(&all);
    memory_misuse(&all);
    HG_Set_log_func(NULL);
    ranks_close(&all);
    return ranks_stop();
}
