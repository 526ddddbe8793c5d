/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleepers, which block until a push into one of several pools. */
#include "ult/ready_pool.h"

#include "base/assert.h"
#include "base/lock.h"

static bool word_change(struct amg_sleeper *sleeper,
    enum amg_sleeper_state from, enum amg_sleeper_state to)
{
    unsigned was = from;

    return atomic_compare_exchange_strong_explicit(
        &sleeper->word, &was, to, memory_order_acq_rel, memory_order_acquire);
}

void amg_sleeper_init(struct amg_sleeper *sleeper)
{
    atomic_init(&sleeper->word, AMG_SLEEPER_AWAKE);
    sleeper->block = NULL;
}

void amg_sleeper_arm(struct amg_sleeper *sleeper, struct amg_block *block)
{
    unsigned was = AMG_SLEEPER_AWAKE;

    sleeper->block = block;
    /* If amg_xstream_ask_claim() finds this sleeper AWAKE, then the check after
     * the arming sees the request of that call, by the fence below. */
    was = atomic_exchange_explicit(&sleeper->word,
        block == NULL ? AMG_SLEEPER_ASLEEP : AMG_SLEEPER_BLOCKED,
        memory_order_seq_cst);
    AMG_ASSERT(was == AMG_SLEEPER_AWAKE);
    atomic_thread_fence(memory_order_seq_cst); /* the exchange is no fence */
}

bool amg_sleeper_sleep(struct amg_sleeper *sleeper, uint64_t deadline_ns)
{
    while (atomic_load_explicit(&sleeper->word, memory_order_acquire) ==
           AMG_SLEEPER_ASLEEP)
        if (!amg_futex_wait_until(
                &sleeper->word, AMG_SLEEPER_ASLEEP, deadline_ns))
            return !word_change(sleeper, AMG_SLEEPER_ASLEEP, AMG_SLEEPER_AWAKE);
    return true;
}

void amg_sleeper_disarm(struct amg_sleeper *sleeper)
{
    if (word_change(sleeper, AMG_SLEEPER_ASLEEP, AMG_SLEEPER_AWAKE) ||
        word_change(sleeper, AMG_SLEEPER_BLOCKED, AMG_SLEEPER_AWAKE))
        return;
    for (unsigned tries = 0; atomic_load_explicit(&sleeper->word,
                                 memory_order_acquire) != AMG_SLEEPER_AWAKE;
         tries++)
        amg_back_off(tries);
}

bool amg_sleeper_claim(struct amg_sleeper *sleeper, struct amg_claim *ret_claim)
{
    if (word_change(sleeper, AMG_SLEEPER_ASLEEP, AMG_SLEEPER_AWAKE))
        ret_claim->was = AMG_SLEEPER_ASLEEP;
    else if (word_change(sleeper, AMG_SLEEPER_BLOCKED, AMG_SLEEPER_WAKING))
        ret_claim->was = AMG_SLEEPER_BLOCKED;
    else
        return false;
    ret_claim->sleeper = sleeper;
    return true;
}

void amg_sleeper_wake_all(struct amg_list *watches)
{
    struct amg_link *link = amg_list_first(watches);

    for (; link != NULL; link = amg_list_next(watches, link)) {
        struct amg_sleeper *sleeper =
            amg_container_of(link, struct amg_watch, link)->sleeper;

        if (word_change(sleeper, AMG_SLEEPER_ASLEEP, AMG_SLEEPER_AWAKE))
            amg_futex_wake(&sleeper->word, 1);
    }
}

void amg_sleeper_wake(const struct amg_claim *claim)
{
    struct amg_block *block = NULL;

    if (claim->was == AMG_SLEEPER_ASLEEP) {
        amg_futex_wake(&claim->sleeper->word, 1);
    } else if (claim->was == AMG_SLEEPER_BLOCKED) {
        block = claim->sleeper->block;
        block->wake(block->arg);
        atomic_store_explicit(
            &claim->sleeper->word, AMG_SLEEPER_AWAKE, memory_order_release);
    }
}
