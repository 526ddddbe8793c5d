/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of Margo to groups: each rank of the group runs the handler once, and
 * the outputs are folded as the program's structs, by functions and by
 * operations of MPI. A rank whose handler gives an error, or no answer, is
 * named, and the output is that of the others; so is a rank that has no such
 * RPC, and one that is late. Handlers call groups, too. A handle serves calls
 * to groups and to single ranks in turns. */
#include "margo_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "amalgam_group_margo.h"
#include "amalgam_thallium.h"
#include "group_calls.h"
#include "mercury_proc_string.h"

enum { CALLS = 40, AT_ONCE = 8, TEXT_MAX = 16 * GROUP_RANKS_MAX };

static double max_of(double one, double other)
{
    return one > other ? one : other;
}

static hg_return_t hg_proc_double(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, sizeof(double));
}

MERCURY_GEN_PROC(ask_t, ((int32_t)(odd_one))((uint32_t)(number)))
MERCURY_GEN_PROC(sum_t, ((uint64_t)(value))((double)(largest)))
MERCURY_GEN_PROC(text_t, ((hg_string_t)(text)))

/* How the odd one fails. */
enum { BY_ERROR = 0, BY_SILENCE = 1 };

static struct mranks all;
static hg_class_t *cls;
static hg_id_t sum_id;
static hg_id_t text_id;
static hg_id_t double_id;
static hg_id_t bare_id;
static hg_id_t nest_id;
static hg_id_t stuck_id;
static hg_id_t rare_id;
static ABT_eventual stuck;
static atomic_uint bare_runs;

static hg_handle_t handle_of(hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(margo_create(all.mid, all.addrs[all.rank], id, &handle));
    return handle;
}

static uint64_t value_of(int rank, uint32_t number)
{
    return (uint64_t)rank * 1000 + number;
}

/* The odd one answers no output. False: this rank does so. */
static bool answers(hg_handle_t handle, const ask_t *in)
{
    if (in->odd_one != all.rank)
        return true;
    if (in->number % 2 == BY_ERROR)
        amalgam_margo_answer_error(handle, HG_PERMISSION, "odd");
    return false;
}

static void ask_serve(hg_handle_t handle)
{
    hg_id_t id = margo_get_info(handle)->id;
    char bytes[16];
    text_t text = {bytes};
    sum_t sum;
    ask_t in;
    double number = 0;

    OK(margo_get_input(handle, &in));
    OK(margo_free_input(handle, &in));
    sum = (sum_t){value_of(all.rank, in.number), -all.rank};
    sprintf(bytes, "%d.", all.rank);
    number = 1.0 / (1 + all.rank);
    if (answers(handle, &in))
        OK(margo_respond(handle, id == sum_id    ? (void *)&sum
                                 : id == text_id ? (void *)&text
                                                 : (void *)&number));
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(ask_serve)

static void bare_serve(hg_handle_t handle)
{
    atomic_fetch_add(&bare_runs, 1);
    OK(margo_respond(handle, NULL));
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(bare_serve)

static void stuck_serve(hg_handle_t handle)
{
    ask_t in;

    OK(margo_get_input(handle, &in));
    if (in.odd_one == all.rank)
        CHECK(ABT_eventual_wait(stuck, NULL) == ABT_SUCCESS);
    OK(margo_free_input(handle, &in));
    OK(margo_respond(handle, NULL));
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(stuck_serve)

static void sum_fold(const void *from_out, void *inout_out, void *arg)
{
    const sum_t *from = from_out;
    sum_t *inout = inout_out;

    CHECK(arg == &all);
    inout->value += from->value;
    inout->largest = max_of(inout->largest, from->largest);
}

static void text_fold(const void *from_out, void *inout_out, void *arg)
{
    const text_t *from = from_out;
    text_t *inout = inout_out;
    char *joined = malloc(strlen(from->text) + strlen(inout->text) + 1);

    CHECK(joined != NULL && arg == NULL);
    strcpy(joined, from->text);
    strcat(joined, inout->text);
    free((char *)(uintptr_t)inout->text);
    inout->text = joined;
}

/* Checks the output of a group without its odd one. */
static void output_check(hg_handle_t handle, const struct group_draw *draw,
    const ask_t *in, hg_id_t id)
{
    char wanted_text[TEXT_MAX] = "";
    sum_t wanted = {0, -GROUP_RANKS_MAX};
    text_t text;
    double number = 0;
    sum_t sum;

    for (int rank = 0; rank < all.size; rank++)
        if (rank != in->odd_one && group_draw_has(draw, rank)) {
            wanted.value += value_of(rank, in->number);
            wanted.largest = max_of(wanted.largest, -rank);
            number = max_of(number, 1.0 / (1 + rank));
            sprintf(wanted_text + strlen(wanted_text), "%d.", rank);
        }
    if (id == sum_id) {
        OK(margo_get_output(handle, &sum));
        CHECK(sum.value == wanted.value && sum.largest == wanted.largest);
        OK(margo_free_output(handle, &sum));
    } else if (id == text_id) {
        OK(margo_get_output(handle, &text));
        CHECK(strcmp(text.text, wanted_text) == 0);
        OK(margo_free_output(handle, &text));
    } else {
        double got = 0;

        OK(margo_get_output(handle, &got));
        CHECK(got == number);
        OK(margo_free_output(handle, &got));
    }
}

static void call_check(uint32_t number)
{
    const hg_id_t ids[] = {sum_id, text_id, double_id};
    hg_id_t id = ids[number % 3];
    hg_handle_t handle = handle_of(id);
    ask_t in = {-1, number};
    hg_return_t wanted = HG_SUCCESS;
    amalgam_group_t group = NULL;
    struct group_draw draw;
    sum_t sum;

    group_draw(&draw, all.size, number * 91 + (unsigned)all.rank);
    OK(amalgam_group_create_ranks(cls, draw.ranks, draw.count, &group));
    if (draw.count > 0 && number % 4 < 2) {
        in.odd_one = draw.ranks[number % draw.count];
        wanted = number % 2 == BY_ERROR ? HG_PERMISSION : HG_CANCELED;
    }
    EXPECT(wanted, margo_forward_group(group, handle, &in));
    CHECK(group_failed_count(handle) == (wanted != HG_SUCCESS));
    if (wanted != HG_SUCCESS)
        EXPECT(wanted, group_code_of(handle, in.odd_one));
    if (draw.count > (wanted != HG_SUCCESS))
        output_check(handle, &draw, &in, id);
    else
        EXPECT(HG_FAULT, margo_get_output(handle, &sum));
    OK(amalgam_group_free(group));

    /* The same handle calls its rank alone. */
    in.odd_one = number % 3 == 1 ? all.rank : -1;
    wanted = in.odd_one < 0           ? HG_SUCCESS
             : number % 2 == BY_ERROR ? HG_PERMISSION
                                      : HG_CANCELED;
    EXPECT(wanted, margo_forward(handle, &in));
    OK(margo_destroy(handle));
}

/* A call to all, from a handler. */
static void nest_serve(hg_handle_t handle)
{
    hg_handle_t inner = handle_of(sum_id);
    ask_t in = {-1, 0};
    double number = 0;
    sum_t sum;

    OK(margo_forward_group(AMALGAM_GROUP_ALL, inner, &in));
    OK(margo_get_output(inner, &sum));
    number = (double)sum.value;
    OK(margo_free_output(inner, &sum));
    OK(margo_destroy(inner));
    OK(margo_respond(handle, &number));
    OK(margo_destroy(handle));
}
DEFINE_MARGO_RPC_HANDLER(nest_serve)

static void told(hg_handle_t handle, int rank, hg_return_t ret, void *arg)
{
    unsigned *runs = arg;
    sum_t sum;

    CHECK(rank < all.size && runs[rank]++ == 0);
    if (rank == all.size - 1) {
        EXPECT(HG_PERMISSION, ret);
        return;
    }
    OK(ret);
    OK(margo_get_output(handle, &sum));
    CHECK(sum.value == value_of(rank, 8));
    OK(margo_free_output(handle, &sum));
}

static void gather_check(void)
{
    unsigned runs[GROUP_RANKS_MAX] = {0};
    hg_handle_t handle = handle_of(sum_id);
    ask_t in = {all.size - 1, 8};

    EXPECT(HG_PERMISSION,
        margo_forward_gather(AMALGAM_GROUP_ALL, handle, &in, 0, told, runs));
    for (int rank = 0; rank < all.size; rank++)
        CHECK(runs[rank] == 1);
    OK(margo_destroy(handle));
}

static void at_once_check(void)
{
    margo_request reqs[AT_ONCE];
    hg_handle_t handles[AT_ONCE];
    struct group_draw draw = {.count = 0};
    ask_t in = {-1, 0};

    for (; draw.count < (size_t)all.size; draw.count++)
        draw.ranks[draw.count] = (int)draw.count;
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        in.number = i;
        handles[i] = handle_of(i % 2 == 0 ? sum_id : text_id);
        OK(margo_iforward_group_timed(
            AMALGAM_GROUP_ALL, handles[i], &in, 40000.0, &reqs[i]));
        EXPECT(
            HG_BUSY, margo_forward_group(AMALGAM_GROUP_ALL, handles[i], &in));
    }
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        in.number = i;
        OK(margo_wait(reqs[i]));
        output_check(handles[i], &draw, &in, i % 2 == 0 ? sum_id : text_id);
        OK(margo_destroy(handles[i]));
    }
}

/* The last rank does not answer in time. */
static void late_check(void)
{
    hg_handle_t handle = handle_of(stuck_id);
    ask_t in = {all.size - 1, 0};

    EXPECT(HG_TIMEOUT,
        margo_forward_group_timed(AMALGAM_GROUP_ALL, handle, &in, 200.5));
    CHECK(group_failed_count(handle) >= 1);
    EXPECT(HG_TIMEOUT, group_code_of(handle, in.odd_one));
    OK(margo_destroy(handle));
}

static void others_check(void)
{
    hg_handle_t handle = handle_of(bare_id);
    double number = 0;
    double wanted = 0;

    OK(margo_forward_group(AMALGAM_GROUP_ALL, handle, NULL));
    EXPECT(HG_NO_MATCH, margo_get_output(handle, &number));
    EXPECT(HG_INVALID_ARG, margo_forward_group(NULL, handle, NULL));
    EXPECT(HG_INVALID_ARG,
        margo_forward_group_timed(AMALGAM_GROUP_ALL, handle, NULL, -1));
    EXPECT(HG_INVALID_ARG,
        margo_forward_group(AMALGAM_GROUP_ALL, HG_HANDLE_NULL, NULL));
    EXPECT(HG_INVALID_ARG,
        margo_forward_gather(AMALGAM_GROUP_ALL, handle, NULL, 0, NULL, NULL));
    EXPECT(
        HG_NO_MATCH, margo_forward_group(AMALGAM_GROUP_ALL, handle, &number));
    OK(margo_destroy(handle));

    handle = handle_of(nest_id);
    OK(margo_forward_group(AMALGAM_GROUP_ALL, handle, NULL));
    OK(margo_get_output(handle, &number));
    for (int rank = 0; rank < all.size; rank++)
        wanted += (double)(value_of(rank, 0) * (uint64_t)all.size);
    CHECK(number == wanted);
    OK(margo_free_output(handle, &number));
    OK(margo_destroy(handle));

    handle = handle_of(rare_id);
    EXPECT(all.size > 1 ? HG_NOENTRY : HG_SUCCESS,
        margo_forward_group(AMALGAM_GROUP_ALL, handle, NULL));
    CHECK(group_failed_count(handle) == (size_t)(all.size - 1));
    OK(margo_destroy(handle));
}

static void rpcs_register(void)
{
    margo_instance_id mid = all.mid;

    sum_id = MARGO_REGISTER(mid, "group_sum", ask_t, sum_t, ask_serve);
    text_id = MARGO_REGISTER(mid, "group_text", ask_t, text_t, ask_serve);
    double_id = MARGO_REGISTER(mid, "group_double", ask_t, double, ask_serve);
    bare_id = MARGO_REGISTER(mid, "group_bare", void, void, bare_serve);
    nest_id = MARGO_REGISTER(mid, "group_nest", void, double, nest_serve);
    stuck_id = MARGO_REGISTER(mid, "group_stuck", ask_t, void, stuck_serve);
    if (all.rank == 0) {
        rare_id = MARGO_REGISTER(mid, "group_rare", void, void, bare_serve);
    } else {
        rare_id = MARGO_REGISTER(mid, "group_rare", void, void, NULL);
    }
    OK(margo_register_reduce(mid, sum_id, sum_fold, &all, sizeof(sum_t), 0));
    OK(margo_register_reduce(
        mid, text_id, text_fold, NULL, sizeof(text_t), AMALGAM_REDUCE_ORDERED));
    OK(amalgam_register_reduce_op(cls, double_id, MPI_MAX, MPI_DOUBLE, 1));
    OK(amalgam_register_reduce_op(cls, nest_id, MPI_SUM, MPI_DOUBLE, 1));
    EXPECT(HG_NOENTRY,
        margo_register_reduce(mid, 4711, sum_fold, &all, sizeof(sum_t), 0));
    EXPECT(HG_INVALID_ARG, margo_register_reduce(MARGO_INSTANCE_NULL, sum_id,
                               sum_fold, &all, sizeof(sum_t), 0));
}

/* Waits until all ranks are here, and serves them. */
static void meet(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = 0;

    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!flag) {
        margo_thread_sleep(all.mid, 1.0);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
}

int main(void)
{
    ranks_start(MPI_THREAD_MULTIPLE);
    HG_Set_log_level("none"); /* failures are logged */
    mranks_open(&all, NULL);
    OK(margo_set_log_level(all.mid, MARGO_LOG_CRITICAL) == 0 ? HG_SUCCESS
                                                             : HG_FAULT);
    cls = margo_get_class(all.mid);
    CHECK(ABT_eventual_create(0, &stuck) == ABT_SUCCESS);
    rpcs_register();
    meet();
    for (uint32_t number = 0; number < CALLS; number++)
        call_check(number);
    gather_check();
    at_once_check();
    others_check();
    late_check();
    meet();
    CHECK(atomic_load(&bare_runs) ==
          (unsigned)(all.rank == 0 ? 2 * all.size : all.size));
    CHECK(ABT_eventual_set(stuck, NULL, 0) == ABT_SUCCESS);
    mranks_close(&all);
    return ranks_stop();
}
