/* SPDX-License-Identifier: BSD-3-Clause */
/* A class calls and answers in every progress mode and wait policy, and
 * handlers run in the threads they should. */
#include <pthread.h>
#include <stdatomic.h>

#include "amalgam_oneway.h"
#include "api.h"
#include "mercury_macros.h"

enum { CALLS = 40 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static const struct api_mode mode_rows[] = {
    {AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_AUTO},
    {AMALGAM_PROGRESS_ASSIST, AMALGAM_WAIT_AUTO},
    {AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_AUTO},
    {AMALGAM_PROGRESS_THREAD, AMALGAM_WAIT_SLEEP},
    {AMALGAM_PROGRESS_CALLER, AMALGAM_WAIT_SLEEP},
    {AMALGAM_PROGRESS_ASSIST, AMALGAM_WAIT_SLEEP},
    {AMALGAM_PROGRESS_AUTO, AMALGAM_WAIT_AUTO},
};

static struct api *the;
static const struct api_mode *now;
static pthread_t program;
static atomic_uint served;
static atomic_uint noted;
static atomic_uint misplaced;

/* In modes caller and assist, the program runs all handlers. */
static void place_check(void)
{
    bool is_program = pthread_equal(pthread_self(), program) != 0;
    bool is_free = now->progress == AMALGAM_PROGRESS_THREAD ||
                   now->progress == AMALGAM_PROGRESS_AUTO;

    if (!is_program && !is_free)
        atomic_fetch_add(&misplaced, 1);
}

static hg_return_t serve(hg_handle_t handle)
{
    number_t number;

    place_check();
    OK(the, HG_Get_input(handle, &number));
    OK(the, HG_Free_input(handle, &number));
    number.value++;
    atomic_fetch_add(&served, 1); /* before its origin can count on it */
    OK(the, HG_Respond(handle, NULL, NULL, &number));
    return HG_Destroy(handle);
}

static void note(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    (void)from_rank;
    (void)arg;
    (void)len;
    place_check();
    atomic_fetch_add(&noted, 1);
}

/* Calls without a handle; `count` came here, also in earlier modes. */
static void notes_make(struct api *api, hg_id_t id, unsigned count)
{
    for (unsigned i = 0; i < CALLS; i++) {
        hg_return_t ret = HG_AGAIN;

        api_wait_begin(api);
        while ((ret = amalgam_forward_oneway(
                    api->context, api->right, id, NULL, 0)) == HG_AGAIN)
            api_wait_turn(api, __FILE__, __LINE__, "a credit");
        OK(api, ret);
    }
    UNTIL(api, atomic_load(&noted) == count);
}

static void calls_make(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);

    for (uint32_t i = 0; i < CALLS; i++) {
        number_t number = {i};

        OK(api, api_ask(api, handle, &number));
        OK(api, HG_Get_output(handle, &number));
        CHECK(api, number.value == i + 1);
        OK(api, HG_Free_output(handle, &number));
    }
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    hg_id_t id = MERCURY_REGISTER(api->cls, "next", number_t, number_t, serve);
    hg_id_t note_id = amalgam_register_oneway(api->cls, "note", note);

    the = api;
    now = &mode_rows[0];
    program = pthread_self();
    for (unsigned i = 0; i < sizeof(mode_rows) / sizeof(mode_rows[0]); i++) {
        /* No rank calls one that is between two contexts. */
        api_sync(api);
        now = &mode_rows[i];
        api_set_mode(api, now);
        api_sync(api);
        calls_make(api, id);
        notes_make(api, note_id, (i + 1) * CALLS);
        api_sync(api);
        CHECK(api, atomic_load(&served) == (i + 1) * CALLS);
        CHECK(api, atomic_load(&misplaced) == 0);
    }
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
