/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of generated types - numbers, strings, nested structs - arrive as
 * sent, with Mercury's sizes, also beside a hand-written proc. A program may
 * decode the bytes of a message itself: then HG_Free_input() and
 * HG_Free_output() free the struct and drop one of its references. */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "mercury_macros.h"
#include "mercury_proc_string.h"

/* A list of any length, with a hand-written proc. */
struct node {
    struct node *next;
    int32_t value;
};
typedef struct {
    struct node *first;
} list_t;

static hg_return_t list_encode(hg_proc_t proc, const list_t *list)
{
    uint32_t count = 0;
    hg_return_t rc = HG_SUCCESS;

    for (struct node *node = list->first; node != NULL; node = node->next)
        count++;
    rc = hg_proc_uint32_t(proc, &count);
    for (struct node *node = list->first; node != NULL; node = node->next)
        if (rc == HG_SUCCESS)
            rc = hg_proc_int32_t(proc, &node->value);
    return rc;
}

static void list_free(list_t *list)
{
    while (list->first != NULL) {
        struct node *node = list->first;

        list->first = node->next;
        free(node);
    }
}

static hg_return_t list_decode(hg_proc_t proc, list_t *list)
{
    struct node **last = &list->first;
    uint32_t count = 0;
    hg_return_t rc = hg_proc_uint32_t(proc, &count);

    list->first = NULL;
    for (; rc == HG_SUCCESS && count > 0; count--) {
        struct node *node = calloc(1, sizeof(*node));

        if (node == NULL)
            return HG_NOMEM;
        *last = node;
        last = &node->next;
        rc = hg_proc_int32_t(proc, &node->value);
    }
    if (rc != HG_SUCCESS)
        list_free(list);
    return rc;
}

static hg_return_t hg_proc_list_t(hg_proc_t proc, void *data)
{
    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return list_encode(proc, data);
    case HG_DECODE:
        return list_decode(proc, data);
    default:
        list_free(data);
        return HG_SUCCESS;
    }
}

typedef struct {
    int8_t small;
    uint64_t large;
} given_t;

MERCURY_GEN_STRUCT_PROC(given_t, ((int8_t)(small))((uint64_t)(large)))
MERCURY_GEN_PROC(inner_t, ((hg_const_string_t)(name))((given_t)(given)))
MERCURY_GEN_PROC(
    in_t, ((int32_t)(x))((hg_string_t)(text))((inner_t)(inner))((list_t)(list)))
MERCURY_GEN_PROC(out_t, ((hg_string_t)(text))((int64_t)(sum)))

static struct api *the;

static hg_return_t serve(hg_handle_t handle)
{
    in_t in;
    out_t out = {.text = NULL, .sum = 0};

    OK(the, HG_Get_input(handle, &in));
    CHECK(the, strcmp(in.inner.name, "constant") == 0);
    out.sum = in.x + in.inner.given.small + (int64_t)in.inner.given.large;
    for (struct node *node = in.list.first; node != NULL; node = node->next)
        out.sum += node->value;
    out.text = in.text;
    OK(the, HG_Respond(handle, NULL, NULL, &out));
    OK(the, HG_Free_input(handle, &in));
    return HG_Destroy(handle);
}

static void ask(struct api *api, hg_handle_t handle, char *text, unsigned nodes)
{
    struct node list[100];
    in_t in = {-7, text, {"constant", {-3, 1000}}, {NULL}};
    out_t out = {NULL, 0};
    hg_size_t text_len = text == NULL ? 8 : 8 + strlen(text) + 1 + 2;
    int64_t sum = 990;

    for (unsigned i = 0; i < nodes; i++) {
        list[i] = (struct node){in.list.first, (int32_t)i};
        in.list.first = &list[i];
        sum += i;
    }
    OK(api, api_ask(api, handle, &in));
    CHECK(api, HG_Get_input_payload_size(handle) ==
                   4 + text_len + (8 + 9 + 2) + 9 + 4 + 4 * nodes);
    CHECK(api, HG_Get_output_payload_size(handle) == text_len + 8);
    OK(api, HG_Get_output(handle, &out));
    CHECK(api, out.sum == sum);
    CHECK(api, (text == NULL) == (out.text == NULL));
    CHECK(api, text == NULL || strcmp(out.text, text) == 0);
    OK(api, HG_Free_output(handle, &out));
}

static void decode(
    const struct hg_info *info, void *bytes, hg_size_t len, in_t *in)
{
    hg_proc_t proc = HG_PROC_NULL;

    OK(the, hg_proc_create_set(
                info->hg_class, bytes, len, HG_DECODE, HG_NOHASH, &proc));
    OK(the, hg_proc_in_t(proc, in));
    OK(the, hg_proc_free(proc));
}

/* Drops no reference but by HG_Free_input(). */
static hg_return_t serve_by_hand(hg_handle_t handle)
{
    void *bytes = NULL;
    hg_size_t len = 0;
    in_t in;

    OK(the, HG_Get_input_buf(handle, &bytes, &len));
    decode(HG_Get_info(handle), bytes, len, &in);
    OK(the, HG_Respond(handle, NULL, NULL, &in));
    OK(the, HG_Free_input(handle, &in));
    return HG_SUCCESS;
}

static void ask_by_hand(struct api *api, hg_id_t id)
{
    hg_handle_t handle = api_handle(api, id);
    char text[] = "some text";
    void *bytes = NULL;
    hg_size_t len = 0;
    in_t in = {-7, text, {"constant", {-3, 1000}}, {NULL}};
    in_t out;

    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Get_output_buf(handle, &bytes, &len));
    decode(HG_Get_info(handle), bytes, len, &out);
    CHECK(api, strcmp(out.text, text) == 0);
    OK(api, HG_Ref_incr(handle));
    OK(api, HG_Free_output(handle, &out));
    CHECK(api, HG_Ref_get(handle) == 1);
    /* After a HG_Get_output() it is the one that is freed, and no second. */
    OK(api, api_ask(api, handle, &in));
    OK(api, HG_Get_output(handle, &out));
    OK(api, HG_Free_output(handle, &out));
    EXPECT(api, HG_INVALID_ARG, HG_Free_output(handle, &out));
    OK(api, HG_Destroy(handle));
}

static void test(struct api *api)
{
    char some[] = "some text";
    char none[] = "";
    hg_handle_t handle;
    hg_id_t id = MERCURY_REGISTER(api->cls, "args", in_t, out_t, serve);
    hg_id_t by_hand =
        MERCURY_REGISTER(api->cls, "args_by_hand", in_t, in_t, serve_by_hand);

    the = api;
    api_sync(api);
    handle = api_handle(api, id);
    ask(api, handle, some, 3);
    ask(api, handle, none, 0);
    ask(api, handle, NULL, 100);
    OK(api, HG_Destroy(handle));
    ask_by_hand(api, by_hand);
}

int main(int argc, char **argv)
{
    return api_main(argc, argv, &(struct api_wish){0}, test);
}
