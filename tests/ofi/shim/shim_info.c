/* SPDX-License-Identifier: BSD-3-Clause */
/* Description of the provider (struct fi_info): the real one, with stricter
 * demands. Each info that is handed out has the real one beside it. */
#include <pthread.h>
#include <stdlib.h>

#include "ofi/shim/shim_objects.h"

struct info_pair {
    struct info_pair *next;
    struct fi_info *shown;
    struct fi_info *real; /* NULL: hints */
};

static pthread_mutex_t pairs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct info_pair *pairs;

static void pair_add(struct fi_info *shown, struct fi_info *real)
{
    struct info_pair *pair = shim_alloc(sizeof(*pair));

    *pair = (struct info_pair){.shown = shown, .real = real};
    pthread_mutex_lock(&pairs_lock);
    pair->next = pairs;
    pairs = pair;
    pthread_mutex_unlock(&pairs_lock);
}

/* The link to the pair of `info`; the lock is held. */
static struct info_pair **pair_find(
    const struct fi_info *info, const char *call)
{
    struct info_pair **at = &pairs;

    while (*at != NULL && (*at)->shown != info)
        at = &(*at)->next;
    if (*at == NULL)
        shim_breach(call, "the info %p is none, or was freed", (void *)info);
    return at;
}

struct fi_info *shim_info_real(const struct fi_info *info, const char *call)
{
    struct fi_info *real = NULL;

    pthread_mutex_lock(&pairs_lock);
    real = (*pair_find(info, call))->real;
    pthread_mutex_unlock(&pairs_lock);
    if (real == NULL)
        shim_breach(
            call, "the info %p was not got from getinfo()", (void *)info);
    return real;
}

struct fi_info *shim_info_dup(const struct fi_info *info)
{
    struct fi_info *shown = NULL;
    struct fi_info *real = NULL;

    if (info != NULL) {
        pthread_mutex_lock(&pairs_lock);
        real = (*pair_find(info, "dupinfo"))->real;
        pthread_mutex_unlock(&pairs_lock);
    }
    shown = fi_dupinfo(info);
    if (shown != NULL)
        pair_add(shown, real == NULL ? NULL : fi_dupinfo(real));
    return shown;
}

void shim_info_free(struct fi_info *info)
{
    for (struct fi_info *at = info; at != NULL; at = at->next) {
        struct info_pair **place = NULL;
        struct info_pair *pair = NULL;

        pthread_mutex_lock(&pairs_lock);
        place = pair_find(at, "freeinfo");
        pair = *place;
        *place = pair->next;
        pthread_mutex_unlock(&pairs_lock);
        fi_freeinfo(pair->real);
        free(pair);
    }
    fi_freeinfo(info);
}

void shim_info_check_all(void)
{
    if (pairs != NULL)
        shim_breach("exit", "the info %p is not freed", (void *)pairs->shown);
}

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* With the demands of the profile. */
static void info_tighten(struct fi_info *info, const struct fi_info *hints)
{
    const struct shim_profile *p = shim_profile;

    info->mode = p->mode;
    info->domain_attr->mr_mode = (int)p->mr_mode;
    info->domain_attr->mr_key_size =
        p->mr_mode & FI_MR_PROV_KEY ? 8 : p->key_len;
    info->domain_attr->mr_iov_limit = 1;
    info->domain_attr->threading = hints->domain_attr->threading;
    info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    info->domain_attr->cq_data_size = 4;
    info->ep_attr->max_msg_size =
        smaller(info->ep_attr->max_msg_size, p->message_max);
    info->tx_attr->inject_size =
        smaller(info->tx_attr->inject_size, p->inject_len);
    info->tx_attr->iov_limit = smaller(info->tx_attr->iov_limit, p->iov_max);
    info->rx_attr->iov_limit = smaller(info->rx_attr->iov_limit, p->iov_max);
    info->tx_attr->rma_iov_limit =
        smaller(info->tx_attr->rma_iov_limit, p->rma_iov_max);
}

/* Hints for the real provider, without the demands of the shim. */
static struct fi_info *hints_loosen(const struct fi_info *hints)
{
    struct fi_info *loose = fi_dupinfo(hints);

    if (loose == NULL)
        return NULL;
    loose->domain_attr->mr_mode = 0;
    loose->mode = FI_CONTEXT | FI_CONTEXT2;
    return loose;
}

int shim_info_get(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
    const struct shim_profile *p = shim_profile;
    struct fi_info *loose = NULL;
    int code = 0;

    if (hints == NULL)
        shim_breach("getinfo", "there are no hints");
    if (((uint64_t)hints->domain_attr->mr_mode & p->mr_mode) != p->mr_mode ||
        (hints->mode & p->mode) != p->mode)
        return -FI_ENODATA;
    loose = hints_loosen(hints);
    if (loose == NULL)
        return -FI_ENOMEM;
    code = fi_getinfo(version, node, service, flags, loose, ret_info);
    fi_freeinfo(loose);
    for (struct fi_info *at = code == 0 ? *ret_info : NULL; at != NULL;
         at = at->next) {
        pair_add(at, fi_dupinfo(at));
        info_tighten(at, hints);
    }
    return code;
}
