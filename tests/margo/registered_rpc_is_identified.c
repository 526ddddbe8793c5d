/* SPDX-License-Identifier: BSD-3-Clause */
/* RPCs are identified by name and provider, keep data, name, pool and the
 * one-way flag; providers tell their type, also to other processes. A handler
 * that takes the place of another one causes a warning. */
#include <string.h>

#include "alone.h"

static unsigned freed;
static unsigned served[2];

static void data_free(void *data)
{
    freed += data == &freed;
}

static void of_one(hg_handle_t handle)
{
    served[0]++;
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(of_one)
DEFINE_MARGO_RPC_HANDLER(of_one)

static void of_two(hg_handle_t handle)
{
    served[1]++;
    CHECK(strcmp(margo_handle_get_name(handle), "same") == 0);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(of_two)
DEFINE_MARGO_RPC_HANDLER(of_two)

/* One name, two providers: each call goes to the provider it names. */
static void providers(void)
{
    hg_id_t one = MARGO_REGISTER_PROVIDER(
        pair.mid, "same", void, void, of_one, 1, ABT_POOL_NULL);
    hg_id_t two = MARGO_REGISTER_PROVIDER(
        pair.mid, "same", void, void, of_two, 2, ABT_POOL_NULL);
    hg_handle_t handle = alone_handle(one);
    hg_bool_t flag = HG_TRUE;
    hg_id_t id = 0;

    CHECK(one != 0 && two != 0 && (one & 0xffffu) == 1);
    CHECK((two & 0xffffu) == 2 && one >> 16 == two >> 16);
    CHECK_RC(margo_provider_forward(1, handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_provider_forward(2, handle, NULL), HG_SUCCESS);
    CHECK(served[0] == 1 && served[1] == 1);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    CHECK_RC(margo_provider_registered_name(pair.mid, "same", 2, &id, &flag),
        HG_SUCCESS);
    CHECK(flag && id == two);
    CHECK_RC(margo_registered_name(pair.mid, "same", &id, &flag), HG_SUCCESS);
    CHECK(!flag);
    CHECK_RC(margo_deregister(pair.mid, two), HG_SUCCESS);
    CHECK_RC(margo_deregister(pair.mid, two), HG_NOENTRY);
    CHECK_RC(margo_provider_registered_name(pair.mid, "same", 2, &id, &flag),
        HG_SUCCESS);
    CHECK(!flag);
    /* Registered again, it serves again. */
    CHECK(margo_register_name(pair.mid, "zero", NULL, NULL, NULL) != 0);
    CHECK_RC(margo_provider_registered_name(pair.mid, "zero", 0, &id, &flag),
        HG_SUCCESS);
    CHECK(flag && (id & 0xffffu) == 0);
}

static void what_is_kept(void)
{
    hg_id_t id = MARGO_REGISTER(pair.mid, "kept", void, void, of_one);
    ABT_pool pool = ABT_POOL_NULL;
    ABT_pool usual = ABT_POOL_NULL;
    int is_one_way = -1;

    CHECK(strcmp(margo_rpc_get_name(pair.mid, id), "kept") == 0);
    CHECK(margo_rpc_get_name(pair.mid, id + 1) == NULL);
    CHECK(margo_registered_data(pair.mid, id) == NULL);
    CHECK_RC(margo_register_data(pair.mid, id, &freed, data_free), HG_SUCCESS);
    CHECK(margo_registered_data(pair.mid, id) == &freed);
    CHECK_RC(
        margo_register_data(pair.mid, id + 1, &freed, NULL), HG_OTHER_ERROR);
    CHECK_RC(margo_register_data(pair.mid, id, &served, NULL), HG_SUCCESS);
    CHECK(freed == 1);
    CHECK_RC(margo_register_data(pair.mid, id, &freed, data_free), HG_SUCCESS);
    CHECK(margo_get_handler_pool(pair.mid, &usual) == 0);
    CHECK_RC(margo_rpc_get_pool(pair.mid, id, &pool), HG_SUCCESS);
    CHECK(pool == usual);
    CHECK_RC(margo_rpc_set_pool(pair.mid, id, ABT_POOL_NULL), HG_SUCCESS);
    CHECK_RC(margo_rpc_get_pool(pair.mid, id + 1, &pool), HG_NOENTRY);
    CHECK_RC(margo_registered_disabled_response(pair.mid, id, &is_one_way),
        HG_SUCCESS);
    CHECK(is_one_way == 0);
    CHECK_RC(margo_registered_disable_response(pair.mid, id, 1), HG_SUCCESS);
    CHECK_RC(margo_registered_disabled_response(pair.mid, id, &is_one_way),
        HG_SUCCESS);
    CHECK(is_one_way == 1);
    CHECK_RC(
        margo_registered_disable_response(pair.mid, id + 1, 1), HG_NOENTRY);
    CHECK_RC(margo_deregister(pair.mid, id), HG_SUCCESS);
    CHECK(freed == 2);
    CHECK(margo_provider_register_name(
              NULL, "kept", NULL, NULL, NULL, 0, ABT_POOL_NULL) == 0);
    CHECK(margo_provider_register_name(
              pair.mid, NULL, NULL, NULL, NULL, 0, ABT_POOL_NULL) == 0);
}

static void identities(void)
{
    char text[8] = "";
    size_t len = sizeof(text);

    CHECK_RC(
        margo_provider_register_identity(pair.mid, 7, "shelf"), HG_SUCCESS);
    CHECK_RC(
        margo_provider_register_identity(pair.mid, 7, "other"), HG_INVALID_ARG);
    CHECK(
        strcmp(margo_provider_registered_identity(pair.mid, 7), "shelf") == 0);
    CHECK(margo_provider_registered_identity(pair.mid, 8) == NULL);
    CHECK_RC(margo_provider_get_identity(pair.mid, pair.self, 7, text, &len),
        HG_SUCCESS);
    CHECK(strcmp(text, "shelf") == 0 && len == 6);
    len = 5;
    CHECK_RC(margo_provider_get_identity(pair.mid, pair.self, 7, text, &len),
        HG_NOMEM);
    CHECK(len == 6);
    CHECK_RC(margo_provider_get_identity(pair.mid, pair.self, 8, text, &len),
        HG_NOENTRY);
    CHECK_RC(margo_provider_deregister_identity(pair.mid, 7), HG_SUCCESS);
    CHECK_RC(margo_provider_deregister_identity(pair.mid, 7), HG_NOENTRY);
}

static unsigned again;

static void listen(void *uargs, const char *line)
{
    (void)uargs;
    again += strstr(line, "is registered again") != NULL;
}

static void replaced(void)
{
    struct margo_logger logger = {
        NULL, listen, listen, listen, listen, listen, listen};

    CHECK(margo_set_logger(pair.mid, &logger) == 0);
    (void)MARGO_REGISTER(pair.mid, "again", void, void, NULL);
    (void)MARGO_REGISTER(pair.mid, "again", void, void, of_one);
    CHECK(again == 0); /* a caller that serves, too */
    (void)MARGO_REGISTER(pair.mid, "again", void, void, of_two);
    CHECK(again == 1);
}

int main(void)
{
    alone_open(NULL, NULL);
    providers();
    what_is_kept();
    identities();
    replaced();
    alone_close();
    return 0;
}
