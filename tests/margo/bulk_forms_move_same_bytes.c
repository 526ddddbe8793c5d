/* SPDX-License-Identifier: BSD-3-Clause */
/* Each form of a transfer moves the same bytes; ranges and permissions are
 * checked; and queries of memory agree with HG. */
#include <string.h>

#include "pair.h"

enum { LEN = 100000, OFFSET = 1000, PART = 4096 };

#define LIMIT_MS 20000.0

MERCURY_GEN_PROC(memory_t, ((hg_bulk_t)(memory)))

static hg_id_t move_id;
static unsigned char ours[LEN];
static hg_bulk_t ours_bulk;

static void is_over(void *arg, hg_return_t ret)
{
    CHECK_RC(ret, HG_SUCCESS);
    CHECK(ABT_eventual_set(*(ABT_eventual *)arg, NULL, 0) == ABT_SUCCESS);
}

static void request_wait(hg_return_t rc, margo_request req)
{
    CHECK_RC(rc, HG_SUCCESS);
    CHECK(margo_request_get_handle(req) == HG_HANDLE_NULL);
    CHECK(margo_request_get_type(req) == MARGO_BULK_REQUEST);
    CHECK_RC(margo_wait(req), HG_SUCCESS);
}

/* Pulls or pushes the part, in the form of that number. */
static void move_by(
    unsigned form, hg_bulk_op_t op, hg_addr_t addr, hg_bulk_t theirs)
{
    margo_request req = MARGO_REQUEST_NULL;
    ABT_eventual over = ABT_EVENTUAL_NULL;
    hg_return_t rc = HG_SUCCESS;

    CHECK(ABT_eventual_create(0, &over) == ABT_SUCCESS);
    if (form == 0)
        rc = margo_bulk_transfer(
            pair.mid, op, addr, theirs, OFFSET, ours_bulk, OFFSET, PART);
    else if (form == 1)
        rc = margo_bulk_transfer_timed(pair.mid, op, addr, theirs, OFFSET,
            ours_bulk, OFFSET, PART, LIMIT_MS);
    else if (form == 2)
        rc = margo_bulk_itransfer(
            pair.mid, op, addr, theirs, OFFSET, ours_bulk, OFFSET, PART, &req);
    else if (form == 3)
        rc = margo_bulk_itransfer_timed(pair.mid, op, addr, theirs, OFFSET,
            ours_bulk, OFFSET, PART, LIMIT_MS, &req);
    else if (form == 4)
        rc = margo_bulk_ctransfer(pair.mid, op, addr, theirs, OFFSET, ours_bulk,
            OFFSET, PART, is_over, &over);
    else
        rc = margo_bulk_ctransfer_timed(pair.mid, op, addr, theirs, OFFSET,
            ours_bulk, OFFSET, PART, LIMIT_MS, is_over, &over);
    CHECK_RC(rc, HG_SUCCESS);
    if (form == 2 || form == 3)
        request_wait(rc, req);
    if (form > 3)
        CHECK(ABT_eventual_wait(over, NULL) == ABT_SUCCESS);
    CHECK(ABT_eventual_free(&over) == ABT_SUCCESS);
}

static void out_of_range(hg_addr_t addr, hg_bulk_t theirs)
{
    margo_request req = MARGO_REQUEST_NULL;

    CHECK(margo_bulk_transfer(pair.mid, HG_BULK_PULL, addr, theirs, 0,
              ours_bulk, 0, LEN + 1) != HG_SUCCESS);
    CHECK(margo_bulk_transfer(pair.mid, HG_BULK_PULL, addr, theirs, LEN,
              ours_bulk, 0, 1) != HG_SUCCESS);
    CHECK(margo_bulk_itransfer(pair.mid, HG_BULK_PULL, addr, theirs, 0,
              ours_bulk, LEN - 1, 2, &req) != HG_SUCCESS);
    CHECK(req == MARGO_REQUEST_NULL);
    CHECK_RC(margo_bulk_transfer_timed(pair.mid, HG_BULK_PULL, addr, theirs, 0,
                 ours_bulk, 0, 1, -1.0),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_transfer(pair.mid, HG_BULK_PULL, HG_ADDR_NULL, theirs,
                 0, ours_bulk, 0, 1),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_transfer(
                 NULL, HG_BULK_PULL, addr, theirs, 0, ours_bulk, 0, 1),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_itransfer(pair.mid, HG_BULK_PULL, addr, theirs, 0,
                 ours_bulk, 0, 1, NULL),
        HG_INVALID_ARG);
    CHECK_RC(margo_bulk_ctransfer(pair.mid, HG_BULK_PULL, addr, theirs, 0,
                 ours_bulk, 0, 1, NULL, NULL),
        HG_INVALID_ARG);
}

/* Pulls from the caller and pushes back every byte of the part plus one, once
 * for each form. */
static void move(hg_handle_t handle)
{
    hg_addr_t addr = margo_get_info(handle)->addr;
    memory_t in;

    CHECK_RC(margo_get_input(handle, &in), HG_SUCCESS);
    for (unsigned form = 0; form < 6; form++) {
        memset(ours, 0, sizeof(ours));
        move_by(form, HG_BULK_PULL, addr, in.memory);
        for (int i = OFFSET; i < OFFSET + PART; i++) {
            CHECK(ours[i] == (unsigned char)(i + (int)form));
            ours[i]++;
        }
        CHECK(ours[OFFSET - 1] == 0 && ours[OFFSET + PART] == 0);
        move_by(form, HG_BULK_PUSH, addr, in.memory);
    }
    out_of_range(addr, in.memory);
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &in), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(move)

static void enrol(void)
{
    void *ptr = ours;
    hg_size_t len = LEN;

    move_id = MARGO_REGISTER(pair.mid, "move", memory_t, void, move);
    CHECK_RC(margo_bulk_create(
                 pair.mid, 1, &ptr, &len, HG_BULK_READWRITE, &ours_bulk),
        HG_SUCCESS);
}

static void moves(void)
{
    static unsigned char bytes[LEN];
    hg_handle_t handle = pair_handle(move_id);
    void *ptr = bytes;
    hg_size_t len = LEN;
    memory_t in;

    for (int i = 0; i < LEN; i++)
        bytes[i] = (unsigned char)i;
    CHECK_RC(margo_bulk_create(
                 pair.mid, 1, &ptr, &len, HG_BULK_READWRITE, &in.memory),
        HG_SUCCESS);
    CHECK_RC(margo_forward(handle, &in), HG_SUCCESS);
    for (int i = 0; i < LEN; i++)
        CHECK(bytes[i] ==
              (unsigned char)(i >= OFFSET && i < OFFSET + PART ? i + 6 : i));
    CHECK_RC(margo_bulk_free(in.memory), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static void questions(void)
{
    char text[2][100];
    void *ptrs[2] = {text[0], text[1]};
    hg_size_t sizes[2] = {100, 100};
    hg_bulk_t memory = HG_BULK_NULL;
    hg_bulk_t copy = HG_BULK_NULL;
    uint32_t count = 0;
    hg_size_t size = 0;
    void *bytes = NULL;

    CHECK_RC(margo_bulk_create_attr(
                 pair.mid, 2, ptrs, sizes, HG_BULK_READ_ONLY, NULL, &memory),
        HG_SUCCESS);
    CHECK(margo_bulk_get_size(memory) == 200);
    CHECK(margo_bulk_get_segment_count(memory) == 2);
    CHECK_RC(margo_bulk_access(
                 memory, 100, 100, HG_BULK_READ_ONLY, 1, ptrs, &size, &count),
        HG_SUCCESS);
    CHECK(count == 1 && ptrs[0] == text[1] && size == 100);
    CHECK_RC(margo_bulk_ref_incr(memory), HG_SUCCESS);
    CHECK_RC(margo_bulk_free(memory), HG_SUCCESS);
    size = margo_bulk_get_serialize_size(memory, 0);
    bytes = calloc(1, size);
    CHECK_RC(margo_bulk_serialize(bytes, size, 0, memory), HG_SUCCESS);
    CHECK_RC(margo_bulk_deserialize(pair.mid, &copy, bytes, size), HG_SUCCESS);
    CHECK(margo_bulk_get_size(copy) == 200);
    CHECK_RC(margo_bulk_free(copy), HG_SUCCESS);
    CHECK_RC(margo_bulk_free(memory), HG_SUCCESS);
    free(bytes);
    /* Library memory. */
    CHECK_RC(
        margo_bulk_create(pair.mid, 1, NULL, sizes, HG_BULK_READWRITE, &memory),
        HG_SUCCESS);
    CHECK_RC(margo_bulk_free(memory), HG_SUCCESS);
    CHECK_RC(margo_bulk_create(NULL, 1, NULL, sizes, HG_BULK_READWRITE, &copy),
        HG_INVALID_ARG);
    CHECK_RC(
        margo_bulk_create(pair.mid, 1, NULL, sizes, HG_BULK_READWRITE, NULL),
        HG_INVALID_ARG);
}

static void test(void)
{
    questions();
    if (pair.rank == 1)
        moves();
    pair_barrier();
    if (pair.rank == 0)
        moves();
    pair_barrier();
    CHECK_RC(margo_bulk_free(ours_bulk), HG_SUCCESS);
}

int main(int argc, char **argv)
{
    return pair_main(argc, argv, enrol, test);
}
