/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of our segment, and who claimed them. */
#ifndef AMG_SHM_SHM_SLOT_H
#define AMG_SHM_SHM_SLOT_H

#include "shm/shm_domain.h"
#include "shm/shm_life.h"

/* Opens the ring of a new sender. HG_NOMEM: to be tried again; else the sender
 * was refused, or its slot freed. */
hg_return_t amg_shm_slot_open_locked(struct amg_shm_inbox *inbox, uint32_t slot,
    uint64_t claim, struct amg_shm_inring **ret_ring);

/* Was its sender refused? Then it is never opened. */
bool amg_shm_slot_is_refused(
    const struct amg_shm_domain *domain, uint32_t slot);
/* Did a peer that we know, and that has gone, write to it? */
bool amg_shm_slot_is_of_gone_locked(
    const struct amg_shm_domain *domain, uint32_t slot, uint64_t claim);
/* Does who claimed it live? */
enum amg_shm_life amg_shm_slot_life(
    const struct amg_shm_domain *domain, uint32_t slot, uint64_t claim);

/* It is for the next sender. */
void amg_shm_slot_free(struct amg_shm_domain *domain, uint32_t slot);

/* The domain has said that it is closed: tells those who claimed a slot and
 * were never looked at. Others are told as peers. */
void amg_shm_slot_farewell_locked(struct amg_shm_domain *domain);

#endif
