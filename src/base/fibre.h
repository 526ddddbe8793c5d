/* SPDX-License-Identifier: BSD-3-Clause */
/* Announces stack switches to the sanitizers. In builds without a sanitizer,
 * the functions fill in the state of a stack, and do nothing else. */
#ifndef AMG_BASE_FIBRE_H
#define AMG_BASE_FIBRE_H

#include <stdbool.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AMG_FIBRE_ASAN
#elif __has_feature(thread_sanitizer)
#define AMG_FIBRE_TSAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define AMG_FIBRE_ASAN
#elif defined(__SANITIZE_THREAD__)
#define AMG_FIBRE_TSAN
#endif

/* Sanitizer state of a stack; the owner of the stack embeds it. */
struct amg_fibre {
    void *handle;     /* tsan: the fibre; asan: fake stack while not running */
    const void *base; /* NULL: stack of an OS thread, base not yet known */
    size_t len;
    unsigned uses; /* user-level threads that tsan's fibre has run */
};

/* User-level threads that run on a stack before its tsan fibre is replaced:
 * functions that never return stay in the fibre's call stack of 65536 entries.
 * A new fibre for each thread would cost 0.8 MiB and 0.1 ms. */
#define AMG_FIBRE_USES 1000

#if defined(AMG_FIBRE_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(AMG_FIBRE_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

static inline void amg_fibre_open(
    struct amg_fibre *fibre, const void *base, size_t len)
{
    *fibre = (struct amg_fibre){.base = base, .len = len};
#if defined(AMG_FIBRE_TSAN)
    fibre->handle = __tsan_create_fiber(0);
#endif
}

/* Opens the fibre of the stack on which the caller runs. */
static inline void amg_fibre_open_own(struct amg_fibre *fibre)
{
    *fibre = (struct amg_fibre){.base = NULL};
#if defined(AMG_FIBRE_TSAN)
    fibre->handle = __tsan_get_current_fiber();
#endif
}

/* Called before the next thread runs on the stack. */
static inline void amg_fibre_reuse(struct amg_fibre *fibre)
{
    (void)fibre;
#if defined(AMG_FIBRE_TSAN)
    if (++fibre->uses < AMG_FIBRE_USES)
        return;
    __tsan_destroy_fiber(fibre->handle);
    amg_fibre_open(fibre, fibre->base, fibre->len);
#endif
}

/* Unpoisons the frames above `sp`, where a thread left the stack for good. */
static inline void amg_fibre_clean(struct amg_fibre *fibre, const void *sp)
{
    (void)fibre;
    (void)sp;
#if defined(AMG_FIBRE_ASAN)
    if (fibre->base != NULL && sp != NULL)
        __asan_unpoison_memory_region(
            sp, (size_t)((const char *)fibre->base + fibre->len -
                         (const char *)sp));
#endif
}

static inline void amg_fibre_close(struct amg_fibre *fibre)
{
    (void)fibre;
#if defined(AMG_FIBRE_TSAN)
    if (fibre->base != NULL)
        __tsan_destroy_fiber(fibre->handle);
#endif
}

/* Called right before a switch; `is_last`: `from` never runs again. */
static inline void amg_fibre_leave(
    struct amg_fibre *from, const struct amg_fibre *to, bool is_last)
{
    (void)from;
    (void)to;
    (void)is_last;
#if defined(AMG_FIBRE_ASAN)
    __sanitizer_start_switch_fiber(
        is_last ? NULL : &from->handle, to->base, to->len);
#elif defined(AMG_FIBRE_TSAN)
    __tsan_switch_to_fiber(to->handle, 0);
#endif
}

/* Called right after a switch from the stack `from`, on the stack `here`. */
static inline void amg_fibre_arrive(
    struct amg_fibre *here, struct amg_fibre *from)
{
    (void)here;
    (void)from;
#if defined(AMG_FIBRE_ASAN)
    const void *base = NULL;
    size_t len = 0;

    __sanitizer_finish_switch_fiber(here->handle, &base, &len);
    if (from->base == NULL) {
        from->base = base;
        from->len = len;
    }
#endif
}

#endif
