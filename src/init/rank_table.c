/* SPDX-License-Identifier: BSD-3-Clause */
/* Table of the addresses of all ranks, one copy for each node. */
#include "init/rank_table.h"

#include <string.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "shm/shm_transport.h"

/* part      each                          how many           in the order of
 *   records   struct amg_rank_record, text   ranks              ranks
 *   places    a rank plus 1, 4 bytes         1.5 to 3 x ranks   hashes of texts
 *
 * The first rank of each node receives all records, and writes them into memory
 * that the ranks of the node map. A rank that cannot map gets a copy. So a node
 * has one table, of some 100 bytes per rank of the job if texts have 80 bytes.
 * While the table is filled, the first rank has the records twice. */

enum {
    RECORD_ALIGN = 8,
    COPY_LEN = 16384, /* bytes per message to ranks that cannot map the table */
};

/* Memory of a table in one process. */
struct table_holder {
    struct amg_shm_node_mem shared;
    unsigned char *own; /* private memory, if not shared */
};

static void holder_free(void *memory)
{
    struct table_holder *holder = memory;

    if (holder == NULL)
        return;
    amg_shm_node_mem_fini(&holder->shared);
    amg_mem_free(holder->own);
    amg_mem_free(holder);
}

static bool is_first(const struct amg_rank_table_maker *table)
{
    return table->node->boot->rank == 0;
}

static uint64_t records_len(const struct amg_rank_table_maker *table)
{
    return (uint64_t)table->node->size * table->record_len;
}

static uint64_t table_len(const struct amg_rank_table_maker *table)
{
    return records_len(table) +
           (uint64_t)amg_rank_table_places(table->node->size) *
               sizeof(uint32_t);
}

static unsigned char *table_bytes(const struct amg_rank_table_maker *table)
{
    const struct table_holder *holder = table->holder;

    return holder->own != NULL ? holder->own : holder->shared.bytes;
}

/* The table in the memory of this process, without the member `memory`. */
static struct amg_rank_table table_view(
    const struct amg_rank_table_maker *table)
{
    const unsigned char *bytes = table_bytes(table);

    return (struct amg_rank_table){
        .records = bytes,
        .places = (const uint32_t *)(const void *)(bytes + records_len(table)),
        .record_len = table->record_len,
        .size = table->node->size,
        .node = table->node->first,
    };
}

hg_return_t amg_rank_table_maker_begin(struct amg_rank_table_maker *table,
    const struct amg_node_ops *ops, const struct amg_node *node,
    const char *text, uint32_t text_len)
{
    uint32_t len = (uint32_t)sizeof(struct amg_rank_record) + text_len;

    *table = (struct amg_rank_table_maker){
        .ops = ops,
        .node = node,
        .record_len = (len + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN,
    };
    table->holder = amg_mem_zalloc(sizeof(*table->holder));
    table->mine = amg_mem_zalloc(table->record_len);
    if (table->holder == NULL || table->mine == NULL)
        return HG_NOMEM;
    table->mine->rank = node->rank;
    table->mine->node = node->first;
    memcpy(table->mine->text, text, strlen(text));
    if (!is_first(table))
        return HG_SUCCESS;
    table->all = amg_mem_alloc(records_len(table));
    if (table->all == NULL)
        return HG_NOMEM;
    if (node->boot->size > 1 &&
        amg_shm_node_mem_create(table_len(table), &table->holder->shared))
        return HG_SUCCESS;
    table->holder->own = amg_mem_zalloc(table_len(table));
    return table->holder->own == NULL ? HG_NOMEM : HG_SUCCESS;
}

static size_t stack_len(const char *text)
{
    const char *mark = strstr(text, "://");

    return mark == NULL ? strlen(text) : (size_t)(mark - text);
}

/* Does the rank have rank 0's provider, which a connection to rank 0 needs? */
static bool stack_fits(const struct amg_rank_table_maker *table,
    const struct amg_rank_record *first, const struct amg_rank_record *record)
{
    size_t len = stack_len(first->text);

    if (stack_len(record->text) == len &&
        strncmp(record->text, first->text, len) == 0)
        return true;
    if (table->node->rank == 0)
        AMG_LOG_ERROR("cls",
            "rank 0 has the provider %.*s, and rank %u has %.*s; name a "
            "provider that all nodes have, in the same release of libfabric",
            (int)len, first->text, record->rank, (int)stack_len(record->text),
            record->text);
    return false;
}

/* Enters all records into the hash table, in the order of ranks. */
static hg_return_t places_fill(const struct amg_rank_table_maker *table)
{
    const struct amg_rank_table view = table_view(table);
    uint32_t *places =
        (uint32_t *)(void *)(table_bytes(table) + records_len(table));

    for (uint32_t i = 0; i < view.size; i++) {
        const struct amg_rank_record *record = amg_rank_record_of(&view, i);
        uint32_t same = UINT32_MAX;

        if (!stack_fits(table, amg_rank_record_of(&view, 0), record))
            return HG_PROTOCOL_ERROR;
        same = amg_rank_table_enter(&view, places, i);
        if (same == UINT32_MAX)
            continue;
        if (table->node->rank == 0)
            AMG_LOG_ERROR("cls",
                "ranks %u and %u both have the address %s, which is valid only "
                "on their own hosts; name the interface that leads to other "
                "nodes, as in ofi+tcp://eth0",
                same, i, record->text);
        return HG_PROTOCOL_ERROR;
    }
    return HG_SUCCESS;
}

/* At the first rank of the node: enters the addresses into the table. */
static hg_return_t table_fill(struct amg_rank_table_maker *table)
{
    unsigned char *bytes = NULL;

    if (!is_first(table))
        return HG_SUCCESS;
    bytes = table_bytes(table);
    AMG_ASSERT(bytes != NULL && table->all != NULL);
    for (uint32_t i = 0; i < table->node->size; i++) {
        const struct amg_rank_record *record =
            (const void *)(table->all + (uint64_t)i * table->record_len);

        if (record->rank >= table->node->size)
            return HG_PROTOCOL_ERROR;
        memcpy(bytes + (uint64_t)record->rank * table->record_len, record,
            table->record_len);
    }
    amg_mem_free(table->all);
    table->all = NULL;
    return places_fill(table);
}

/* Maps the first rank's memory. `ret_is_shared`: no rank of the node failed. */
static hg_return_t table_map(
    struct amg_rank_table_maker *table, bool *ret_is_shared)
{
    struct amg_boot *boot = table->node->boot;
    struct table_holder *holder = table->holder;
    uint32_t *mapped = table->node->cards; /* reused: a card is longer */
    struct amg_shm_node_mem_id id = holder->shared.id;
    uint32_t is_mapped = holder->shared.bytes != NULL;
    hg_return_t rc = boot->ops->bcast(boot, &id, sizeof(id), 0);

    if (rc != HG_SUCCESS)
        return rc;
    if (boot->rank != 0 && id.len == table_len(table))
        is_mapped = amg_shm_node_mem_map(&id, &holder->shared);
    rc = boot->ops->allgather(boot, &is_mapped, sizeof(is_mapped), mapped);
    amg_shm_node_mem_seal(&holder->shared);
    *ret_is_shared = true;
    for (uint32_t i = 0; rc == HG_SUCCESS && i < boot->size; i++) {
        if (mapped[i] != 0)
            continue;
        if (*ret_is_shared && boot->rank == i)
            AMG_LOG_WARNING("cls",
                "rank %u cannot share the address table of its node, and keeps "
                "%llu KiB of its own; look for containers that do not share "
                "/dev/shm, or have too little of it",
                table->node->rank,
                (unsigned long long)(table_len(table) >> 10));
        *ret_is_shared = false;
    }
    return rc;
}

/* Broadcasts the table in the node; ranks that could not map it get a copy. */
static hg_return_t table_copy(struct amg_rank_table_maker *table)
{
    struct amg_boot *boot = table->node->boot;
    struct table_holder *holder = table->holder;
    uint64_t len = table_len(table);
    unsigned char piece[COPY_LEN];
    hg_return_t rc = HG_SUCCESS;
    bool needs_copy = boot->rank != 0 && holder->shared.bytes == NULL;

    if (needs_copy)
        holder->own = amg_mem_alloc(len);
    for (uint64_t at = 0; at < len && rc == HG_SUCCESS; at += COPY_LEN) {
        size_t part = len - at < COPY_LEN ? (size_t)(len - at) : COPY_LEN;

        if (boot->rank == 0)
            memcpy(piece, table_bytes(table) + at, part);
        rc = boot->ops->bcast(boot, piece, part, 0);
        if (rc == HG_SUCCESS && needs_copy && holder->own != NULL)
            memcpy(holder->own + at, piece, part);
    }
    if (rc == HG_SUCCESS && needs_copy && holder->own == NULL)
        rc = HG_NOMEM;
    return rc;
}

/* Shares the table in the node; copies it to ranks that cannot map it. */
static hg_return_t table_share(struct amg_rank_table_maker *table)
{
    bool is_shared = false;
    hg_return_t rc = HG_SUCCESS;

    if (table->node->boot->size == 1)
        return HG_SUCCESS;
    rc = table_map(table, &is_shared);
    return rc == HG_SUCCESS && !is_shared ? table_copy(table) : rc;
}

hg_return_t amg_rank_table_maker_make(struct amg_rank_table_maker *table)
{
    hg_return_t collected = table->ops->collect(
        table->node, table->mine, table->record_len, table->all);
    /* table_share() is collective, so is called even after an error. */
    hg_return_t filled =
        collected == HG_SUCCESS ? table_fill(table) : collected;
    hg_return_t shared = table_share(table);

    return filled != HG_SUCCESS ? filled : shared;
}

void amg_rank_table_maker_take(
    struct amg_rank_table_maker *table, struct amg_rank_table *ret_table)
{
    *ret_table = table_view(table);
    ret_table->memory = table->holder;
    ret_table->release = holder_free;
    table->holder = NULL;
}

void amg_rank_table_maker_end(struct amg_rank_table_maker *table)
{
    amg_mem_free(table->mine);
    amg_mem_free(table->all);
    table->mine = NULL;
    table->all = NULL;
    holder_free(table->holder);
    table->holder = NULL;
}
