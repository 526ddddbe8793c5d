/* SPDX-License-Identifier: BSD-3-Clause */
/* Assertions, contracts, test points, and the names of return codes. */
#include "base/assert.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "mercury_class.h"

enum { TEXT_CAP = 256 };

const char *HG_Error_to_string(hg_return_t errnum)
{
#define X(name) [name] = #name,
    static const char *const names[] = {HG_RETURN_VALUES};
#undef X

    if ((unsigned)errnum >= (unsigned)HG_RETURN_MAX)
        return NULL;
    return names[errnum];
}

void amg_assert_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "amalgam: %s:%d: internal error: %s does not hold\n", file,
        line, what);
    fflush(stderr);
    abort();
}

/* The last check that failed in this thread, if it failed because the object is
 * inherited; `call` NULL: the check failed for another reason. */
static _Thread_local struct {
    const char *call;
    const char *kind;
} inherited;

static hg_return_t refused(hg_return_t rc_inherited)
{
    return inherited.call != NULL ? rc_inherited : HG_INVALID_ARG;
}

hg_return_t amg_refusal(void)
{
    static atomic_uint told; /* id of the process that has logged */
    unsigned pid = (unsigned)getpid();

    if (inherited.call != NULL &&
        atomic_exchange_explicit(&told, pid, memory_order_relaxed) != pid)
        AMG_LOG_ERROR("cls",
            "%s(): the %s belongs to the parent of this process, and only "
            "the parent can use it: open a class after fork(); this and "
            "further calls end with HG_OPNOTSUPPORTED",
            inherited.call, inherited.kind);
    return refused(HG_OPNOTSUPPORTED);
}

hg_return_t amg_refusal_end(void)
{
    return refused(HG_SUCCESS);
}

bool amg_contract_broken(const char *call, const char *form, ...)
{
    char text[TEXT_CAP];
    va_list args;

    inherited.call = NULL;
    va_start(args, form);
    (void)vsnprintf(text, sizeof(text), form, args);
    va_end(args);
    AMG_LOG_ERROR("cls", "%s(): %s", call, text);
    if (amg_env_number(AMG_ENV_ABORT_ON_MISUSE) != 0)
        amg_assert_fail(text, call, 0);
    return false;
}

bool amg_contract_gone(const char *call, const char *kind, const void *object)
{
    return object == NULL
               ? amg_contract_broken(call, "the %s is NULL", kind)
               : amg_contract_broken(call,
                     "the %s %p was destroyed or freed before", kind, object);
}

bool amg_contract_not_ours(
    const char *call, const char *kind, const void *object, bool is_inherited)
{
    if (!is_inherited)
        return amg_contract_gone(call, kind, object);
    inherited.call = call;
    inherited.kind = kind;
    return false;
}

/* Release store in amg_test_point_set(), acquire load in
 * amg_test_point_reach(). */
static _Atomic(amg_test_point_fn) hook;

void amg_test_point_set(amg_test_point_fn fn)
{
    atomic_store_explicit(&hook, fn, memory_order_release);
}

void amg_test_point_reach(const char *name)
{
    amg_test_point_fn fn = atomic_load_explicit(&hook, memory_order_acquire);

    if (fn != NULL)
        fn(name);
}
