/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of libfabric that the shim hands out. */
#include "ofi/shim/shim_objects.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

enum { BUCKETS = 4096 };

/* Replaces the functions of an object. */
static struct fi_ops mark;

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
/* By their address. */
static struct shim_object *all[BUCKETS];

/* Its address identifies the thread. */
static _Thread_local char myself;

static struct shim_object **bucket_of(const void *start)
{
    return &all[(uintptr_t)start / 16 * 0x9e3779b97f4a7c15ull >> 52];
}

void *shim_alloc(size_t len)
{
    void *bytes = calloc(1, len);

    if (bytes == NULL) {
        fprintf(stderr, "shim: no memory\n");
        exit(EXIT_FAILURE);
    }
    return bytes;
}

void shim_object_init(struct fid *public, struct shim_object *object,
    const char *kind, struct fid *real, struct shim_object *parent)
{
    public->fclass = real == NULL ? 0 : real->fclass;
    public->context = object;
    public->ops = &mark;
    object->kind = kind;
    object->real = real;
    object->parent = parent;
    if (parent != NULL)
        parent->children++;
    pthread_mutex_lock(&all_lock);
    object->next = *bucket_of(public);
    *bucket_of(public) = object;
    pthread_mutex_unlock(&all_lock);
}

struct shim_object *shim_object_of(
    struct fid *fid, const char *kind, const char *call)
{
    struct shim_object *object = NULL;

    if (fid == NULL || fid->ops != &mark)
        shim_breach(call, "%p is no object of the provider", (void *)fid);
    object = fid->context;
    if (kind != NULL && strcmp(object->kind, kind) != 0)
        shim_breach(call, "it wants the %s, not the %s", kind, object->kind);
    if (object->is_closed)
        shim_breach(call, "the %s is used after its close", object->kind);
    return object;
}

struct shim_mr *shim_object_find_mr(const void *desc)
{
    struct shim_object *object = NULL;

    pthread_mutex_lock(&all_lock);
    object = *bucket_of(desc);
    while (object != NULL &&
           (strcmp(object->kind, "mr") != 0 ||
               amg_container_of(object, struct shim_mr, object) != desc))
        object = object->next;
    pthread_mutex_unlock(&all_lock);
    return object == NULL ? NULL
                          : amg_container_of(object, struct shim_mr, object);
}

void shim_object_check_all(void)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct shim_object *object = all[i]; object != NULL;
             object = object->next)
            if (!object->is_closed)
                shim_breach("exit", "the %s is left open", object->kind);
}

void shim_enter(struct shim_domain *domain, const char *call)
{
    const char *nobody = NULL;

    if (!atomic_compare_exchange_strong(&domain->inside, &nobody, &myself))
        shim_breach(call,
            "two threads are in the domain at once, which was opened with "
            "FI_THREAD_DOMAIN");
}

void shim_leave(struct shim_domain *domain)
{
    atomic_store(&domain->inside, NULL);
}
