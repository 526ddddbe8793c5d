/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs are found by name and id, replaced when registered again, and removed by
 * HG_Deregister(); their data are freed by their callback, once. */
#include "api.h"
#include "mercury_hash_string.h"
#include "mercury_macros.h"

enum { BY_ID = 4711 };

MERCURY_GEN_PROC(number_t, ((uint32_t)(value)))

static unsigned freed[3];

static void data_free(void *data)
{
    (*(unsigned *)data)++;
}

static hg_return_t serve(hg_handle_t handle)
{
    return HG_Destroy(handle);
}

static void names(struct api *api)
{
    hg_id_t id = HG_Register_name(api->cls, "hello", NULL, NULL, serve);
    hg_id_t found = 0;
    uint8_t flag = 7;

    CHECK(api, id == 261238937);
    CHECK(api, HG_Register_name(api->cls, "\xff", NULL, NULL, serve) ==
                   hg_hash_string("\xff"));
    OK(api, HG_Registered_name(api->cls, "hello", &found, &flag));
    CHECK(api, found == id && flag == HG_TRUE);
    OK(api, HG_Registered_name(api->cls, "hello", NULL, &flag));
    OK(api, HG_Registered(api->cls, id, &flag));
    CHECK(api, flag == HG_TRUE);
    OK(api, HG_Registered_name(api->cls, "unheard", &found, &flag));
    CHECK(api, flag == HG_FALSE && found != 0);
    OK(api, HG_Registered(api->cls, found, &flag));
    CHECK(api, flag == HG_FALSE);
    CHECK(
        api, HG_Register_name(api->cls, "unheard", NULL, NULL, serve) == found);
    CHECK(api, MERCURY_REGISTER(api->cls, "macro", number_t, void, serve) != 0);
}

static void procs(struct api *api)
{
    hg_proc_cb_t in = NULL;
    hg_proc_cb_t out = hg_proc_number_t;
    uint8_t flag = 7;

    OK(api, HG_Register(api->cls, BY_ID, hg_proc_number_t, NULL, serve));
    OK(api, HG_Registered_proc_cb(api->cls, BY_ID, &flag, &in, &out));
    CHECK(api, flag == HG_TRUE && in == hg_proc_number_t && out == NULL);
    /* Registered again: replaced. */
    OK(api, HG_Register(api->cls, BY_ID, NULL, hg_proc_number_t, serve));
    OK(api, HG_Registered_proc_cb(api->cls, BY_ID, &flag, &in, &out));
    CHECK(api, flag == HG_TRUE && in == NULL && out == hg_proc_number_t);
    OK(api, HG_Registered_proc_cb(api->cls, BY_ID, &flag, NULL, NULL));
    in = hg_proc_number_t;
    OK(api, HG_Registered_proc_cb(api->cls, BY_ID + 1, &flag, &in, &out));
    CHECK(api, flag == HG_FALSE && in == hg_proc_number_t);
}

static void data(struct api *api)
{
    OK(api, HG_Register_data(api->cls, BY_ID, &freed[0], data_free));
    CHECK(api, HG_Registered_data(api->cls, BY_ID) == &freed[0]);
    OK(api, HG_Register_data(api->cls, BY_ID, &freed[1], data_free));
    CHECK(api, freed[0] == 1 && freed[1] == 0);
    CHECK(api, HG_Registered_data(api->cls, BY_ID) == &freed[1]);
    OK(api, HG_Deregister(api->cls, BY_ID));
    CHECK(api, freed[0] == 1 && freed[1] == 1);
    CHECK(api, HG_Registered_data(api->cls, BY_ID) == NULL);
    EXPECT(api, HG_NOENTRY, HG_Deregister(api->cls, BY_ID));
    EXPECT(api, HG_NOENTRY,
        HG_Register_data(api->cls, BY_ID, &freed[1], data_free));
    /* It may be registered anew, and the end of the class frees the rest. */
    OK(api, HG_Register(api->cls, BY_ID, NULL, NULL, serve));
    CHECK(api, HG_Registered_data(api->cls, BY_ID) == NULL);
    OK(api, HG_Register_data(api->cls, BY_ID, &freed[2], data_free));
}

static void one_way(struct api *api)
{
    uint8_t flag = 7;

    OK(api, HG_Registered_disabled_response(api->cls, BY_ID, &flag));
    CHECK(api, flag == HG_FALSE);
    OK(api, HG_Registered_disable_response(api->cls, BY_ID, HG_TRUE));
    OK(api, HG_Registered_disabled_response(api->cls, BY_ID, &flag));
    CHECK(api, flag == HG_TRUE);
    OK(api, HG_Registered_disable_response(api->cls, BY_ID, HG_FALSE));
    OK(api, HG_Registered_disabled_response(api->cls, BY_ID, &flag));
    CHECK(api, flag == HG_FALSE);
}

static void test(struct api *api)
{
    names(api);
    procs(api);
    data(api);
    one_way(api);
}

int main(int argc, char **argv)
{
    int rc = api_main(argc, argv, &(struct api_wish){0}, test);

    return rc != 0 ? rc : freed[2] != 1;
}
