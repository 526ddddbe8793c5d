/* SPDX-License-Identifier: BSD-3-Clause */
/* A transfer of exposed memory that its owner made unreadable, or whose file it
 * cut off, ends with an error, and later transfers succeed. */
#include <sys/mman.h>
#include <unistd.h>

#include "api_bulk.h"

enum { LEN = 1 << 20, PAGE = 4096, KINDS = 3 };

static uint8_t bytes[LEN];

/* Pages of a file that has one page left after cut(). */
static uint8_t *file_map(struct api *api, int *ret_fd)
{
    FILE *file = tmpfile();
    void *at = NULL;

    CHECK(api, file != NULL);
    *ret_fd = fileno(file);
    CHECK(api, ftruncate(*ret_fd, LEN) == 0);
    at = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
    CHECK(api, at != MAP_FAILED);
    return at;
}

static uint8_t *pages_map(struct api *api)
{
    void *at = mmap(
        NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(api, at != MAP_FAILED);
    return at;
}

static void test(struct api *api)
{
    int fd = -1;
    uint8_t *at[KINDS] = {pages_map(api), file_map(api, &fd), pages_map(api)};
    hg_bulk_t mine[KINDS];
    hg_bulk_t local = api_bulk_expose_one(api, bytes, LEN, HG_BULK_READWRITE);
    struct api_shown left[KINDS];

    HG_Set_log_level("none"); /* refusals are expected */
    api_bulk_start(api);
    for (unsigned i = 0; i < KINDS; i++) {
        mine[i] = api_bulk_expose_one(api, at[i], LEN, HG_BULK_READ_ONLY);
        api_bulk_show(api, mine[i], i, &left[i]);
    }
    CHECK(api, mprotect(at[0], LEN, PROT_NONE) == 0);
    CHECK(api, ftruncate(fd, PAGE) == 0);
    api_sync(api);
    for (unsigned i = 0; i < KINDS; i++)
        EXPECT(api, i < 2 ? HG_NA_ERROR : HG_SUCCESS,
            api_bulk_move(api, HG_BULK_PULL, &left[i], 0, local, 0, LEN));
    api_sync(api);
    for (unsigned i = 0; i < KINDS; i++)
        api_bulk_forget(api, &left[i]);
    OK(api, HG_Bulk_free(local));
    api_sync(api);
    for (unsigned i = 0; i < KINDS; i++)
        OK(api, HG_Bulk_free(mine[i]));
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
