/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: encoding and decoding of arguments (mercury_proc.h). */
#include "wire/proc.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "wire/header.h"

/* Received lengths are not trusted: a decoding never leaves its buffer. Only an
 * encoding gets more bytes: by extra_grow(), or in place of a short buffer. */

/* An extra buffer of the heap consists of whole pages, so that it can be
 * exposed directly. 4096 is the page size of x86-64. */
enum { PAGE_LEN = 4096 };

static hg_size_t proc_size(const struct hg_proc *proc)
{
    return proc->extra != NULL ? proc->extra_size : proc->size;
}

static hg_size_t proc_left(const struct hg_proc *proc)
{
    return proc_size(proc) - amg_proc_used(proc);
}

/* Allocates at least `*size` bytes; `*size` becomes the number allocated. */
static void *extra_alloc(struct hg_proc *proc, hg_size_t *size)
{
    void *extra = NULL;

    if (proc->memory != NULL)
        extra = proc->memory->alloc(proc, *size, size);
    if (extra != NULL)
        return extra;
    *size = (*size + PAGE_LEN - 1) / PAGE_LEN * PAGE_LEN;
    return amg_mem_alloc_aligned(PAGE_LEN, *size);
}

void amg_proc_drop_extra(struct hg_proc *proc)
{
    if (!proc->extra_is_taken && proc->memory != NULL && proc->extra != NULL)
        proc->memory->free(proc, proc->extra);
    else if (!proc->extra_is_taken)
        amg_mem_free(proc->extra);
    proc->extra = NULL;
    proc->extra_is_taken = false;
}

void amg_proc_move(struct hg_proc *proc, void *buf, hg_size_t size)
{
    hg_size_t used = amg_proc_used(proc);

    AMG_ASSERT(proc->extra == NULL && used <= size);
    memcpy(buf, proc->buf, used);
    proc->buf = buf;
    proc->size = size;
    proc->is_short = false;
    amg_proc_aim(proc, proc->buf + used, proc->buf + size);
}

/* Called before a type gets the size of the buffer, or a place in it. Replaces
 * a short buffer now: the place must not move before the message is full. */
static void room_show(struct hg_proc *proc)
{
    proc->was_asked_room = true;
    if (proc->is_short && !proc->memory->widen(proc))
        proc->is_short = false; /* the place must not move later */
}

/* Moves the encoded bytes to an extra buffer of at least `size` bytes. */
static hg_return_t extra_grow(struct hg_proc *proc, hg_size_t size)
{
    hg_size_t used = amg_proc_used(proc);
    char *grown = NULL;

    if (size > SIZE_MAX - PAGE_LEN)
        return HG_OVERFLOW;
    grown = extra_alloc(proc, &size);
    if (grown == NULL)
        return HG_NOMEM;
    if (used > 0)
        memcpy(grown, proc->at.pos - used, used);
    amg_proc_drop_extra(proc);
    proc->extra = grown;
    proc->extra_size = size;
    proc->is_short = false;
    amg_proc_aim(proc, grown + used, grown + size);
    return HG_SUCCESS;
}

/* Makes room for `len` bytes at the cursor, or fails. At least doubles an extra
 * buffer, so that an encoding of many fields is copied only a few times. */
static hg_return_t room_make(struct hg_proc *proc, hg_size_t len)
{
    hg_size_t used = amg_proc_used(proc);
    hg_size_t size = proc_size(proc);
    hg_size_t wanted = 0;

    if (proc->at.op != HG_ENCODE || len > SIZE_MAX - used)
        return HG_OVERFLOW;
    if (proc->is_short && proc->memory->widen(proc)) {
        if (len <= proc_left(proc))
            return HG_SUCCESS;
        size = proc_size(proc);
    }
    wanted = used + len;
    if (proc->extra != NULL && wanted < 2 * size)
        wanted = 2 * size;
    return extra_grow(proc, wanted);
}

/* Adds `len` bytes to the checksum, if the proc has one. */
static void sum_add(struct hg_proc *proc, const void *data, hg_size_t len)
{
    if (proc->hash != HG_NOHASH)
        proc->sum = amg_checksum_add(proc->hash, proc->sum, data, len);
}

static void buf_set(
    struct hg_proc *proc, void *buf, hg_size_t size, hg_proc_op_t op)
{
    proc->buf = buf;
    proc->size = buf == NULL ? 0 : size;
    proc->at.op = op;
    proc->sum = 0;
    amg_proc_aim(proc, buf, buf == NULL ? NULL : (char *)buf + size);
}

hg_return_t hg_proc_create(
    hg_class_t *hg_class, hg_proc_hash_t hash, hg_proc_t *proc)
{
    struct hg_proc *made = NULL;

    if (!AMG_GIVEN(proc) ||
        !AMG_CONTRACT(hash <= HG_NOHASH,
            "hash is %d; it must be HG_CRC32 .. HG_NOHASH (0 to %d)", (int)hash,
            (int)HG_NOHASH))
        return HG_INVALID_ARG;
    made = amg_mem_alloc(sizeof(*made));
    if (made == NULL)
        return HG_NOMEM;
    amg_proc_init(made, hg_class, NULL, 0, HG_FREE);
    made->hash = hash;
    made->sum = 0;
    *proc = made;
    return HG_SUCCESS;
}

hg_return_t hg_proc_create_set(hg_class_t *hg_class, void *buf,
    hg_size_t buf_size, hg_proc_op_t op, hg_proc_hash_t hash, hg_proc_t *proc)
{
    struct hg_proc *made = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(proc))
        return HG_INVALID_ARG;
    rc = hg_proc_create(hg_class, hash, &made);
    if (rc != HG_SUCCESS)
        return rc;
    rc = hg_proc_reset(made, buf, buf_size, op);
    if (rc != HG_SUCCESS) {
        hg_proc_free(made);
        return rc;
    }
    *proc = made;
    return HG_SUCCESS;
}

hg_return_t hg_proc_free(hg_proc_t proc)
{
    if (proc == HG_PROC_NULL)
        return HG_SUCCESS;
    amg_proc_fini(proc);
    amg_mem_free(proc);
    return HG_SUCCESS;
}

hg_return_t hg_proc_reset(
    hg_proc_t proc, void *buf, hg_size_t buf_size, hg_proc_op_t op)
{
    if (!AMG_GIVEN(proc) ||
        !AMG_CONTRACT(buf != NULL || op == HG_FREE, "buf is NULL"))
        return HG_INVALID_ARG;
    amg_proc_drop_extra(proc);
    buf_set(proc, buf, buf_size, op);
    return HG_SUCCESS;
}

hg_size_t hg_proc_get_size(hg_proc_t proc)
{
    if (proc == HG_PROC_NULL)
        return 0;
    room_show(proc);
    return proc_size(proc);
}

hg_size_t hg_proc_get_size_used(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? amg_proc_used(proc) : 0;
}

hg_size_t hg_proc_get_size_left(hg_proc_t proc)
{
    if (proc == HG_PROC_NULL)
        return 0;
    room_show(proc);
    return proc_left(proc);
}

hg_return_t hg_proc_set_size(hg_proc_t proc, hg_size_t req_buf_size)
{
    if (!AMG_GIVEN(proc))
        return HG_INVALID_ARG;
    room_show(proc);
    if (!AMG_CONTRACT(
            proc->at.op != HG_FREE, "a proc of HG_FREE has no buffer") ||
        !AMG_CONTRACT(req_buf_size > proc_size(proc),
            "%llu bytes are wanted, but the buffer has %llu already",
            (unsigned long long)req_buf_size,
            (unsigned long long)proc_size(proc)))
        return HG_INVALID_ARG;
    if (proc->at.op == HG_DECODE)
        return HG_OVERFLOW;
    return extra_grow(proc, req_buf_size);
}

void *hg_proc_save_ptr(hg_proc_t proc, hg_size_t data_size)
{
    void *place = NULL;

    if (!AMG_GIVEN(proc) || !AMG_CONTRACT(proc->at.op != HG_FREE,
                                "a proc of HG_FREE has no buffer"))
        return NULL;
    room_show(proc);
    if (data_size > proc_left(proc) &&
        room_make(proc, data_size) != HG_SUCCESS) {
        if (proc->at.op == HG_DECODE) /* callers may forget to check for NULL */
            AMG_LOG_ERROR("rpc",
                "hg_proc_save_ptr(): %llu bytes are wanted, but %llu of %llu "
                "are left; do both sides encode the same types?",
                (unsigned long long)data_size,
                (unsigned long long)proc_left(proc),
                (unsigned long long)proc_size(proc));
        return NULL;
    }
    place = proc->at.pos;
    proc->at.pos += data_size;
    return place;
}

hg_return_t hg_proc_restore_ptr(hg_proc_t proc, void *data, hg_size_t data_size)
{
    if (!AMG_GIVEN(proc) || !AMG_GIVEN(data))
        return HG_INVALID_ARG;
    sum_add(proc, data, data_size);
    return HG_SUCCESS;
}

void *hg_proc_get_extra_buf(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->extra : NULL;
}

hg_size_t hg_proc_get_extra_size(hg_proc_t proc)
{
    return proc != HG_PROC_NULL && proc->extra != NULL ? proc->extra_size : 0;
}

hg_return_t hg_proc_set_extra_buf_is_mine(hg_proc_t proc, uint8_t theirs)
{
    if (!AMG_GIVEN(proc) || !AMG_GIVEN(proc->extra))
        return HG_INVALID_ARG;
    proc->extra_is_taken = theirs != HG_FALSE;
    return HG_SUCCESS;
}

hg_return_t hg_proc_bytes(hg_proc_t proc, void *data, hg_size_t data_size)
{
    hg_return_t rc = HG_SUCCESS;

    if (proc->at.op == HG_FREE || data_size == 0)
        return HG_SUCCESS;
    if (unlikely(data_size > proc_left(proc))) {
        rc = room_make(proc, data_size);
        if (rc != HG_SUCCESS)
            return rc;
    }
    if (proc->at.op == HG_ENCODE)
        memcpy(proc->at.pos, data, data_size);
    else
        memcpy(data, proc->at.pos, data_size);
    sum_add(proc, proc->at.pos, data_size);
    proc->at.pos += data_size;
    return HG_SUCCESS;
}

hg_class_t *hg_proc_get_class(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->hg_class : NULL;
}

void hg_proc_set_handle(hg_proc_t proc, hg_handle_t handle)
{
    if (AMG_GIVEN(proc))
        proc->handle = handle;
}

hg_handle_t hg_proc_get_handle(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->handle : HG_HANDLE_NULL;
}

void hg_proc_set_flags(hg_proc_t proc, uint8_t flags)
{
    if (AMG_GIVEN(proc))
        proc->flags = flags;
}

uint8_t hg_proc_get_flags(hg_proc_t proc)
{
    return proc != HG_PROC_NULL ? proc->flags : 0;
}

/* Does nothing: the checksum is up to date after each call. */
hg_return_t hg_proc_flush(hg_proc_t proc)
{
    return AMG_GIVEN(proc) ? HG_SUCCESS : HG_INVALID_ARG;
}

/* Stores the checksum as bytes, and their number. */
static hg_return_t sum_bytes(const struct hg_proc *proc, hg_size_t room,
    uint8_t ret_bytes[sizeof(uint64_t)], size_t *ret_len)
{
    static const uint8_t lens[] = {
        [HG_CRC16] = 2, [HG_CRC32] = 4, [HG_CRC64] = 8, [HG_NOHASH] = 0};
    size_t len = lens[proc->hash];
    const uint16_t sum16 = (uint16_t)proc->sum;
    const uint32_t sum32 = (uint32_t)proc->sum;

    if (len == 0)
        return HG_OPNOTSUPPORTED;
    if (room < len)
        return HG_OVERFLOW;
    memcpy(ret_bytes,
        len == 2   ? (const void *)&sum16
        : len == 4 ? (const void *)&sum32
                   : (const void *)&proc->sum,
        len);
    *ret_len = len;
    return HG_SUCCESS;
}

hg_return_t hg_proc_checksum_get(
    hg_proc_t proc, void *hash, hg_size_t hash_size)
{
    uint8_t bytes[sizeof(uint64_t)];
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(proc) || !AMG_GIVEN(hash))
        return HG_INVALID_ARG;
    rc = sum_bytes(proc, hash_size, bytes, &len);
    if (rc == HG_SUCCESS)
        memcpy(hash, bytes, len);
    return rc;
}

hg_return_t hg_proc_checksum_verify(
    hg_proc_t proc, const void *hash, hg_size_t hash_size)
{
    uint8_t bytes[sizeof(uint64_t)];
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_GIVEN(proc) || !AMG_GIVEN(hash))
        return HG_INVALID_ARG;
    rc = sum_bytes(proc, hash_size, bytes, &len);
    if (rc == HG_SUCCESS && memcmp(hash, bytes, len) != 0)
        return HG_CHECKSUM_ERROR;
    return rc;
}

void hg_proc_checksum_update(hg_proc_t proc, void *data, hg_size_t data_size)
{
    if (AMG_GIVEN(proc) && data != NULL)
        sum_add(proc, data, data_size);
}
