/* SPDX-License-Identifier: BSD-3-Clause */
/* HG classes, one after another, work over an NA class that was opened before,
 * and the NA class stays until it is finalized itself. */
#include <string.h>

#include "api_bulk.h"
#include "na.h"

enum { LEN = 200000, TEXT_CAP = 256, LIVES = 3, CONTEXTS = 2 };

static uint8_t exposed[LEN];
static uint8_t bytes[LEN];

static na_class_t *na_open(struct api *api)
{
    struct na_init_info info = NA_INIT_INFO_INITIALIZER;
    na_class_t *na = NULL;

    info.max_contexts = CONTEXTS;
    na = NA_Initialize_opt2(api->transport, true,
        NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR), &info);
    CHECK(api, na != NULL);
    CHECK(api, NA_Is_listening(na));
    CHECK(api, strcmp(NA_Get_class_name(na), HG_Class_get_name(api->cls)) == 0);
    CHECK(api, strcmp(NA_Get_class_protocol(na),
                   HG_Class_get_protocol(api->cls)) == 0);
    return na;
}

static void init_info_set(struct hg_init_info *info, na_class_t *na)
{
    *info = HG_INIT_INFO_INITIALIZER;
    info->na_class = na;
}

/* The addresses of both differ, their strings are equal. */
static void addresses_meet(struct api *api, na_class_t *na)
{
    na_addr_t *self = NULL;
    na_addr_t *right = NULL;
    hg_addr_t found = HG_ADDR_NULL;
    char na_text[TEXT_CAP];
    char hg_text[TEXT_CAP];
    size_t na_len = sizeof(na_text);
    hg_size_t hg_len = sizeof(hg_text);

    CHECK(api, NA_Addr_self(na, &self) == NA_SUCCESS);
    CHECK(api, NA_Addr_to_string(na, na_text, &na_len, self) == NA_SUCCESS);
    OK(api, HG_Addr_lookup2(api->cls, na_text, &found));
    OK(api, HG_Addr_to_string(api->cls, hg_text, &hg_len, found));
    CHECK(api, na_len == hg_len && strcmp(na_text, hg_text) == 0);
    EXPECT(api, HG_INVALID_ARG, HG_Addr_free(api->cls, (hg_addr_t)self));
    NA_Addr_free(na, (na_addr_t *)found); /* of another class: no effect */
    OK(api, HG_Addr_free(api->cls, found));
    hg_len = sizeof(hg_text);
    OK(api, HG_Addr_to_string(api->cls, hg_text, &hg_len, api->right));
    CHECK(api, NA_Addr_lookup(na, hg_text, &right) == NA_SUCCESS);
    CHECK(api, NA_Addr_is_self(na, right) == api->is_alone);
    CHECK(api, NA_Addr_cmp(na, right, self) == api->is_alone);
    NA_Addr_free(na, right);
    NA_Addr_free(na, self);
}

/* While an HG class uses it, a second class and its end are refused. */
static void taken(struct api *api, na_class_t *na)
{
    struct hg_init_info info;

    init_info_set(&info, na);
    CHECK(api,
        HG_Init_opt2(api->transport, HG_TRUE, HG_VERSION(2, 4), &info) == NULL);
    CHECK(api, NA_Finalize(na) == NA_BUSY);
}

/* Calls and bulk data with the neighbours, in the last context. */
static void work(struct api *api, unsigned life)
{
    struct api_shown left;
    hg_bulk_t mine = HG_BULK_NULL;
    hg_bulk_t local = HG_BULK_NULL;

    api_bulk_start(api);
    mine = api_bulk_expose_one(api, exposed, LEN, HG_BULK_READ_ONLY);
    local = api_bulk_expose_one(api, bytes, LEN, HG_BULK_READWRITE);
    api_fill(exposed, LEN, (uint64_t)api->rank + life, 0);
    api_bulk_show(api, mine, (uint64_t)api->rank, &left);
    OK(api, api_bulk_move(api, HG_BULK_PULL, &left, 0, local, 0, LEN));
    CHECK(api, api_is_filled(bytes, LEN, left.number + life, 0));
    api_bulk_forget(api, &left);
    api_sync(api);
    OK(api, HG_Bulk_free(mine));
    OK(api, HG_Bulk_free(local));
}

/* One HG class over the NA class, from begin to end. */
static void live(struct api *api, na_class_t *na, unsigned life)
{
    struct hg_init_info info;
    hg_context_t *second = NULL;

    init_info_set(&info, na);
    info.no_bulk_eager = true;
    info.no_overflow = true;
    api->cls = HG_Init_opt2(NULL, HG_FALSE, HG_VERSION(2, 4), &info);
    CHECK(api, api->cls != NULL && HG_Class_is_listening(api->cls));
    api->context = HG_Context_create(api->cls);
    CHECK(api, api->context != NULL);
    second = HG_Context_create_id(api->cls, CONTEXTS - 1);
    CHECK(api, second != NULL);
    OK(api,
        api_world.address(api->cls, (api->rank + 1) % api->size, &api->right));
    addresses_meet(api, na);
    taken(api, na);
    work(api, life);
    OK(api, HG_Addr_free(api->cls, api->right));
    OK(api, HG_Context_destroy(second));
    OK(api, HG_Context_destroy(api->context));
    OK(api, HG_Finalize(api->cls));
}

#if !defined(NA_HAS_DIAG) || !defined(HG_HAS_DIAG)
#error "programs ask for these before they call the two functions below"
#endif

static unsigned lines;

static int count_line(FILE *stream, const char *format, ...)
{
    (void)stream;
    (void)format;
    lines++;
    return 0;
}

/* Only the NA class is open: a line of it by either function. */
static void counters_write(struct api *api)
{
    HG_Set_log_func(count_line);
    NA_Diag_dump_counters();
    CHECK(api, lines == 1);
    HG_Diag_dump_counters();
    CHECK(api, lines == 2);
    HG_Set_log_func(NULL);
}

static void test(struct api *api)
{
    na_class_t *na = na_open(api);
    na_addr_t *self = NULL;

    OK(api, HG_Addr_free(api->cls, api->right));
    OK(api, HG_Context_destroy(api->context));
    OK(api, HG_Finalize(api->cls));
    for (unsigned i = 0; i < LIVES; i++)
        live(api, na, i);
    api->cls = NULL;
    api->context = NULL;
    api->right = HG_ADDR_NULL;
    counters_write(api);
    CHECK(api, NA_Addr_self(na, &self) == NA_SUCCESS);
    CHECK(api, NA_Finalize(na) == NA_BUSY);
    NA_Addr_free(na, self);
    CHECK(api, NA_Finalize(na) == NA_SUCCESS);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
