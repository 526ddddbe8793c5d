/* SPDX-License-Identifier: BSD-3-Clause */
/* A class that was closed by amalgam_finalize() may be given to any function of
 * amalgam.h: it fails, writes one line that names function and class, and the
 * program goes on. So may an address that was freed, and a rank that the class
 * does not have. */
#include <stdarg.h>
#include <string.h>

#include "ranks.h"

static unsigned lines;
static char line[512];

/* Keeps the lines of the library. */
static int listen_to(FILE *stream, const char *format, ...)
{
    va_list args;
    int len = 0;

    (void)stream;
    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    lines++;
    return len;
}

static void said(const char *call, const void *object)
{
    char pointer[32];

    snprintf(pointer, sizeof(pointer), "%p", object);
    CHECK(lines == 1);
    CHECK(strstr(line, call) != NULL && strstr(line, pointer) != NULL);
    lines = 0;
}

#define GONE(name, object, ...)                                                \
    (EXPECT(HG_INVALID_ARG, name(__VA_ARGS__)), said(#name, (object)))

static void bad_addresses(hg_class_t *cls)
{
    hg_addr_t addr = HG_ADDR_NULL;
    int rank = -1;

    OK(amalgam_addr_rank(cls, 0, &addr));
    OK(HG_Addr_free(cls, addr));
    lines = 0;
    GONE(amalgam_addr_get_rank, addr, cls, addr, &rank);
    for (int wrong = -1; wrong < 100; wrong += 100) {
        EXPECT(HG_INVALID_ARG, amalgam_addr_rank(cls, wrong, &addr));
        CHECK(lines == 1 && strstr(line, "amalgam_addr_rank()") != NULL);
        lines = 0;
    }
}

static void all_refuse(hg_class_t *cls)
{
    MPI_Request request = MPI_REQUEST_NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    char byte = 0;
    int number = 0;

    GONE(amalgam_finalize, cls, cls);
    GONE(amalgam_finalize, cls, cls);
    GONE(amalgam_barrier, cls, cls);
    GONE(amalgam_test, cls, cls, &request, &number, NULL);
    GONE(amalgam_wait, cls, cls, &request, 0, NULL);
    GONE(amalgam_addr_rank, cls, cls, 0, &addr);
    GONE(amalgam_addr_comm_rank, cls, cls, MPI_COMM_WORLD, 0, &addr);
    GONE(amalgam_addr_get_rank, cls, cls, addr, &number);
    GONE(amalgam_class_ranks, cls, cls, &number, &number);
    GONE(amalgam_free, cls, cls, &byte);
    GONE(amalgam_bulk_create_type, cls, cls, &byte, 1, MPI_BYTE,
        HG_BULK_READ_ONLY, &bulk);
    CHECK(amalgam_alloc(cls, 1) == NULL);
    said("amalgam_alloc", cls);
}

int main(void)
{
    hg_class_t *cls = NULL;

    ranks_start(MPI_THREAD_FUNNELED);
    cls = amalgam_init(MPI_COMM_WORLD, NULL, NULL);
    CHECK(cls != NULL);
    HG_Set_log_func(listen_to);
    bad_addresses(cls);
    OK(amalgam_finalize(cls));
    lines = 0;
    all_refuse(cls);
    HG_Set_log_func(fprintf);
    return ranks_stop();
}
