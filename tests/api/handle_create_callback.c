/* SPDX-License-Identifier: BSD-3-Clause */
/* The callback for new handles runs once for each, at both sides; data that it
 * attaches to a target's handle last for all calls of that handle, and are
 * freed once. Its failure is that of the call. */
#include <stdatomic.h>

#include "api.h"

enum { CALLS = 200 };

/* Data of each handle. */
struct note {
    atomic_uint served;
    atomic_bool is_freed;
};

static struct api *the;
static struct note notes[4 * CALLS];
/* A progress thread may create and serve handles meanwhile. */
static atomic_uint made;
static atomic_uint freed;
static atomic_uint served;
static atomic_bool fails;

static void note_free(void *data)
{
    struct note *note = data;

    CHECK(the, !note->is_freed);
    note->is_freed = true;
    freed++;
}

static hg_return_t greet(hg_handle_t handle, void *arg)
{
    unsigned number = 0;

    CHECK(the, arg == &made);
    CHECK(the, HG_Get_info(handle)->hg_class == the->cls);
    CHECK(the, HG_Get_data(handle) == NULL);
    if (fails)
        return HG_ACCESS;
    number = made++;
    CHECK(the, number < sizeof(notes) / sizeof(notes[0]));
    OK(the, HG_Set_data(handle, &notes[number], note_free));
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    struct note *note = HG_Get_data(handle);

    if (note != NULL) {
        CHECK(the, !note->is_freed);
        note->served++;
    }
    served++;
    OK(the, HG_Respond(handle, NULL, NULL, NULL));
    return HG_Destroy(handle);
}

/* Data of a handle without the callback end with the call. */
static void without(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);

    CHECK(api, HG_Get_data(handle) == NULL);
    OK(api, api_ask(api, handle, NULL));
    OK(api, HG_Destroy(handle));
    CHECK(api, made == 0);
}

static void at_origin(struct api *api, hg_id_t id)
{
    unsigned made_before = made;
    unsigned freed_before = freed;
    hg_handle_t handle = api_handle(api, id);
    void *data = HG_Get_data(handle);

    CHECK(api, data != NULL && made == made_before + 1);
    OK(api, HG_Reset(handle, HG_ADDR_NULL, id));
    CHECK(api, HG_Get_data(handle) == data && freed == freed_before);
    OK(api, HG_Destroy(handle));
    CHECK(api, freed == freed_before + 1);
}

static void failing(struct api *api, hg_handle_t handle)
{
    hg_handle_t none = HG_HANDLE_NULL;
    unsigned before = served;

    fails = true;
    EXPECT(api, HG_ACCESS, HG_Create(api->context, HG_ADDR_NULL, 0, &none));
    CHECK(api, none == HG_HANDLE_NULL);
    api_sync(api);
    /* The target's handles with data still exist. */
    OK(api, api_ask(api, handle, NULL));
    api_sync(api);
    CHECK(api, served == before + 1);
    fails = false;
}

static void test(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "note", NULL, NULL, serve);
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned greeted = 0;
    unsigned sum = 0;

    the = api;
    EXPECT(api, HG_INVALID_ARG,
        HG_Class_set_handle_create_callback(NULL, greet, &made));
    api_sync(api);
    without(api, id);
    api_sync(api);
    OK(api, HG_Class_set_handle_create_callback(api->cls, greet, &made));
    api_sync(api);
    at_origin(api, id);
    greeted = made;
    handle = api_handle(api, id);
    for (int i = 0; i < CALLS; i++)
        OK(api, api_ask(api, handle, NULL));
    api_sync(api);
    /* One call at a time: few handles serve them all, and keep their data. */
    CHECK(api, made - greeted < CALLS / 4);
    for (unsigned i = 0; i < made; i++)
        sum += notes[i].served;
    CHECK(api, sum == CALLS);
    failing(api, handle);
    OK(api, HG_Destroy(handle));
}

int main(int argc, char **argv)
{
    int rc = api_main(argc, argv, &(struct api_wish){0}, test);

    return rc != 0 ? rc : freed != made;
}
