/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong calls to groups are refused with the codes that amalgam_group.h names,
 * and leave handle and class usable; a handle may be used for calls to groups
 * and to one rank by turns. */
#include <stdlib.h>
#include <string.h>

#include "group_calls.h"

static struct ranks all;
static hg_id_t id;
static hg_id_t gone_id;

static hg_return_t ask_serve(hg_handle_t handle)
{
    OK(HG_Respond(handle, NULL, NULL, NULL));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void each(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    (void)handle;
    (void)rank;
    (void)arg;
    OK(ret);
}

static void groups_refused(void)
{
    const int wrong[][2] = {
        {0, 0}, {-1, 0}, {0, all.size}, {all.size + 1, 0}, {1 << 30, 0}};
    amalgam_group_t group = NULL;

    EXPECT(
        HG_INVALID_ARG, amalgam_group_create_ranks(NULL, wrong[0], 1, &group));
    EXPECT(
        HG_INVALID_ARG, amalgam_group_create_ranks(all.cls, NULL, 1, &group));
    EXPECT(
        HG_INVALID_ARG, amalgam_group_create_ranks(all.cls, wrong[0], 1, NULL));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        EXPECT(HG_INVALID_ARG,
            amalgam_group_create_ranks(all.cls, wrong[i], 2, &group));
    CHECK(group == NULL);
    OK(amalgam_group_create_ranks(all.cls, NULL, 0, &group));
    OK(amalgam_group_free(group));
    OK(amalgam_group_free(NULL));
    OK(amalgam_group_free(AMALGAM_GROUP_ALL));
}

static void calls_refused(void)
{
    hg_handle_t handle = group_handle(&all, id);
    hg_handle_t one_way = group_handle(&all, all.note);
    const int *failed = NULL;
    size_t count = 0;

    EXPECT(HG_INVALID_ARG,
        amalgam_forward_group(NULL, AMALGAM_GROUP_ALL, NULL, NULL, NULL));
    EXPECT(
        HG_INVALID_ARG, amalgam_forward_group(handle, NULL, NULL, NULL, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_forward_gather(handle, AMALGAM_GROUP_ALL, 0,
                               NULL, NULL, NULL, NULL));
    EXPECT(HG_OPNOTSUPPORTED,
        amalgam_forward_group(one_way, AMALGAM_GROUP_ALL, NULL, NULL, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_group_failed(NULL, &count, &failed, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_group_failed(handle, &count, &failed, NULL));
    EXPECT(HG_INVALID_ARG, amalgam_register_reduce(NULL, id, NULL, NULL, 0, 0));
    EXPECT(HG_NOENTRY, amalgam_register_reduce(all.cls, 77, NULL, NULL, 0, 0));
    OK(HG_Destroy(handle));
    OK(HG_Destroy(one_way));
}

/* The group of one class, and the handle of another. */
static void other_class_refused(void)
{
    struct ranks other;
    amalgam_group_t group = NULL;
    hg_handle_t handle = group_handle(&all, id);
    int rank = 0;

    ranks_open(&other, MPI_COMM_WORLD);
    OK(amalgam_group_create_ranks(other.cls, &rank, 1, &group));
    EXPECT(
        HG_INVALID_ARG, amalgam_forward_group(handle, group, NULL, NULL, NULL));
    OK(amalgam_group_free(group));
    OK(HG_Destroy(handle));
    ranks_close(&other);
}

static void by_turns(void)
{
    struct ranks_call call = {.ret = HG_SUCCESS};
    hg_addr_t addr = HG_ADDR_NULL;
    const int *failed = NULL;
    size_t count = 1;

    OK(amalgam_addr_rank(all.cls, (all.rank + 1) % all.size, &addr));
    OK(HG_Create(all.context, addr, id, &call.handle));
    for (int i = 0; i < 3; i++) {
        atomic_store(&call.done, 0);
        OK(amalgam_forward_group(
            call.handle, AMALGAM_GROUP_ALL, ranks_done, &call, NULL));
        EXPECT(HG_BUSY, amalgam_forward_group(call.handle, AMALGAM_GROUP_ALL,
                            ranks_done, &call, NULL));
        EXPECT(HG_BUSY, HG_Forward(call.handle, ranks_done, &call, NULL));
        EXPECT(HG_BUSY, HG_Reset(call.handle, addr, id));
        EXPECT(HG_INVALID_ARG,
            amalgam_group_failed(call.handle, &count, &failed, NULL));
        OK(ranks_wait(&call));
        CHECK(group_failed_count(call.handle) == 0);
        OK(HG_Cancel(call.handle)); /* has ended: no effect */
        atomic_store(&call.done, 0);
        OK(HG_Forward(call.handle, ranks_done, &call, NULL));
        EXPECT(HG_BUSY, amalgam_forward_group(call.handle, AMALGAM_GROUP_ALL,
                            ranks_done, &call, NULL));
        OK(ranks_wait(&call));
        EXPECT(HG_INVALID_ARG,
            amalgam_group_failed(call.handle, &count, &failed, NULL));
        atomic_store(&call.done, 0);
        OK(amalgam_forward_gather(
            call.handle, AMALGAM_GROUP_ALL, 0, each, ranks_done, &call, NULL));
        OK(ranks_wait(&call));
        OK(HG_Reset(call.handle, HG_ADDR_NULL, id));
        EXPECT(HG_INVALID_ARG,
            amalgam_group_failed(call.handle, &count, &failed, NULL));
    }
    OK(HG_Addr_free(all.cls, addr));
    ranks_end(&call);
}

/* A handle that is destroyed in flight, and a call without a callback. */
static void destroyed_in_flight(void)
{
    struct ranks_call call;

    group_begin(&all, &call, AMALGAM_GROUP_ALL, id, 0, NULL);
    OK(HG_Destroy(call.handle));
    UNTIL(atomic_load(&call.done) == 1);
    call.handle = group_handle(&all, id);
    OK(amalgam_forward_group(call.handle, AMALGAM_GROUP_ALL, NULL, NULL, NULL));
    ranks_end(&call);
}

/* Without a handler anywhere: each rank refuses. */
static void no_handler(void)
{
    struct ranks_call call;

    group_begin(&all, &call, AMALGAM_GROUP_ALL, gone_id, 0, NULL);
    EXPECT(HG_INVALID_ARG, ranks_wait(&call));
    CHECK(group_failed_count(call.handle) == (size_t)all.size);
    ranks_end(&call);
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    ranks_open(&all, MPI_COMM_WORLD);
    HG_Set_log_level("none");
    id = MERCURY_REGISTER(all.cls, "ask", void, void, ask_serve);
    gone_id = MERCURY_REGISTER(all.cls, "gone", void, void, NULL);
    ranks_meet(MPI_COMM_WORLD);
    groups_refused();
    calls_refused();
    by_turns();
    destroyed_in_flight();
    no_handler();
    ranks_meet(MPI_COMM_WORLD);
    other_class_refused();
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    return ranks_stop();
}
