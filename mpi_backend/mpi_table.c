/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers for pointers, which go stale when the pointer is taken out.
 *
 * A number is the index of a place and how often the place was used, so a
 * stale number fits again only after 4096 uses of its place. */
#include "mpi_backend/mpi_table.h"

#include "base/assert.h"
#include "base/mem.h"

enum {
    TABLE_CAP_FIRST = 256,
    GENERATION_MASK = (1 << (32 - AMG_MPI_INDEX_BITS)) - 1,
};

void amg_mpi_table_init(struct amg_mpi_table *table, uint32_t max)
{
    AMG_ASSERT(max <= AMG_MPI_INDEX_MASK + 1u);
    table->places = NULL;
    table->cap = 0;
    table->max = max;
    table->free = 0;
}

void amg_mpi_table_fini(struct amg_mpi_table *table)
{
    amg_mem_free(table->places);
    table->places = NULL;
    table->cap = 0;
    table->free = 0;
}

static hg_return_t table_grow(struct amg_mpi_table *table)
{
    uint32_t cap = table->cap == 0 ? TABLE_CAP_FIRST : table->cap * 2;
    struct amg_mpi_place *grown = NULL;

    if (cap > table->max)
        cap = table->max;
    if (cap == table->cap)
        return HG_NOMEM;
    grown = amg_mem_realloc(table->places, cap * sizeof(*grown));
    if (grown == NULL)
        return HG_NOMEM;
    for (uint32_t i = table->cap; i < cap; i++)
        grown[i] = (struct amg_mpi_place){.rank_or_next = i + 1};
    table->places = grown;
    table->cap = cap;
    return HG_SUCCESS;
}

hg_return_t amg_mpi_table_add(struct amg_mpi_table *table, void *object,
    uint32_t rank, uint32_t *ret_cookie)
{
    struct amg_mpi_place *place = NULL;

    AMG_ASSERT(object != NULL);
    if (table->free == table->cap && table_grow(table) != HG_SUCCESS)
        return HG_NOMEM;
    place = &table->places[table->free];
    *ret_cookie = table->free | (place->generation & GENERATION_MASK)
                                    << AMG_MPI_INDEX_BITS;
    table->free = place->rank_or_next;
    place->object = object;
    place->rank_or_next = rank;
    return HG_SUCCESS;
}

struct amg_mpi_place *amg_mpi_table_find(
    const struct amg_mpi_table *table, uint32_t cookie, uint32_t rank)
{
    uint32_t index = cookie & AMG_MPI_INDEX_MASK;
    struct amg_mpi_place *place = NULL;

    if (index >= table->cap)
        return NULL;
    place = &table->places[index];
    if (place->object == NULL || place->rank_or_next != rank ||
        (place->generation & GENERATION_MASK) != cookie >> AMG_MPI_INDEX_BITS)
        return NULL;
    return place;
}

void amg_mpi_table_remove(struct amg_mpi_table *table, uint32_t cookie)
{
    uint32_t index = cookie & AMG_MPI_INDEX_MASK;
    struct amg_mpi_place *place = &table->places[index];

    AMG_ASSERT(index < table->cap && place->object != NULL);
    place->object = NULL;
    place->generation++;
    place->rank_or_next = table->free;
    table->free = index;
}
