/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran arrays as C bytes: lengths, copies, and runs of adjacent bytes.
 *
 * A descriptor has a rank, and for each dimension an extent and a stride in
 * bytes, which may be negative. Array element order: the first dimension varies
 * fastest. The bytes of a scalar are one element. */
#include <string.h>

#include "base/mem.h"
#include "fortran/fort.h"

/* Position in an array, counted in array element order from dimension `first`
 * on: the elements below it are one run. */
struct walk {
    const CFI_cdesc_t *array;
    int first;
    size_t run; /* bytes of one run */
    CFI_index_t at[CFI_MAX_RANK];
    const char *pos;
};

char *amg_fort_string(const CFI_cdesc_t *text)
{
    const char *chars = text->base_addr;
    size_t len = text->elem_len;
    char *string = NULL;

    while (len > 0 && chars[len - 1] == ' ')
        len--;
    string = amg_mem_alloc(len + 1);
    if (string == NULL)
        return NULL;
    memcpy(string, chars, len);
    string[len] = '\0';
    return string;
}

bool amg_fort_has_bytes(const CFI_cdesc_t *array, const char *func)
{
    bool is_good = array->base_addr != NULL && array->type != CFI_type_other;

    if (!is_good)
        amg_fort_refuse(func,
            array->base_addr == NULL
                ? "a variable is not allocated, or a pointer not associated"
                : "a polymorphic variable; pass that of a select type block");
    return is_good;
}

bool amg_fort_len(const CFI_cdesc_t *array, const char *func, size_t *ret_len)
{
    size_t len = array->elem_len;

    if (!amg_fort_has_bytes(array, func))
        return false;
    for (int i = 0; i < array->rank; i++) {
        if (array->dim[i].extent < 0) {
            amg_fort_refuse(func,
                "the size of an assumed-size array is not known here; pass a "
                "section such as a(1:n)");
            return false;
        }
        len *= (size_t)array->dim[i].extent;
    }
    *ret_len = len;
    return true;
}

/* Starts at the first element, with runs as long as possible. */
static void walk_begin(struct walk *walk, const CFI_cdesc_t *array)
{
    walk->array = array;
    walk->run = array->elem_len;
    walk->pos = array->base_addr;
    for (walk->first = 0; walk->first < array->rank; walk->first++) {
        if (array->dim[walk->first].extent != 1 &&
            array->dim[walk->first].sm != (CFI_index_t)walk->run)
            break;
        walk->run *= (size_t)array->dim[walk->first].extent;
    }
    for (int i = 0; i < array->rank; i++)
        walk->at[i] = 0;
}

/* Moves to the next run. False: that was the last. */
static bool walk_next(struct walk *walk)
{
    const CFI_cdesc_t *array = walk->array;

    for (int i = walk->first; i < array->rank; i++) {
        walk->pos += array->dim[i].sm;
        if (++walk->at[i] < array->dim[i].extent)
            return true;
        walk->pos -= array->dim[i].sm * array->dim[i].extent;
        walk->at[i] = 0;
    }
    return false;
}

bool amg_fort_is_contiguous(const CFI_cdesc_t *array)
{
    struct walk walk;

    walk_begin(&walk, array);
    return walk.first == array->rank;
}

void amg_fort_pack(const CFI_cdesc_t *array, void *bytes)
{
    struct walk walk;
    char *to = bytes;

    walk_begin(&walk, array);
    do {
        memcpy(to, walk.pos, walk.run);
        to += walk.run;
    } while (walk_next(&walk));
}

void amg_fort_unpack(const CFI_cdesc_t *array, const void *bytes, size_t len)
{
    struct walk walk;
    const char *from = bytes;

    if (len == 0)
        return;
    walk_begin(&walk, array);
    do {
        size_t part = len < walk.run ? len : walk.run;

        memcpy((char *)walk.pos, from, part);
        from += part;
        len -= part;
    } while (len > 0 && walk_next(&walk));
}

hg_return_t amg_fort_segments(const CFI_cdesc_t *array, const char *func,
    uint32_t *ret_count, void ***ret_ptrs, hg_size_t **ret_lens)
{
    struct walk walk;
    size_t len = 0;
    size_t count = 1;
    void **ptrs = NULL;
    hg_size_t *lens = NULL;

    if (!amg_fort_len(array, func, &len))
        return HG_INVALID_ARG;
    walk_begin(&walk, array);
    for (int i = walk.first; i < array->rank; i++)
        count *= (size_t)array->dim[i].extent;
    if (len == 0)
        count = 1;
    if (count > UINT32_MAX) {
        amg_fort_refuse(
            func, "%zu pieces of memory; there may be 2^32 - 1", count);
        return HG_OVERFLOW;
    }
    ptrs = amg_mem_alloc(count * (sizeof(*ptrs) + sizeof(*lens)));
    if (ptrs == NULL)
        return HG_NOMEM;
    lens = (hg_size_t *)(ptrs + count);
    for (size_t i = 0; i < count; i++) {
        ptrs[i] = (void *)walk.pos;
        lens[i] = len == 0 ? 0 : walk.run;
        (void)walk_next(&walk);
    }
    *ret_count = (uint32_t)count;
    *ret_ptrs = ptrs;
    *ret_lens = lens;
    return HG_SUCCESS;
}
