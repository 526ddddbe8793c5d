/* SPDX-License-Identifier: BSD-3-Clause */
/* Altered descriptors of exposed memory: each is refused, or describes a
 * bounded range, and no transfer with it accesses a byte that its process did
 * not expose, or in a forbidden direction. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc.h"
#include "mercury_proc_bulk.h"

enum {
    PACK_CAP = 1024,
    LOCAL_LEN = 512,
    PART_LEN = 64,
    PARTS = 9, /* the odd ones are exposed */
    ACCESS_MAX = 4,
    TRANSFERS_MAX = 4,
    TURNS_MAX = 1000,
    PACKED_FLAGS = 2, /* offset of the flag that eager data follow */
    SECRET = 0xee,
    READABLE = 0x11,
    WRITABLE = 0x22,
    WRITTEN = 0x77,
};

/* The kinds of valid descriptors. */
enum kind {
    KIND_READ,
    KIND_WRITE,
    KIND_BOTH,  /* and one empty segment */
    KIND_EAGER, /* with its data */
    KIND_BOUND,
    KIND_FREED, /* freed */
    KIND_COUNT
};

struct packed {
    uint8_t bytes[PACK_CAP];
    size_t len;
};

static hg_class_t *cls;
static hg_context_t *context;
static hg_addr_t self;
static uint8_t memory[PARTS][PART_LEN];
static uint8_t local_memory[LOCAL_LEN];
static hg_bulk_t local;
static hg_bulk_t exposed[KIND_COUNT];
static struct packed packed[KIND_COUNT];
static unsigned in_flight;

static void memory_fill(void)
{
    memset(memory, SECRET, sizeof(memory));
    memset(memory[1], READABLE, PART_LEN);
    memset(memory[3], WRITABLE, PART_LEN);
    memset(memory[5], READABLE, PART_LEN);
    memset(memory[7], READABLE, PART_LEN);
    memset(local_memory, WRITTEN, sizeof(local_memory));
}

/* Secrets were neither written nor read, read-only memory was not written,
 * write-only memory was not read: the patterns show that, unless the descriptor
 * brought data of its own. */
static void memory_check(bool has_data)
{
    for (unsigned part = 0; part < PARTS; part++)
        for (unsigned i = 0; i < PART_LEN; i++) {
            uint8_t byte = memory[part][i];

            FUZZ_CHECK(part % 2 != 0 || byte == SECRET);
            FUZZ_CHECK(part != 1 || byte == READABLE);
            FUZZ_CHECK(has_data || byte != SECRET || part % 2 == 0);
        }
    for (unsigned i = 0; i < LOCAL_LEN && !has_data; i++)
        FUZZ_CHECK(local_memory[i] != SECRET && local_memory[i] != WRITABLE);
}

static void expose(enum kind kind, unsigned count, void **parts, uint8_t flags)
{
    hg_size_t lens[3] = {PART_LEN, kind == KIND_BOTH ? 0 : PART_LEN, PART_LEN};
    unsigned long how = kind == KIND_EAGER ? HG_BULK_EAGER : 0;
    struct packed *to = &packed[kind];

    FUZZ_CHECK(HG_Bulk_create(cls, count, parts, lens, flags, &exposed[kind]) ==
               HG_SUCCESS);
    if (kind == KIND_BOUND)
        FUZZ_CHECK(HG_Bulk_bind(exposed[kind], context) == HG_SUCCESS);
    to->len = HG_Bulk_get_serialize_size(exposed[kind], how);
    FUZZ_CHECK(to->len <= PACK_CAP);
    FUZZ_CHECK(HG_Bulk_serialize(to->bytes, PACK_CAP, how, exposed[kind]) ==
               HG_SUCCESS);
}

static void world_open(void)
{
    void *reads[] = {memory[1], memory[5]};
    void *writes[] = {memory[3]};
    void *both[] = {memory[5], memory[0], memory[7]};
    void *own = local_memory;

    memory_fill();
    cls = HG_Init("self", HG_TRUE);
    context = cls == NULL ? NULL : HG_Context_create(cls);
    FUZZ_CHECK(context != NULL);
    FUZZ_CHECK(HG_Addr_self(cls, &self) == HG_SUCCESS);
    FUZZ_CHECK(HG_Bulk_create(cls, 1, &own, &(hg_size_t){LOCAL_LEN},
                   HG_BULK_READWRITE, &local) == HG_SUCCESS);
    expose(KIND_READ, 2, reads, HG_BULK_READ_ONLY);
    expose(KIND_WRITE, 1, writes, HG_BULK_WRITE_ONLY);
    expose(KIND_BOTH, 3, both, HG_BULK_READWRITE);
    expose(KIND_EAGER, 1, reads, HG_BULK_READ_ONLY);
    expose(KIND_BOUND, 2, reads, HG_BULK_READ_ONLY);
    /* Last, so that its memory is not used again. */
    expose(KIND_FREED, 1, (void *[]){memory[2]}, HG_BULK_READWRITE);
    FUZZ_CHECK(HG_Bulk_free(exposed[KIND_FREED]) == HG_SUCCESS);
    exposed[KIND_FREED] = HG_BULK_NULL;
}

static void world_close(void)
{
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        FUZZ_CHECK(HG_Bulk_free(exposed[kind]) == HG_SUCCESS);
    FUZZ_CHECK(HG_Bulk_free(local) == HG_SUCCESS);
    FUZZ_CHECK(HG_Addr_free(cls, self) == HG_SUCCESS);
    FUZZ_CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    FUZZ_CHECK(HG_Finalize(cls) == HG_SUCCESS);
}

static hg_return_t transferred(const struct hg_cb_info *info)
{
    FUZZ_CHECK(info->type == HG_CB_BULK && info->ret < HG_RETURN_MAX);
    in_flight--;
    return HG_SUCCESS;
}

static void drain(void)
{
    for (unsigned turns = 0; in_flight > 0; turns++) {
        FUZZ_CHECK(turns < TURNS_MAX);
        FUZZ_CHECK(HG_Event_progress(context, NULL) == HG_SUCCESS);
        FUZZ_CHECK(HG_Event_trigger(context, 100, NULL) == HG_SUCCESS);
    }
}

/* Segments follow each other, and are no longer than requested. */
static void access_try(struct fuzz *fuzz, hg_bulk_t bulk)
{
    void *bases[ACCESS_MAX];
    hg_size_t lens[ACCESS_MAX];
    uint32_t found = 0;
    hg_size_t offset = fuzz_near(fuzz, 0);
    hg_size_t size = fuzz_near(fuzz, HG_Bulk_get_size(bulk));
    hg_size_t sum = 0;

    if (HG_Bulk_access(bulk, offset, size, HG_BULK_READ_ONLY,
            fuzz_u8(fuzz) % (ACCESS_MAX + 1), bases, lens,
            &found) != HG_SUCCESS)
        return;
    FUZZ_CHECK(found <= ACCESS_MAX);
    for (uint32_t i = 0; i < found; i++) {
        volatile const uint8_t *bytes = bases[i];

        FUZZ_CHECK(lens[i] <= size - sum && lens[i] > 0);
        sum += lens[i];
        (void)bytes[0]; /* the sanitizer checks that they exist */
        (void)bytes[lens[i] - 1];
    }
}

static void transfer_try(struct fuzz *fuzz, hg_bulk_t bulk)
{
    uint8_t how = fuzz_u8(fuzz);
    hg_bulk_op_t op = (how & 1) != 0 ? HG_BULK_PUSH : HG_BULK_PULL;
    hg_size_t offset = (how & 2) != 0 ? fuzz_near(fuzz, 0) : 0;
    hg_size_t local_offset = (how & 4) != 0 ? fuzz_near(fuzz, 0) : 0;
    hg_size_t size = (how & 8) != 0 ? fuzz_near(fuzz, LOCAL_LEN)
                                    : HG_Bulk_get_size(bulk) % LOCAL_LEN;
    hg_op_id_t id = HG_OP_ID_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (HG_Bulk_get_addr(bulk) != HG_ADDR_NULL)
        rc = HG_Bulk_bind_transfer(context, transferred, NULL, op, bulk, offset,
            local, local_offset, size, &id);
    else
        rc = HG_Bulk_transfer_id(context, transferred, NULL, op, self,
            how / 128, bulk, offset, local, local_offset, size, &id);
    if (rc != HG_SUCCESS)
        return;
    in_flight++;
    if ((how & 16) != 0)
        FUZZ_CHECK(HG_Bulk_cancel(id) == HG_SUCCESS);
    if ((how & 32) == 0)
        drain();
}

/* A received handle can be sent on as it is. */
static void pack_again(hg_bulk_t bulk)
{
    hg_size_t len = HG_Bulk_get_serialize_size(bulk, 0);
    uint8_t *bytes = malloc(len);
    hg_bulk_t again = HG_BULK_NULL;

    FUZZ_CHECK(bytes != NULL && len > 0);
    FUZZ_CHECK(HG_Bulk_serialize(bytes, len - 1, 0, bulk) == HG_OVERFLOW);
    FUZZ_CHECK(HG_Bulk_serialize(bytes, len, 0, bulk) == HG_SUCCESS);
    FUZZ_CHECK(HG_Bulk_deserialize(cls, &again, bytes, len) == HG_SUCCESS);
    FUZZ_CHECK(HG_Bulk_get_size(again) == HG_Bulk_get_size(bulk));
    FUZZ_CHECK(
        HG_Bulk_get_segment_count(again) == HG_Bulk_get_segment_count(bulk));
    FUZZ_CHECK(HG_Bulk_get_flags(again) == HG_Bulk_get_flags(bulk));
    FUZZ_CHECK(HG_Bulk_free(again) == HG_SUCCESS);
    free(bytes);
}

/* Directly, or as an argument of a call. */
static hg_bulk_t unpack(const uint8_t *bytes, size_t len, bool by_proc)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_proc_t proc = HG_PROC_NULL;
    uint8_t *exact = malloc(len > 0 ? len : 1);
    hg_return_t rc = HG_SUCCESS;

    FUZZ_CHECK(exact != NULL);
    if (len > 0)
        memcpy(exact, bytes, len);
    if (!by_proc) {
        rc = HG_Bulk_deserialize(cls, &bulk, exact, len);
    } else {
        FUZZ_CHECK(hg_proc_create_set(cls, exact, len, HG_DECODE, HG_NOHASH,
                       &proc) == HG_SUCCESS);
        rc = hg_proc_hg_bulk_t(proc, &bulk);
        FUZZ_CHECK(hg_proc_free(proc) == HG_SUCCESS);
    }
    FUZZ_CHECK(rc == HG_SUCCESS || bulk == HG_BULK_NULL);
    free(exact);
    return bulk;
}

/* The bytes of a descriptor: random, or a valid one, altered. */
static size_t bytes_make(struct fuzz *fuzz, bool by_proc, uint8_t *ret_bytes)
{
    uint8_t kind = fuzz_u8(fuzz) % (KIND_COUNT + 1);
    uint64_t len = 0;
    size_t front = by_proc ? sizeof(len) : 0;

    if (kind == KIND_COUNT)
        return fuzz_bytes(fuzz, ret_bytes, PACK_CAP);
    len = packed[kind].len;
    if (by_proc)
        memcpy(ret_bytes, &len, sizeof(len));
    memcpy(ret_bytes + front, packed[kind].bytes, packed[kind].len);
    fuzz_spoil(fuzz, ret_bytes, front + packed[kind].len);
    len = fuzz_near(fuzz, front + packed[kind].len);
    return len < PACK_CAP ? len : front + packed[kind].len;
}

void fuzz_run(struct fuzz *fuzz)
{
    static uint8_t bytes[PACK_CAP + sizeof(uint64_t)];
    bool by_proc = (fuzz_u8(fuzz) & 1) != 0;
    bool has_data = false;
    hg_bulk_t bulk = HG_BULK_NULL;

    world_open();
    memset(bytes, 0, sizeof(bytes));
    bulk = unpack(bytes, bytes_make(fuzz, by_proc, bytes), by_proc);
    has_data =
        (bytes[(by_proc ? sizeof(uint64_t) : 0) + PACKED_FLAGS] & 1) != 0;
    if (bulk != HG_BULK_NULL) {
        for (unsigned i = 0; i < TRANSFERS_MAX && fuzz->left > 0; i++) {
            access_try(fuzz, bulk);
            transfer_try(fuzz, bulk);
        }
        pack_again(bulk);
        FUZZ_CHECK(HG_Bulk_free(bulk) == HG_SUCCESS);
        drain();
    }
    memory_check(has_data);
    world_close();
}
