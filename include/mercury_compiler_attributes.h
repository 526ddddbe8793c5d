/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiler attributes under portable names; empty for a compiler without such
 * attributes. */
#ifndef MERCURY_COMPILER_ATTRIBUTES_H
#define MERCURY_COMPILER_ATTRIBUTES_H

#if defined(__GNUC__)
#define HG_ATTR_ABI_IMPORT         __attribute__((visibility("default")))
#define HG_ATTR_ABI_EXPORT         __attribute__((visibility("default")))
#define HG_ATTR_ABI_HIDDEN         __attribute__((visibility("hidden")))
#define HG_ATTR_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define HG_ATTR_UNUSED             __attribute__((unused))
#define HG_ATTR_PACKED_PUSH
#define HG_ATTR_PACKED_POP         __attribute__((packed))
#define HG_ATTR_ALIGNED(x, a)      x __attribute__((aligned(a)))
#define HG_ATTR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

#define HG_ATTR_CONSTRUCTOR             __attribute__((constructor))
#define HG_ATTR_CONSTRUCTOR_PRIORITY(n) __attribute__((constructor(n)))
#define HG_ATTR_DESTRUCTOR              __attribute__((destructor))
#else
#define HG_ATTR_ABI_IMPORT
#define HG_ATTR_ABI_EXPORT
#define HG_ATTR_ABI_HIDDEN
#define HG_ATTR_WARN_UNUSED_RESULT
#define HG_ATTR_UNUSED
#define HG_ATTR_PACKED_PUSH
#define HG_ATTR_PACKED_POP
#define HG_ATTR_ALIGNED(x, a) x
#define HG_ATTR_PRINTF(fmt, first)
#define HG_ATTR_CONSTRUCTOR
#define HG_ATTR_CONSTRUCTOR_PRIORITY(n)
#define HG_ATTR_DESTRUCTOR
#endif

/* A packed type is written between _PUSH and _POP, or as the argument `x`. */
#define HG_ATTR_PACKED(x) HG_ATTR_PACKED_PUSH x HG_ATTR_PACKED_POP

#if defined(__GNUC__) && __GNUC__ >= 7
#define HG_ATTR_FALLTHROUGH __attribute__((fallthrough))
#else
#define HG_ATTR_FALLTHROUGH                                                    \
    do {                                                                       \
    } while (0)
#endif

#endif
