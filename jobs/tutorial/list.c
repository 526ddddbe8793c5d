/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends a linked list, by a hand-written proc.
 *
 * MERCURY_GEN_PROC knows fields of known types. For a type of its own, say T, a
 * program defines the function hg_proc_T(); the macros use it by that name, so
 * T may be a field like others. The function has three tasks: to encode the
 * bytes, to decode them, and to free what decoding has allocated.
 *
 * Received bytes may be wrong. So decoding trusts no length before it has
 * checked that so many bytes are there, and frees its memory when it fails: the
 * proc is not called again to free it.
 *
 * Rank 0 serves, all other ranks are clients. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "mercury_macros.h"

/* One name for "a list": a pointer to its first node, NULL when empty. */
typedef struct node {
    int32_t value;
    struct node *next;
} * int_list_t;

static void list_free(int_list_t *list)
{
    while (*list != NULL) {
        struct node *next = (*list)->next;

        free(*list);
        *list = next;
    }
}

/* Inserts a value at the front. */
static hg_return_t list_add(int_list_t *list, int32_t value)
{
    struct node *node = malloc(sizeof(*node));

    if (node == NULL)
        return HG_NOMEM;
    node->value = value;
    node->next = *list;
    *list = node;
    return HG_SUCCESS;
}

static void list_reverse(int_list_t *list)
{
    struct node *reversed = NULL;

    while (*list != NULL) {
        struct node *node = *list;

        *list = node->next;
        node->next = reversed;
        reversed = node;
    }
    *list = reversed;
}

/* 8 bytes for the length, then 4 for each value. */
static hg_return_t list_encode(hg_proc_t proc, int_list_t list)
{
    uint64_t length = 0;
    hg_return_t ret = HG_SUCCESS;

    for (const struct node *node = list; node != NULL; node = node->next)
        length++;
    ret = hg_proc_uint64_t(proc, &length);
    for (struct node *n = list; n != NULL && ret == HG_SUCCESS; n = n->next)
        ret = hg_proc_int32_t(proc, &n->value);
    return ret;
}

static hg_return_t list_decode(hg_proc_t proc, int_list_t *ret_list)
{
    int_list_t list = NULL;
    uint64_t length = 0;
    hg_return_t ret = hg_proc_uint64_t(proc, &length);

    if (ret != HG_SUCCESS)
        return ret;
    /* The division cannot overflow, as a product of a false length would. */
    if (length > hg_proc_get_size_left(proc) / sizeof(int32_t))
        return HG_OVERFLOW;
    for (uint64_t i = 0; i < length; i++) {
        int32_t value = 0;

        ret = hg_proc_int32_t(proc, &value);
        if (ret == HG_SUCCESS)
            ret = list_add(&list, value);
        if (ret != HG_SUCCESS) {
            list_free(&list);
            return ret;
        }
    }
    list_reverse(&list); /* each was inserted in front of the others */
    *ret_list = list;
    return HG_SUCCESS;
}

static hg_return_t hg_proc_int_list_t(hg_proc_t proc, void *data)
{
    int_list_t *list = data;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return list_encode(proc, *list);
    case HG_DECODE:
        return list_decode(proc, list);
    case HG_FREE:
        list_free(list);
        return HG_SUCCESS;
    }
    return HG_INVALID_ARG;
}

MERCURY_GEN_PROC(reverse_in_t, ((int_list_t)(list)))
MERCURY_GEN_PROC(reverse_out_t, ((int_list_t)(list))((int64_t)(sum)))

/* Runs at rank 0. */
static hg_return_t reverse(hg_handle_t handle)
{
    reverse_in_t in;
    reverse_out_t out = {NULL, 0};

    job_check(HG_Get_input(handle, &in), "HG_Get_input");
    for (const struct node *node = in.list; node != NULL; node = node->next)
        out.sum += node->value;
    list_reverse(&in.list);
    out.list = in.list; /* shared: the reply is encoded at once */
    job_check(HG_Respond(handle, NULL, NULL, &out), "HG_Respond");
    job_check(HG_Free_input(handle, &in), "HG_Free_input");
    job_check(HG_Destroy(handle), "HG_Destroy");
    return HG_SUCCESS;
}

/* Sends 1, 2, ... `length`. If this does not fit into one message, the library
 * moves the bytes in another way, transparently. */
static void call_server(const struct job *job, hg_id_t id, int32_t length)
{
    hg_handle_t handle = job_create_call(job, id);
    reverse_in_t in = {NULL};
    reverse_out_t out;
    int32_t expected = length;

    for (int32_t value = length; value >= 1; value--)
        job_check(list_add(&in.list, value), "list_add");
    job_forward(job, handle, &in);
    list_free(&in.list);

    job_check(HG_Get_output(handle, &out), "HG_Get_output");
    for (const struct node *node = out.list; node != NULL; node = node->next)
        if (node->value != expected--)
            job_fail("%d where %d was expected", node->value, expected + 1);
    if (expected != 0)
        job_fail("the answer ends before %d", expected);
    printf("rank %d: %d numbers came back reversed, their sum is %lld\n",
        job->rank, length, (long long)out.sum);
    job_check(HG_Free_output(handle, &out), "HG_Free_output");
    job_check(HG_Destroy(handle), "HG_Destroy");
}

/* Decodes a message that claims 2^61 numbers and has one. */
static void read_lie(const struct job *job)
{
    const uint64_t length = UINT64_C(1) << 61;
    char bytes[12] = {0};
    hg_proc_t proc = HG_PROC_NULL;
    int_list_t list = NULL;

    memcpy(bytes, &length, sizeof(length));
    job_check(hg_proc_create_set(job->hg_class, bytes, sizeof(bytes), HG_DECODE,
                  HG_NOHASH, &proc),
        "hg_proc_create_set");
    printf("rank %d: a false length gives %s and %s\n", job->rank,
        HG_Error_to_string(hg_proc_int_list_t(proc, &list)),
        list == NULL ? "no list" : "a list");
    job_check(hg_proc_free(proc), "hg_proc_free");
}

int main(int argc, char **argv)
{
    struct job job;
    hg_id_t id = 0;

    job_open(&argc, &argv, 0, &job);
    id = MERCURY_REGISTER(
        job.hg_class, "reverse", reverse_in_t, reverse_out_t, reverse);
    if (id == 0)
        job_fail("MERCURY_REGISTER: the lines above say why");
    job_begin(&job);
    if (job.rank == SERVER) {
        read_lie(&job);
    } else {
        call_server(&job, id, 0);
        call_server(&job, id, job.rank);
        call_server(&job, id, 10000);
    }
    job_close(&job);
    return 0;
}
