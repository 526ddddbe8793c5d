/* SPDX-License-Identifier: BSD-3-Clause */
/* Annotations for clang's analysis of locks (-Wthread-safety); empty for other
 * compilers. */
#ifndef MERCURY_THREAD_ANNOTATION_H
#define MERCURY_THREAD_ANNOTATION_H

#if defined(__clang__)
#define HG_LOCK_ANNOTATION(x) __attribute__((x))
#else
#define HG_LOCK_ANNOTATION(x)
#endif

/* A type that is a lock. */
#define HG_LOCK_CAPABILITY(x) HG_LOCK_ANNOTATION(capability(x))

/* Effects of a function on a lock. */
#define HG_LOCK_ACQUIRE(...) HG_LOCK_ANNOTATION(acquire_capability(__VA_ARGS__))
#define HG_LOCK_ACQUIRE_SHARED(...)                                            \
    HG_LOCK_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define HG_LOCK_RELEASE(...) HG_LOCK_ANNOTATION(release_capability(__VA_ARGS__))
#define HG_LOCK_RELEASE_SHARED(...)                                            \
    HG_LOCK_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define HG_LOCK_TRY_ACQUIRE(...)                                               \
    HG_LOCK_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define HG_LOCK_TRY_ACQUIRE_SHARED(...)                                        \
    HG_LOCK_ANNOTATION(try_acquire_shared_capability(__VA_ARGS__))

/* Conditions under which a function may be called, or a variable used. */
#define HG_LOCK_REQUIRES(...)                                                  \
    HG_LOCK_ANNOTATION(requires_capability(__VA_ARGS__))
#define HG_LOCK_REQUIRES_SHARED(...)                                           \
    HG_LOCK_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define HG_LOCK_EXCLUDES(...) HG_LOCK_ANNOTATION(locks_excluded(__VA_ARGS__))
#define HG_LOCK_GUARDED_BY(x) HG_LOCK_ANNOTATION(guarded_by(x))
#define HG_LOCK_NO_THREAD_SAFETY_ANALYSIS                                      \
    HG_LOCK_ANNOTATION(no_thread_safety_analysis)

#endif
