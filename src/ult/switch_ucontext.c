/* SPDX-License-Identifier: BSD-3-Clause */
/* Stack switch by functions of the C library, for machines without assembly
 * here. Each switch makes a system call, which saves the signal mask.
 *
 * The saved context of a stack is a ucontext_t on that stack. */
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "base/assert.h"
#include "ult/switch.h"

/* makecontext() passes int arguments only. Two arguments carry the address of
 * this struct, which has the function and its argument. */
struct ucontext_frame {
    ucontext_t context; /* first: its address is the frame's */
    void (*entry)(void *arg);
    void *arg;
};

const char amg_switch_name[] = "ucontext";

static void switch_first(unsigned high, unsigned low)
{
    uintptr_t bits = (uintptr_t)((uint64_t)high << 32 | low);
    struct ucontext_frame *frame = (struct ucontext_frame *)(void *)bits;

    frame->entry(frame->arg);
    AMG_ASSERT(!"an entry has returned");
}

void *amg_switch_prepare(
    void *base, size_t len, void (*entry)(void *arg), void *arg)
{
    uintptr_t top = ((uintptr_t)base + len - sizeof(struct ucontext_frame)) &
                    ~(uintptr_t)63;
    struct ucontext_frame *frame = (struct ucontext_frame *)(void *)top;
    uint64_t bits = (uint64_t)(uintptr_t)frame;

    memset(frame, 0, sizeof(*frame));
    AMG_ASSERT(getcontext(&frame->context) == 0);
    frame->context.uc_stack.ss_sp = base;
    frame->context.uc_stack.ss_size = (size_t)(top - (uintptr_t)base);
    frame->entry = entry;
    frame->arg = arg;
    makecontext(&frame->context, (void (*)(void))switch_first, 2,
        (unsigned)(bits >> 32), (unsigned)bits);
    return frame;
}

void amg_switch(void **ret_sp, void *to)
{
    ucontext_t here;

    *ret_sp = &here;
    AMG_ASSERT(swapcontext(&here, to) == 0);
}
