/* SPDX-License-Identifier: BSD-3-Clause */
/* One-way calls without a handle arrive in order, also among other calls of the
 * same peer, and either side may use HG instead; with the argument "sealed" in
 * a class with checksums and a header of the program. */
#include <string.h>

#include "amalgam_oneway.h"
#include "api.h"
#include "mercury_macros.h"
#include "mercury_proc.h"

enum { NOTES = 2000, ROUNDS = 50, FORMS = 4, RAW_LEN = 16, HEADER_LEN = 24 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static struct api *the;
static int left;      /* the rank that handlers see */
static uint32_t next; /* the number of the next call, of any kind */
static hg_id_t note_id;
static uint32_t bounced;
static bool is_sealed;

/* The bytes that the number determines. */
static size_t note_make(uint32_t number, unsigned char *ret_bytes)
{
    size_t len =
        sizeof(number) + number % (AMALGAM_ONEWAY_MAX - sizeof(number) + 1);

    memcpy(ret_bytes, &number, sizeof(number));
    api_fill(ret_bytes + sizeof(number), len - sizeof(number), number, len);
    return len;
}

/* Sends while others wait, too. */
static void post(struct api *api, hg_id_t id, const void *bytes, size_t len)
{
    hg_return_t ret = HG_AGAIN;

    api_wait_begin(api);
    while ((ret = amalgam_forward_oneway(
                api->context, api->right, id, bytes, len)) == HG_AGAIN)
        api_wait_turn(api, __FILE__, __LINE__, "a credit");
    OK(api, ret);
}

static void note_post(struct api *api, hg_id_t id, uint32_t number)
{
    unsigned char bytes[AMALGAM_ONEWAY_MAX];

    post(api, id, bytes, note_make(number, bytes));
}

static void note_check(const void *arg, size_t len)
{
    unsigned char bytes[AMALGAM_ONEWAY_MAX];

    CHECK(the, len == note_make(next, bytes));
    CHECK(the, memcmp(arg, bytes, len) == 0);
    next++;
}

static void note_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    CHECK(the, hg_class == the->cls);
    CHECK(the, from_rank == left);
    CHECK(the, is_sealed || (uintptr_t)arg % 8 == 0);
    note_check(arg, len);
}

static void empty_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    (void)arg;
    CHECK(the, from_rank == left && len == 0);
    next++;
}

/* Sends a call itself. */
static void bounce_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    CHECK(the, from_rank == left && len == sizeof(bounced));
    memcpy(&bounced, arg, len);
    note_post(the, note_id, bounced);
}

static hg_return_t number_take(hg_handle_t handle)
{
    number_t in;

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, in.value == next);
    OK(the, HG_Free_input(handle, &in));
    next++;
    return HG_Destroy(handle);
}

static hg_return_t number_serve(hg_handle_t handle)
{
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return number_take(handle);
}

/* By HG, what a call without a handle has sent, and the other way round. */
static hg_return_t raw_code(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, RAW_LEN);
}

static hg_return_t raw_take(hg_handle_t handle)
{
    unsigned char bytes[RAW_LEN];

    OK(the, HG_Get_input(handle, bytes));
    CHECK(the, api_is_filled(bytes, RAW_LEN, 5, 0));
    OK(the, HG_Free_input(handle, bytes));
    next++;
    return HG_Destroy(handle);
}

static void raw_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    CHECK(the, from_rank == left && len == RAW_LEN);
    CHECK(the, api_is_filled(arg, RAW_LEN, 5, 0));
    next++;
}

static hg_id_t raw_register_hg(struct api *api, const char *name)
{
    hg_id_t id = HG_Register_name(api->cls, name, raw_code, NULL, raw_take);

    OK(api, HG_Registered_disable_response(api->cls, id, HG_TRUE));
    return id;
}

/* Of two neighbours one registers the name by HG, and one without handles. */
static void mixed_sides(struct api *api)
{
    bool is_odd = api->rank % 2 != 0;
    const char *mine = is_odd ? "of odd" : "of even";
    const char *theirs = is_odd ? "of even" : "of odd";
    hg_id_t without = amalgam_register_oneway(api->cls, mine, raw_serve);
    hg_id_t by_hg = raw_register_hg(api, theirs);
    unsigned char bytes[RAW_LEN];
    hg_handle_t handle = api_handle(api, by_hg);

    api_fill(bytes, RAW_LEN, 5, 0);
    next = 0;
    api_sync(api);
    post(api, without, bytes, RAW_LEN);
    post(api, by_hg, bytes, RAW_LEN);
    if (!api->is_alone)
        OK(api, api_ask(api, handle, bytes));
    UNTIL(api, next == (api->is_alone ? 2 : 3));
    api_sync(api);
    OK(api, HG_Destroy(handle));
}

static void stream(struct api *api)
{
    next = 0;
    api_sync(api);
    for (uint32_t i = 0; i < NOTES; i++)
        note_post(api, note_id, i);
    UNTIL(api, next == NOTES);
    api_sync(api);
}

/* Calls of all kinds to one peer are handled in the order of sending. */
static void in_order(struct api *api)
{
    hg_id_t one_way =
        MERCURY_REGISTER(api->cls, "one way", number_t, void, number_take);
    hg_id_t two_way =
        MERCURY_REGISTER(api->cls, "two way", number_t, void, number_serve);
    hg_handle_t handles[2];

    OK(api, HG_Registered_disable_response(api->cls, one_way, HG_TRUE));
    handles[0] = api_handle(api, one_way);
    handles[1] = api_handle(api, two_way);
    next = 0;
    api_sync(api);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct api_call calls[2];
        uint32_t number = i * FORMS;

        note_post(api, note_id, number);
        api_forward(api, handles[0], &(number_t){number + 1}, &calls[0]);
        note_post(api, note_id, number + 2);
        api_forward(api, handles[1], &(number_t){number + 3}, &calls[1]);
        OK(api, api_wait(api, &calls[0]));
        OK(api, api_wait(api, &calls[1]));
    }
    UNTIL(api, next == ROUNDS * FORMS);
    api_sync(api);
    OK(api, HG_Destroy(handles[0]));
    OK(api, HG_Destroy(handles[1]));
}

static void from_a_handler(struct api *api)
{
    hg_id_t bounce = amalgam_register_oneway(api->cls, "bounce", bounce_serve);
    hg_id_t empty = amalgam_register_oneway(api->cls, "empty", empty_serve);
    uint32_t number = 0;

    next = 0;
    api_sync(api);
    post(api, bounce, &number, sizeof(number));
    UNTIL(api, next == 1);
    api_sync(api);
    post(api, empty, NULL, 0);
    UNTIL(api, next == 2);
    api_sync(api);
}

static void test(struct api *api)
{
    bool has_ranks = strncmp(api->transport, "mpi", 3) == 0 ||
                     strcmp(api->transport, "auto") == 0;

    the = api;
    left = has_ranks ? (api->rank + api->size - 1) % api->size : -1;
    if (is_sealed)
        OK(api, HG_Class_set_input_offset(api->cls, HEADER_LEN));
    note_id = amalgam_register_oneway(api->cls, "note", note_serve);
    CHECK(api, note_id != 0);
    stream(api);
    in_order(api);
    mixed_sides(api);
    from_a_handler(api);
}

static void checksums_set(int rank, struct hg_init_info *info)
{
    (void)rank;
    info->checksum_level = HG_CHECKSUM_RPC_PAYLOAD;
}

int main(int argc, char **argv)
{
    struct api_wish wish = {0};

    is_sealed = argc > 2 && strcmp(argv[2], "sealed") == 0;
    if (is_sealed)
        wish.tune = checksums_set;
    return api_main(argc, argv, &wish, test);
}
