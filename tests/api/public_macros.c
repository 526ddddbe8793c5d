/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists of Mercury's headers are X-macros, for which a program defines X;
 * mercury.h includes <limits.h>; attributes, switches and log calls of the
 * original exist under their names. */
#include <mercury.h>
#include <mercury_dl.h>
#include <mercury_log.h>
#include <mercury_time.h>
#include <mercury_util.h>
#include <na.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Before any other header that might include them. */
_Static_assert(UINT_MAX > 0 && CHAR_BIT == 8, "mercury.h has <limits.h>");

#if !defined(NA_HAS_SM) || !defined(NA_HAS_OFI) || defined(NA_HAS_MPI)
#error a program decides by these which transports to ask for
#endif
#if NA_VERSION_MAJOR != 6 || NA_VERSION_MINOR != 0
#error the network layer of Mercury 2.4.1 is 6.0
#endif
_Static_assert(NA_MAX_IDLE_TIME == 3600 * 1000, "one hour");
_Static_assert(HG_UTIL_STAMP_MAX >= 25, "a time stamp fits");

#define X(code) #code,
static const char *const hg_names[] = {HG_RETURN_VALUES};
static const char *const na_names[] = {NA_RETURN_VALUES};
#undef X

#define X(level, name, stream) name,
static const char *const level_names[] = {HG_LOG_LEVELS};
#undef X

static int failures;

#define CHECK(expr)                                                            \
    do {                                                                       \
        if (!(expr)) {                                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #expr);                 \
            failures++;                                                        \
        }                                                                      \
    } while (0)

static HG_LOG_DECL_REGISTER(tool);

HG_ATTR_PACKED_PUSH struct packed {
    char c;
    int32_t i;
} HG_ATTR_PACKED_POP;
NA_PACKED(struct na_packed {
    char c;
    int32_t i;
});
static HG_UTIL_ALIGNED(char line[64], 64);
static int is_constructed;

static void construct(void) HG_UTIL_CONSTRUCTOR;
static void construct(void)
{
    is_constructed = 1;
}

NA_PRINTF(1, 2) HG_UTIL_PLUGIN void write_by_list(const char *format, ...);
NA_PRINTF(1, 2) NA_PLUGIN void write_by_list(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    HG_LOG_VWRITE_FUNC(
        tool, HG_LOG_LEVEL_ERROR, "there.c", 7, "list", false, format, args);
    va_end(args);
}

static void lists(void)
{
    for (int i = 0; i < HG_RETURN_MAX; i++)
        CHECK(strcmp(hg_names[i], HG_Error_to_string((hg_return_t)i)) == 0);
    for (int i = 0; i < NA_RETURN_MAX; i++)
        CHECK(strcmp(na_names[i], NA_Error_to_string((na_return_t)i)) == 0);
    CHECK(strcmp(hg_names[HG_RETURN_MAX], "HG_RETURN_MAX") == 0);
    for (int i = HG_LOG_LEVEL_FATAL; i < HG_LOG_LEVEL_MAX; i++)
        CHECK(hg_log_name_to_level(level_names[i]) == (enum hg_log_level)i);
}

static void log_calls(void)
{
    char text[512] = "";
    FILE *file = tmpfile();

    CHECK(file != NULL);
    if (file == NULL)
        return;
    hg_log_set_stream_error(file);
    HG_LOG_WRITE_FUNC(
        tool, HG_LOG_LEVEL_ERROR, "here.c", 5, "func", false, "one %d", 1);
    write_by_list("two %d", 2);
    hg_log_set_stream_error(NULL);
    rewind(file);
    CHECK(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    CHECK(strstr(text, "one 1 (here.c:5 func)\n") != NULL);
    CHECK(strstr(text, "two 2 (there.c:7 list)\n") != NULL);
}

static void library_path(void)
{
    char path[4096] = "", small[2] = "";
    HG_DL_HANDLE libm = hg_dl_open("libm.so.6");
    const void *ceil_at = libm != NULL ? hg_dl_sym(libm, "ceil") : NULL;

    CHECK(ceil_at != NULL);
    CHECK(hg_dl_get_path(ceil_at, path, sizeof(path)) == HG_UTIL_SUCCESS);
    CHECK(path[0] == '/' && strstr(path, "/libm.so.6") != NULL);
    CHECK(hg_dl_get_path(ceil_at, small, sizeof(small)) == HG_UTIL_FAIL);
    CHECK(hg_dl_get_path(NULL, path, sizeof(path)) == HG_UTIL_FAIL);
    CHECK(libm == NULL || hg_dl_close(libm) == HG_UTIL_SUCCESS);
}

int main(void)
{
    CHECK(sizeof(struct packed) == 5 && sizeof(struct na_packed) == 5);
    CHECK((uintptr_t)line % 64 == 0 && is_constructed == 1);
    CHECK(strcmp(HG_UTIL_STRINGIFY(word), "word") == 0);
    CHECK(strlen(hg_time_stamp()) < HG_UTIL_STAMP_MAX);
    lists();
    log_calls();
    library_path();
    return failures == 0 ? 0 : 1;
}
