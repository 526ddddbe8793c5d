/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the tests of Margo between ranks. */
#include "margo_ranks.h"

#include <stdlib.h>

static const double patience_ms = 40000.0;

MERCURY_GEN_PROC(mranks_number_t, ((uint64_t)(value)))
MERCURY_GEN_PROC(mranks_swap_t, ((hg_bulk_t)(memory))((uint64_t)(len)))

static struct mranks *mranks_of(hg_handle_t handle)
{
    return margo_registered_data(
        margo_hg_handle_get_instance(handle), margo_get_info(handle)->id);
}

static void handler_end(hg_handle_t handle, void *out)
{
    struct mranks *mranks = mranks_of(handle);

    atomic_fetch_add(&mranks->served, 1);
    OK(margo_respond(handle, out));
    OK(margo_destroy(handle));
}

static void mranks_echo_serve(hg_handle_t handle)
{
    mranks_number_t number;

    OK(margo_get_input(handle, &number));
    OK(margo_free_input(handle, &number));
    number.value++;
    handler_end(handle, &number);
}
DEFINE_MARGO_RPC_HANDLER(mranks_echo_serve)

/* Calls, and checks the reply. */
static uint64_t number_call(
    struct mranks *mranks, int rank, hg_id_t id, uint64_t value)
{
    mranks_number_t number = {value};
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(margo_create(mranks->mid, mranks->addrs[rank], id, &handle));
    OK(margo_forward_timed(handle, &number, patience_ms));
    OK(margo_get_output(handle, &number));
    value = number.value;
    OK(margo_free_output(handle, &number));
    OK(margo_destroy(handle));
    return value;
}

static void mranks_relay_serve(hg_handle_t handle)
{
    struct mranks *mranks = mranks_of(handle);
    mranks_number_t number;
    uint64_t hops = 0;

    OK(margo_get_input(handle, &number));
    hops = number.value;
    OK(margo_free_input(handle, &number));
    number.value = 0;
    if (hops > 0)
        number.value =
            1 + number_call(mranks, (mranks->rank + 1) % mranks->size,
                    mranks->relay_id, hops - 1);
    handler_end(handle, &number);
}
DEFINE_MARGO_RPC_HANDLER(mranks_relay_serve)

static hg_bulk_t bytes_expose(struct mranks *mranks, void *bytes, size_t len)
{
    hg_size_t size = len;
    hg_bulk_t bulk = HG_BULK_NULL;

    OK(margo_bulk_create(
        mranks->mid, 1, &bytes, &size, HG_BULK_READWRITE, &bulk));
    return bulk;
}

static void mranks_swap_serve(hg_handle_t handle)
{
    struct mranks *mranks = mranks_of(handle);
    hg_addr_t from = margo_get_info(handle)->addr;
    mranks_swap_t in;
    unsigned char *bytes = NULL;
    hg_bulk_t here = HG_BULK_NULL;

    OK(margo_get_input(handle, &in));
    bytes = malloc(in.len);
    CHECK(bytes != NULL);
    here = bytes_expose(mranks, bytes, in.len);
    OK(margo_bulk_transfer(
        mranks->mid, HG_BULK_PULL, from, in.memory, 0, here, 0, in.len));
    for (size_t i = 0; i < in.len; i++)
        bytes[i] = (unsigned char)~bytes[i];
    OK(margo_bulk_transfer(
        mranks->mid, HG_BULK_PUSH, from, in.memory, 0, here, 0, in.len));
    OK(margo_bulk_free(here));
    free(bytes);
    OK(margo_free_input(handle, &in));
    handler_end(handle, NULL);
}
DEFINE_MARGO_RPC_HANDLER(mranks_swap_serve)

static void rpcs_register(struct mranks *mranks)
{
    margo_instance_id mid = mranks->mid;

    mranks->echo_id = MARGO_REGISTER(mid, "mranks_echo", mranks_number_t,
        mranks_number_t, mranks_echo_serve);
    mranks->relay_id = MARGO_REGISTER(mid, "mranks_relay", mranks_number_t,
        mranks_number_t, mranks_relay_serve);
    mranks->swap_id = MARGO_REGISTER(
        mid, "mranks_swap", mranks_swap_t, void, mranks_swap_serve);
    OK(margo_register_data(mid, mranks->echo_id, mranks, NULL));
    OK(margo_register_data(mid, mranks->relay_id, mranks, NULL));
    OK(margo_register_data(mid, mranks->swap_id, mranks, NULL));
}

static void addrs_free(void *arg)
{
    struct mranks *mranks = arg;

    for (int rank = 0; rank < mranks->size; rank++)
        OK(margo_addr_free(mranks->mid, mranks->addrs[rank]));
    free(mranks->addrs);
    mranks->addrs = NULL;
}

void mranks_adopt(struct mranks *mranks, margo_instance_id mid)
{
    hg_class_t *cls = NULL;

    CHECK(mid != MARGO_INSTANCE_NULL);
    cls = margo_get_class(mid);
    mranks->mid = mid;
    atomic_init(&mranks->served, 0);
    OK(amalgam_class_ranks(cls, &mranks->rank, &mranks->size));
    mranks->addrs = calloc((size_t)mranks->size, sizeof(*mranks->addrs));
    CHECK(mranks->addrs != NULL);
    for (int rank = 0; rank < mranks->size; rank++)
        OK(amalgam_addr_rank(cls, rank, &mranks->addrs[rank]));
    margo_push_finalize_callback(mid, addrs_free, mranks);
    rpcs_register(mranks);
}

void mranks_open(struct mranks *mranks, const struct margo_init_info *info)
{
    mranks_adopt(mranks, amalgam_margo_init(MPI_COMM_WORLD, NULL, info));
    /* With a progress thread requests may arrive before a handler is
     * registered. */
    MPI_Barrier(MPI_COMM_WORLD);
}

void mranks_close(struct mranks *mranks)
{
    margo_finalize_and_wait(mranks->mid);
}

void mranks_echo(struct mranks *mranks, int rank, uint64_t value)
{
    CHECK(number_call(mranks, rank, mranks->echo_id, value) == value + 1);
}

void mranks_relay(struct mranks *mranks, int rank, uint64_t hops)
{
    CHECK(number_call(mranks, rank, mranks->relay_id, hops) == hops);
}

void mranks_swap(struct mranks *mranks, int rank, size_t len)
{
    unsigned char *bytes = malloc(len);
    hg_handle_t handle = HG_HANDLE_NULL;
    mranks_swap_t in = {HG_BULK_NULL, len};

    CHECK(bytes != NULL);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
    in.memory = bytes_expose(mranks, bytes, len);
    OK(margo_create(
        mranks->mid, mranks->addrs[rank], mranks->swap_id, &handle));
    OK(margo_forward_timed(handle, &in, patience_ms));
    OK(margo_destroy(handle));
    OK(margo_bulk_free(in.memory));
    for (size_t i = 0; i < len; i++)
        CHECK(bytes[i] == (unsigned char)~(i * 7 + i / 251));
    free(bytes);
}

void mranks_exchange(struct mranks *mranks)
{
    for (int rank = 0; rank < mranks->size; rank++) {
        mranks_echo(mranks, rank, (uint64_t)rank);
        mranks_relay(mranks, rank, 3);
        mranks_swap(mranks, rank, 100003);
    }
}
