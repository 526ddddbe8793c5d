/* SPDX-License-Identifier: BSD-3-Clause */
/* A malicious peer that writes into shared segments, its own and those of its
 * peers: headers, claims, contexts, rings, msgbufs, tables of keys and bounce
 * buffers; between the steps of their readers, not during one. Its peers stay
 * safe: operations complete, arrivals are no longer than messages, and both
 * sides close without leaks. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "shm/shm_bulk.h"
#include "shm/shm_domain.h"
#include "shm/shm_transport.h"
#include "world.h"

enum {
    STEPS_MAX = 32,
    POLLS_MAX = 128, /* of a step */
    MEMORY = 3 * 65536,
    MESSAGE = 256,
    ROOM = MESSAGE * AMG_ROOM_FACTOR, /* the longest in a msgbuf, */
    LONGEST = AMG_LONG_ARGS_LEN + AMG_LONG_HEADERS_LEN, /* and at all */
    SLOTS = 3,   /* written to: more are not in use */
    ENTRIES = 4, /* likewise */
};

/* A part of a segment that is worth corrupting. */
struct part {
    void *at;
    size_t len;
};

static struct part part_choose(
    const struct amg_shm_domain *domain, uint8_t which, uint8_t index)
{
    const struct amg_shm_region *region = &domain->region;
    struct amg_shm_key_table *table = region->keys;
    struct amg_shm_ring *ring = &region->rings[index % SLOTS];

    switch (which % 10) {
    case 0:
        return (struct part){region->head, sizeof(*region->head)};
    case 1:
        return (struct part){&region->contexts[index % WORLD_CONTEXTS],
            sizeof(struct amg_shm_context)};
    case 2:
        return (struct part){
            (void *)&region->claims[index % SLOTS], sizeof(uint64_t)};
    case 3:
        return (struct part){ring, offsetof(struct amg_shm_ring, cells)};
    case 4:
        return (struct part){&ring->cells[index / SLOTS % AMG_SHM_CELLS],
            sizeof(struct amg_shm_cell)};
    case 5:
        return (struct part){
            amg_shm_region_msgbuf(region, index % ENTRIES), ROOM};
    case 6:
        return (struct part){
            table, offsetof(struct amg_shm_key_table, accessors)};
    case 7:
        return (struct part){&table->accessors[index % ENTRIES],
            sizeof(struct amg_shm_accessor)};
    case 8:
        return (struct part){
            &table->entries[index % ENTRIES], sizeof(struct amg_shm_entry)};
    default:
        return (struct part){
            &table->list[index % 16], sizeof(struct amg_shm_list_entry)};
    }
}

/* Step: writes into a segment. */
static void spoil(struct fuzz *fuzz, const struct world_step *step)
{
    struct world_side *side = step->side;
    struct amg_shm_domain *domain = amg_shm_domain_of(side->domain);
    uint8_t which = fuzz_u8(fuzz);
    struct part part = part_choose(domain, which, fuzz_u8(fuzz));
    size_t at = fuzz_u16(fuzz) % part.len;
    uint64_t value = fuzz_near(fuzz, 1);
    size_t len = (size_t)1 << which / 10 % 4;

    len = len < part.len - at ? len : part.len - at;
    memcpy((uint8_t *)part.at + at, &value, len);
    side->is_mad = true;
    side->is_astray = side->is_astray || which % 10 >= 8;
}

/* A cookie of an operation of that side, or any. */
static uint32_t cookie_choose(struct fuzz *fuzz)
{
    uint8_t kind = fuzz_u8(fuzz);

    return kind < 192 ? kind : fuzz_u32(fuzz);
}

/* Index of the first block of that kind; of none: behind the last block. */
static uint32_t shm_block_first(unsigned kind)
{
    uint32_t index = AMG_SHM_MSGBUFS;

    for (unsigned i = 0; i < kind; i++)
        index += amg_shm_block_count(i);
    return index;
}

/* Step: the other side's writer puts a message that the driver would not send
 * into its ring, with the right sequence number. */
static void speak(struct fuzz *fuzz, const struct world_step *step)
{
    struct world_side *side = step->side;
    struct amg_shm_domain *domain = amg_shm_domain_of(side->domain);
    uint32_t slot = fuzz_u8(fuzz) % SLOTS;
    struct amg_shm_inring *inring = domain->inrings[slot];
    struct amg_shm_cell cell;
    struct amg_shm_cell *to = NULL;

    if (inring == NULL)
        return;
    memset(&cell, 0, sizeof(cell));
    to = inring->in.cell;
    cell.kind = fuzz_u8(fuzz);
    cell.context = fuzz_u8(fuzz) % 4;
    cell.len = fuzz_u8(fuzz);
    cell.cookie = cookie_choose(fuzz);
    cell.credits = fuzz_u8(fuzz) % 8 == 0 ? fuzz_u16(fuzz) : 0;
    if ((cell.kind & AMG_SHM_OUT_OF_LINE) != 0) {
        bool is_block = cell.len % 2 != 0;
        unsigned kind = cell.len / 2 % (AMG_SHM_BLOCK_KINDS + 1);

        cell.out_of_line.msgbuf =
            (uint32_t)fuzz_near(fuzz, is_block ? shm_block_first(kind) : 0);
        cell.out_of_line.len = (uint32_t)fuzz_near(fuzz,
            is_block && kind < AMG_SHM_BLOCK_KINDS ? amg_shm_block_cap(kind)
                                                   : ROOM);
    } else if (cell.kind % 16 >= AMG_SHM_BULK) {
        struct amg_shm_bulk_request ask;

        memset(&ask, 0, sizeof(ask));
        memcpy(&ask.key, side->key.bytes, sizeof(ask.key));
        ask.offset = fuzz_near(fuzz, 0);
        ask.rest = fuzz_near(fuzz, 100);
        ask.segment = fuzz_u8(fuzz) % (WORLD_SHOWN + 2);
        ask.goes_on = ask.segment % 2;
        ask.len = (uint32_t)fuzz_near(fuzz, 100);
        ask.bounce = (uint32_t)fuzz_near(fuzz, 0);
        if (cell.kind % 16 == AMG_SHM_BULK_DONE)
            memcpy(&ask, &ask.bounce, sizeof(ask.bounce));
        memcpy(cell.bytes, &ask, sizeof(ask));
        cell.len = cell.len < 64 ? sizeof(ask) : cell.len;
        if (cell.kind % 16 == AMG_SHM_BULK_DONE && cell.len == sizeof(ask))
            cell.len = sizeof(struct amg_shm_bulk_done);
    } else {
        (void)fuzz_bytes(fuzz, cell.bytes, sizeof(cell.bytes));
    }
    atomic_init(&cell.seq, inring->in.head + 1);
    memcpy(to, &cell, sizeof(cell));
    side->is_mad = true;
}

/* Step: claims a slot, under any name. */
static void claim(struct fuzz *fuzz, const struct world_step *step)
{
    struct world_side *side = step->side;
    struct amg_shm_domain *domain = amg_shm_domain_of(side->domain);
    struct amg_shm_domain *named =
        amg_shm_domain_of(world_sides[fuzz_u8(fuzz) % WORLD_SIDES].domain);
    uint32_t slot = fuzz_u8(fuzz) % SLOTS;
    uint8_t context = fuzz_u8(fuzz) % WORLD_CONTEXTS;
    struct amg_shm_ring *ring = &domain->region.rings[slot];
    uint8_t how = fuzz_u8(fuzz);

    memcpy(ring->name, named->region.name, sizeof(ring->name));
    ring->incarnation = named->region.incarnation;
    fuzz_spoil(fuzz, ring->name, (how & 1) != 0 ? sizeof(ring->name) : 0);
    atomic_store(&domain->region.claims[slot],
        amg_shm_claim_in(
            amg_shm_claim_take(0, context, false, named->region.pid),
            (enum amg_shm_claim_state)(how / 2 % 5)));
    atomic_store(&domain->region.head->slot_end, SLOTS);
    atomic_fetch_or(
        &domain->region.contexts[context].rings[0], (uint64_t)1 << slot);
    atomic_fetch_or(&domain->region.contexts[context].events, how / 16 % 4);
    side->is_mad = true;
}

static void copy_choose(struct fuzz *fuzz)
{
    static const char *const ways[] = {"auto", "direct", "cma", "segment"};

    FUZZ_CHECK(setenv("AMALGAM_SHM_COPY", ways[fuzz_u8(fuzz) % 4], 1) == 0);
}

/* Of the shared heap of each side. */
static struct amg_mapping mappings[WORLD_SIDES];

static void side_open(struct world_side *side)
{
    struct amg_mapping *mapping = &mappings[side - world_sides];
    struct amg_area area;
    const struct amg_open how = {
        .info = "",
        .is_listening = true,
        .message_len = MESSAGE,
        .credits = WORLD_CREDITS,
        .max_contexts = WORLD_CONTEXTS,
        .area = &area,
    };

    FUZZ_CHECK(amg_mapping_open("fuzz", MEMORY, mapping) == HG_SUCCESS);
    area = (struct amg_area){mapping->base, mapping->len, mapping->fd};
    FUZZ_CHECK(
        amg_shm_transport.domain.open(&how, &side->domain) == HG_SUCCESS);
    side->memory = calloc(1, MEMORY);
    FUZZ_CHECK(side->memory != NULL);
    side->other_memory = mapping->base;
}

static void side_close(struct world_side *side)
{
    amg_shm_transport.domain.close(side->domain);
    amg_mapping_close(&mappings[side - world_sides]);
    free(side->memory);
}

/* The table may name a live process as accessor that never leaves. */
static void accessors_clear(struct world_side *side)
{
    struct amg_shm_key_table *table =
        amg_shm_domain_of(side->domain)->region.keys;

    FUZZ_CHECK(side->is_mad);
    memset((void *)table->accessors, 0, sizeof(table->accessors));
}

static void nothing_calm(void)
{
}

static void nothing_wait(struct world_side *side, bool is_long)
{
    (void)side;
    (void)is_long;
}

/* Their places are those in the corpus. */
static const world_step_fn steps[] = {
    spoil,
    speak,
    claim,
    world_ask,
    world_move,
    world_turn,
    world_answer,
    world_sleep,
    world_cancel,
};

const struct world_medium world_medium = {
    .driver = &amg_shm_transport,
    .memory_len = MEMORY,
    .longest = LONGEST,
    .is_cut = true,
    .liar_odds = 1,
    .polls_max = POLLS_MAX,
    .steps_max = STEPS_MAX,
    .step_count = sizeof(steps) / sizeof(steps[0]),
    .steps = steps,
    .begin = copy_choose,
    .open = side_open,
    .close = side_close,
    .meets_first = false, /* a first contact may find corrupted segments */
    .calm = nothing_calm,
    .wait = nothing_wait,
    .free_memory = accessors_clear,
};
