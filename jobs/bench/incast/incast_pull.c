/* SPDX-License-Identifier: BSD-3-Clause */
/* What the target of `incast` does with calls that name bulk data.
 *
 * As a server does that has so many buffers and no more: a call that finds none
 * free waits, as a handle, until one is. */
#include "jobs/bench/incast/incast_pull.h"

#include <stdlib.h>

#include "mercury_proc_bulk.h"

/* A call that is pulled, or waits; owned by itself until it is answered. */
struct incast_pull {
    struct incast_pulls *pulls;
    struct incast_pull *next;
    hg_handle_t handle;
    hg_bulk_t remote;
    unsigned place;
};

void incast_pulls_open(
    struct incast_pulls *ret_pulls, struct pair *team, size_t len)
{
    void *landing = team->landing;
    hg_size_t landing_len = (hg_size_t)len * INCAST_PLACES;

    *ret_pulls = (struct incast_pulls){.team = team, .len = len};
    pair_check(team,
        HG_Bulk_create(team->cls, 1, &landing, &landing_len, HG_BULK_READWRITE,
            &ret_pulls->landing),
        "HG_Bulk_create");
    for (unsigned i = 0; i < INCAST_PLACES; i++)
        ret_pulls->free_places[ret_pulls->free_count++] = i;
}

void incast_pulls_close(struct incast_pulls *pulls)
{
    if (pulls->first != NULL || pulls->free_count != INCAST_PLACES)
        pair_fail(pulls->team, "pulls are still under way at the end");
    pair_check(pulls->team, HG_Bulk_free(pulls->landing), "HG_Bulk_free");
}

static hg_return_t pull_ended(const struct hg_cb_info *info);

static void pull_start(struct incast_pull *pull)
{
    struct incast_pulls *pulls = pull->pulls;
    const struct hg_info *info = HG_Get_info(pull->handle);

    pull->place = pulls->free_places[--pulls->free_count];
    pair_check(pulls->team,
        HG_Bulk_transfer(pulls->team->context, pull_ended, pull, HG_BULK_PULL,
            info->addr, pull->remote, 0, pulls->landing,
            pull->place * pulls->len, pulls->len, HG_OP_ID_IGNORE),
        "HG_Bulk_transfer");
}

static void waiting_start(struct incast_pulls *pulls)
{
    struct incast_pull *pull = pulls->first;

    if (pull == NULL)
        return;
    pulls->first = pull->next;
    if (pulls->first == NULL)
        pulls->last = NULL;
    pull_start(pull);
}

static hg_return_t pull_ended(const struct hg_cb_info *info)
{
    struct incast_pull *pull = info->arg;
    struct incast_pulls *pulls = pull->pulls;
    struct pair *team = pulls->team;

    pair_check(team, info->ret, "a pull");
    incast_check(team, team->landing + pull->place * pulls->len, pulls->len,
        "what was pulled");
    pulls->free_places[pulls->free_count++] = pull->place;
    HG_Free_input(pull->handle, &pull->remote);
    pair_check(team, HG_Respond(pull->handle, NULL, NULL, NULL), "HG_Respond");
    HG_Destroy(pull->handle);
    free(pull);
    waiting_start(pulls);
    return HG_SUCCESS;
}

void incast_pull_serve(struct incast_pulls *pulls, hg_handle_t handle)
{
    struct incast_pull *pull = calloc(1, sizeof(*pull));

    if (pull == NULL)
        pair_check(pulls->team, HG_NOMEM, "memory for a pull");
    pull->pulls = pulls;
    pull->handle = handle;
    pair_check(
        pulls->team, HG_Get_input(handle, &pull->remote), "HG_Get_input");
    if (pulls->free_count > 0) {
        pull_start(pull);
        return;
    }
    if (pulls->last == NULL)
        pulls->first = pull;
    else
        pulls->last->next = pull;
    pulls->last = pull;
}
