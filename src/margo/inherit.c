/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances that a child of fork() inherits.
 *
 * A child has the memory of an instance, but no thread that runs its loop or
 * its handlers: a wait for these threads would never end, and a lock that such
 * a thread held during fork() stays locked. So before fork() returns in the
 * child, a handler of fork() sets the state of each instance of the parent to
 * INHERITED, the last state: calls find the instance stopped before they lock
 * or wait, like after its end. Calls that end the instance return at once, with
 * success: the instance ends in the parent.
 *
 * The list is locked while the kernel copies the memory. */
#include "base/assert.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/process.h"
#include "margo/instance.h"

static struct amg_lock lock;
/* Open instances of this process; and of its parent. */
static struct amg_list all = {{&all.head, &all.head}};
static struct amg_list inherited = {{&inherited.head, &inherited.head}};

static void fork_begin(void)
{
    amg_lock_lock(&lock);
}

static void fork_end(void)
{
    amg_lock_unlock(&lock);
}

static void fork_end_child(void)
{
    struct amg_link *link = NULL;

    while ((link = amg_list_pop(&all)) != NULL) {
        /* NOTE(not by amg_margo_set_state()): from any state. */
        atomic_store_explicit(
            &amg_container_of(link, struct margo_instance, kept)->state,
            AMG_MARGO_INHERITED, memory_order_relaxed);
        amg_list_push(&inherited, link);
    }
    amg_lock_init(&lock);
}

void amg_margo_inherit_join(margo_instance_id mid)
{
    static atomic_flag is_watched = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set_explicit(&is_watched, memory_order_relaxed))
        amg_fork_tell(fork_begin, fork_end, fork_end_child);
    amg_lock_lock(&lock);
    amg_list_push(&all, &mid->kept);
    amg_lock_unlock(&lock);
}

void amg_margo_inherit_leave(margo_instance_id mid)
{
    amg_lock_lock(&lock);
    if (amg_link_is_listed(&mid->kept)) /* opened completely */
        amg_list_remove(&mid->kept);
    amg_lock_unlock(&lock);
}

bool amg_margo_inherits(margo_instance_id mid)
{
    struct amg_link *link = NULL;
    bool is_found = false;

    amg_lock_lock(&lock);
    link = amg_list_first(&inherited);
    for (; link != NULL && !is_found; link = amg_list_next(&inherited, link))
        is_found = amg_container_of(link, struct margo_instance, kept) == mid;
    amg_lock_unlock(&lock);
    return is_found;
}

hg_return_t amg_margo_refusal(const char *call, margo_instance_id mid)
{
    (void)amg_contract_not_ours(call, "instance", mid, true);
    return amg_refusal();
}
