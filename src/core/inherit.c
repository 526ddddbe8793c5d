/* SPDX-License-Identifier: BSD-3-Clause */
/* Open classes of the process, which a child of fork() inherits.
 *
 * A child has the memory of all objects, but none of the parent's threads, and
 * shares segments, descriptors and connections with the parent: a use of such
 * an object by the child would act in the parent's name, and an object that
 * another thread was changing during fork() is half changed in the child. So
 * the child uses no inherited object. A fork handler of this file marks the
 * objects before fork() returns in the child: each class by its state, each
 * context by a NULL `cls`. From then on the checks of every public call refuse
 * marked objects, at no cost for the parent. A call that ends such an object
 * succeeds and does nothing: the memory of the object is shared with the parent
 * until a process writes it, and is never freed in the child.
 *
 * fork() holds the lock of the list while the kernel copies the memory, so the
 * child sees all classes. fork() also holds the locks of data that classes
 * share (AMG_LOCK_KEPT): the child needs that data to open classes of its own.
 * The child takes no other lock that another thread may have held. Memory for
 * bulk transfers, which is a shared mapping, becomes private to the child.
 *
 * Classes that the child opens afterwards are its own. */
#include <pthread.h>

#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/process.h"
#include "core/context.h"

/* Guards `classes`; taken before the locks of a class. */
static struct amg_lock classes_lock;
static struct amg_list classes = {{&classes.head, &classes.head}};

static void fork_begin(void)
{
    amg_lock_lock(&classes_lock);
}

static void fork_end(void)
{
    amg_lock_unlock(&classes_lock);
}

/* Replaces send_unsent() of the context: refuses a call or an answer. */
static hg_return_t inherited_refuse(hg_context_t *context, bool is_final)
{
    (void)is_final;
    (void)amg_contract_not_ours(
        "HG_Forward or HG_Respond", "handle", context, true);
    return amg_refusal();
}

/* Refuses calls from now on. If a callback has called fork(), the progress call
 * that runs this callback finds nothing more to do in the child. */
static void context_inherit(hg_context_t *context)
{
    context->parents = context->cls;
    context->cls = NULL;
    context->hot[0] = NULL;
    context->keeps[0] = NULL;
    context->rare.route = AMG_ROUTE_COUNT;
    context->ops.send_unsent = inherited_refuse;
    atomic_store_explicit(&context->unsent, 1u, memory_order_relaxed);
    atomic_store_explicit(
        &context->look_ns, AMG_CONTEXT_NEVER, memory_order_relaxed);
    amg_cq_init(&context->cq);
    amg_cq_init(&context->incoming);
}

static void class_inherit(hg_class_t *cls)
{
    const struct amg_area *area = amg_class_pool_area(cls->pool);

    for (unsigned id = 0; id < 256; id++)
        if (cls->contexts[id] != NULL)
            context_inherit(cls->contexts[id]);
    if (cls->plan.owner == NULL && area != NULL)
        amg_mapping_unshare(area->base, area->len, area->fd);
    amg_lock_init(&cls->report_lock); /* a thread of the parent may hold it */
    cls->is_reported = false;
    /* NOTE(not by amg_class_set_state()): that function logs, and a log
     * function may not run here. */
    cls->state = AMG_CLASS_INHERITED;
}

static void fork_end_child(void)
{
    struct amg_link *link = NULL;

    amg_status_inherit();
    while ((link = amg_list_pop(&classes)) != NULL)
        class_inherit(amg_container_of(link, struct hg_class, opened));
    amg_lock_init(&classes_lock);
}

static void fork_watch(void)
{
    amg_fork_watch();
    amg_fork_tell(fork_begin, fork_end, fork_end_child);
}

/* Makes progress in all domains but `waiting`. NOTE(not a leaf lock): drivers
 * take locks. Returns if `classes_lock` is held, and the caller tries again:
 * the holder makes progress, or is this thread itself, in an outer call. */
static void others_move(const struct amg_domain *waiting)
{
    if (!amg_lock_trylock(&classes_lock))
        return;
    for (struct amg_link *link = amg_list_first(&classes); link != NULL;
         link = amg_list_next(&classes, link)) {
        hg_class_t *cls = amg_container_of(link, struct hg_class, opened);

        for (unsigned i = 0; i < AMG_ROUTE_COUNT; i++)
            if (cls->domains[i] != NULL && cls->domains[i] != waiting &&
                cls->domains[i]->progress != NULL)
                cls->domains[i]->progress(cls->domains[i]);
    }
    amg_lock_unlock(&classes_lock);
}

void amg_classes_join(hg_class_t *cls)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, fork_watch);
    /* Written once, as threads that wait in a borrowed domain read `others`. */
    for (unsigned i = 0; i < AMG_ROUTE_COUNT; i++)
        if (cls->domains[i] != NULL && cls->domains[i]->others == NULL)
            cls->domains[i]->others = others_move;
    amg_lock_lock(&classes_lock);
    amg_list_push(&classes, &cls->opened);
    amg_lock_unlock(&classes_lock);
}

void amg_classes_leave(hg_class_t *cls)
{
    amg_lock_lock(&classes_lock);
    amg_list_remove(&cls->opened);
    amg_lock_unlock(&classes_lock);
}

bool amg_classes_look(
    unsigned index, void (*look)(hg_class_t *cls, void *arg), void *arg)
{
    struct amg_link *link = NULL;

    amg_lock_lock(&classes_lock);
    link = amg_list_first(&classes);
    for (; link != NULL && index > 0; index--)
        link = amg_list_next(&classes, link);
    if (link != NULL)
        look(amg_container_of(link, struct hg_class, opened), arg);
    amg_lock_unlock(&classes_lock);
    return link != NULL;
}
