/* SPDX-License-Identifier: BSD-3-Clause */
/* A malicious peer that writes into shared segments, its own and those of its
 * peers: headers, claims, contexts, rings, msgbufs, tables of keys and bounce
 * buffers; between the steps of their readers, not during one. Its peers stay
 * safe: operations complete, arrivals are no longer than messages, and both
 * sides close without leaks. */
#include "world.h"

#include <string.h>

#include "shm/shm_bulk.h"

enum {
    STEPS_MAX = 32,
    SLOTS = 3,   /* written to: more are not in use */
    ENTRIES = 4, /* likewise */
};

enum step {
    STEP_SPOIL,  /* writes into a segment */
    STEP_SPEAK,  /* puts a cell into a ring, with the right sequence number */
    STEP_CLAIM,  /* claims a slot, under any name */
    STEP_ASK,    /* a valid request */
    STEP_MOVE,   /* a put or get, valid or with an altered key */
    STEP_POLL,   /* one side polls */
    STEP_ANSWER, /* arrivals, or drops them */
    STEP_SLEEP,  /* announces that it will block */
    STEP_CANCEL,
    STEP_COUNT
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
        return (struct part){&region->contexts[index % SHM_CONTEXTS],
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
            amg_shm_region_msgbuf(region, index % ENTRIES), SHM_ROOM};
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

static void spoil(struct fuzz *fuzz, struct shm_side *side)
{
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

/* The other side's writer puts a message that the driver would not send. */
static void speak(struct fuzz *fuzz, struct shm_side *side)
{
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
                                                   : SHM_ROOM);
    } else if (cell.kind % 16 >= AMG_SHM_BULK) {
        struct amg_shm_bulk_request ask;

        memset(&ask, 0, sizeof(ask));
        memcpy(&ask.key, side->key.bytes, sizeof(ask.key));
        ask.offset = fuzz_near(fuzz, 0);
        ask.rest = fuzz_near(fuzz, 100);
        ask.segment = fuzz_u8(fuzz) % (SHM_SHOWN + 2);
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

static void claim(struct fuzz *fuzz, struct shm_side *side)
{
    struct amg_shm_domain *domain = amg_shm_domain_of(side->domain);
    struct amg_shm_domain *named =
        amg_shm_domain_of(shm_sides[fuzz_u8(fuzz) % SHM_SIDES].domain);
    uint32_t slot = fuzz_u8(fuzz) % SLOTS;
    uint8_t context = fuzz_u8(fuzz) % SHM_CONTEXTS;
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

static void move(struct fuzz *fuzz, struct shm_side *side)
{
    const struct shm_side *other = &shm_sides[side == &shm_sides[0] ? 1 : 0];
    uint8_t how = fuzz_u8(fuzz);
    struct amg_segment said[SHM_SEGMENTS];
    uint8_t cuts[SHM_SEGMENTS] = {0};
    struct amg_remote remote = {
        .key = other->key,
        .at = {said, how / 16 % SHM_SEGMENTS + 1,
            fuzz_u8(fuzz) % (SHM_SHOWN + 1), fuzz_near(fuzz, 0)},
    };
    uint64_t len = fuzz_near(fuzz, 1000);

    /* A descriptor need not be true. */
    for (unsigned i = 0; i < SHM_SEGMENTS; i++)
        said[i] = (struct amg_segment){other->memory, fuzz_near(fuzz, 100)};
    (void)fuzz_bytes(fuzz, cuts, sizeof(cuts));

    if ((how & 2) != 0)
        fuzz_spoil(fuzz, remote.key.bytes, sizeof(remote.key.bytes));
    if ((how & 4) != 0)
        len = (uint64_t)fuzz_u16(fuzz) * 2;
    shm_move(side, &remote, cuts, len, (how & 1) != 0);
}

static void step_run(struct fuzz *fuzz, enum step step)
{
    uint8_t how = fuzz_u8(fuzz);
    struct shm_side *side = &shm_sides[how % SHM_SIDES];

    how /= SHM_SIDES;
    switch (step) {
    case STEP_SPOIL:
        spoil(fuzz, side);
        break;
    case STEP_SPEAK:
        speak(fuzz, side);
        break;
    case STEP_CLAIM:
        claim(fuzz, side);
        break;
    case STEP_ASK:
        shm_ask(side, how % 2, how / 2 % 3, fuzz_u16(fuzz), how / 8 % 4 != 0);
        break;
    case STEP_MOVE:
        move(fuzz, side);
        break;
    case STEP_ANSWER:
        shm_release(side, how % 4 != 0);
        break;
    case STEP_SLEEP:
        (void)side->eps[how % 2]->transport->ep.arm(side->eps[how % 2]);
        break;
    case STEP_CANCEL:
        shm_cancel();
        break;
    default:
        shm_poll(side, how);
        break;
    }
}

void fuzz_run(struct fuzz *fuzz)
{
    shm_open(fuzz_u8(fuzz));
    for (unsigned i = 0; i < STEPS_MAX && fuzz->left > 0; i++)
        step_run(fuzz, (enum step)(fuzz_u8(fuzz) % STEP_COUNT));
    shm_close();
}
