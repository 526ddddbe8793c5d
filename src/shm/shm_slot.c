/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of our segment, and who claimed them.
 *
 * A sender is known when its ring was opened, which maps its segment. Before
 * that, its claim and the name in its ring are all that is known of it. */
#include "shm/shm_slot.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "mercury_class.h"
#include "shm/shm_addr.h"
#include "shm/shm_files.h"
#include "shm/shm_link.h"

/* How long a sender waits until there is a descriptor to map it by. */
#define STARVED_NS (1000 * AMG_NS_PER_MS)

void amg_shm_slot_free(struct amg_shm_domain *domain, uint32_t slot)
{
    _Atomic uint64_t *claim = &domain->region.claims[slot];

    amg_shm_ring_reset(&domain->region.rings[slot]);
    atomic_store_explicit(claim,
        amg_shm_claim_free(atomic_load_explicit(claim, memory_order_relaxed)),
        memory_order_release);
}

bool amg_shm_slot_is_of_gone_locked(
    const struct amg_shm_domain *domain, uint32_t slot, uint64_t claim)
{
    const struct amg_shm_peer *peer = NULL;

    if (amg_shm_claim_state(claim) < AMG_SHM_CLAIM_LIVE)
        return false;
    peer = amg_map_get(&domain->peers, domain->region.rings[slot].incarnation);
    return peer != NULL && peer->state == AMG_SHM_PEER_GONE;
}

bool amg_shm_slot_is_refused(const struct amg_shm_domain *domain, uint32_t slot)
{
    return atomic_load_explicit(&domain->region.rings[slot].watch,
               memory_order_relaxed) == AMG_SHM_REFUSED;
}

/* The name that the sender has left in its ring; false: it is none. */
static bool name_read(
    const struct amg_shm_ring *ring, char ret_name[AMG_SHM_NAME_CAP])
{
    memcpy(ret_name, ring->name, AMG_SHM_NAME_CAP);
    ret_name[AMG_SHM_NAME_CAP - 1] = '\0';
    return amg_shm_name_is_valid(ret_name);
}

/* Of a stranger only the name tells. */
enum amg_shm_life amg_shm_slot_life(
    const struct amg_shm_domain *domain, uint32_t slot, uint64_t claim)
{
    const struct amg_shm_ring *ring = &domain->region.rings[slot];
    char name[AMG_SHM_NAME_CAP];

    if (!amg_shm_claim_is_stranger(claim))
        return amg_shm_files_life(amg_shm_claim_pid(claim), 0);
    if (amg_shm_claim_state(claim) < AMG_SHM_CLAIM_LIVE ||
        !name_read(ring, name))
        return AMG_SHM_UNTOLD;
    return amg_shm_files_stranger(name, ring->incarnation);
}

/* A claim of somebody who cannot be reached. Alive, it will see that it is
 * refused, and leave; dead, or left already, its slot is free. A ring that was
 * refused is never read: what is in it, its sender was told, did not come. */
static void sender_refuse(struct amg_shm_domain *domain, uint32_t slot,
    uint64_t claim, const char *name, hg_return_t why)
{
    struct amg_shm_ring *ring = &domain->region.rings[slot];
    bool is_new = amg_shm_refusal_is_new(domain->refused, ring->incarnation);

    if (why == HG_ADDRNOTAVAIL ||
        amg_shm_claim_state(claim) == AMG_SHM_CLAIM_LEAVING ||
        amg_shm_slot_life(domain, slot, claim) == AMG_SHM_DEAD) {
        amg_shm_slot_free(domain, slot);
        return;
    }
    atomic_store_explicit(&ring->watch, AMG_SHM_REFUSED, memory_order_release);
    if (is_new)
        AMG_LOG_WARNING("shm",
            "na+sm://%s sends here, but its segment cannot be mapped (%s): it "
            "is refused",
            name,
            why == HG_AGAIN ? "no descriptor is left, see ulimit -n"
                            : HG_Error_to_string(why));
}

/* Has no sender been mapped for so long that it is not worth to wait for a
 * descriptor? */
static bool has_starved_locked(struct amg_shm_domain *domain)
{
    uint64_t now_ns = amg_clock_ns();

    if (domain->starved_ns == 0)
        domain->starved_ns = now_ns;
    return now_ns - domain->starved_ns >= STARVED_NS;
}

hg_return_t amg_shm_slot_open_locked(struct amg_shm_inbox *inbox, uint32_t slot,
    uint64_t claim, struct amg_shm_inring **ret_ring)
{
    struct amg_shm_domain *domain = inbox->domain;
    struct amg_shm_ring *shared = &domain->region.rings[slot];
    struct amg_shm_inring *ring = amg_mem_zalloc(sizeof(*ring));
    char name[AMG_SHM_NAME_CAP];
    hg_return_t rc = HG_NOMEM;

    if (ring == NULL)
        return HG_NOMEM;
    rc = name_read(shared, name) ? amg_shm_peer_find_locked(domain, name,
                                       shared->incarnation, &ring->peer)
                                 : HG_PROTOCOL_ERROR;
    if (rc != HG_SUCCESS) {
        amg_mem_free(ring);
        if (rc == HG_AGAIN && !has_starved_locked(domain))
            rc = HG_NOMEM;
        if (rc != HG_NOMEM)
            sender_refuse(domain, slot, claim, name, rc);
        return rc;
    }
    domain->starved_ns = 0;
    amg_shm_in_init(&ring->in, shared,
        !domain->region.has_membarrier || !ring->peer->region.has_membarrier);
    ring->slot = slot;
    ring->context_id = inbox->context_id;
    amg_list_push(&inbox->rings, &ring->link);
    domain->inrings[slot] = ring;
    *ret_ring = ring;
    return HG_SUCCESS;
}

/* Wakes who claimed the slot, by the name that it left there. */
static void stranger_tell_locked(struct amg_shm_domain *domain, uint32_t slot)
{
    const struct amg_shm_ring *shared = &domain->region.rings[slot];
    struct amg_shm_peer *peer = NULL;
    char name[AMG_SHM_NAME_CAP];

    if (!name_read(shared, name) ||
        amg_shm_peer_find_locked(domain, name, shared->incarnation, &peer) !=
            HG_SUCCESS)
        return;
    amg_shm_link_raise_all(peer);
    amg_shm_peer_drop_locked(peer);
}

void amg_shm_slot_farewell_locked(struct amg_shm_domain *domain)
{
    uint32_t end = amg_shm_region_slot_end(&domain->region);

    for (uint32_t i = 0; i < end; i++) {
        uint64_t claim = atomic_load_explicit(
            &domain->region.claims[i], memory_order_acquire);

        if (domain->inrings[i] == NULL &&
            amg_shm_claim_state(claim) == AMG_SHM_CLAIM_LIVE)
            stranger_tell_locked(domain, i);
    }
}
