/* SPDX-License-Identifier: BSD-3-Clause */
/* The first frame of a stack on x86-64, as switch_x86_64.S pops it. */
#include <stdint.h>
#include <string.h>

#include "ult/switch.h"

struct x86_64_frame {
    uint32_t mxcsr;
    uint32_t x87_control;
    void (*r12)(void *arg);
    void *r13;
    void *r14;
    void *r15;
    void *rbx;
    void *rbp;
    void (*goes_on)(void);
};

const char amg_switch_name[] = "x86-64";

/* First code on a new stack, in switch_x86_64.S; not called from C. */
__attribute__((visibility("hidden"))) void amg_switch_first(void);

void *amg_switch_prepare(
    void *base, size_t len, void (*entry)(void *arg), void *arg)
{
    uintptr_t top = ((uintptr_t)base + len) & ~(uintptr_t)15;
    /* Once the frame is popped the stack is aligned to 16, as before a call. */
    struct x86_64_frame *frame =
        (struct x86_64_frame *)(void *)(top - 16 - sizeof(*frame));

    memset(frame, 0, sizeof(*frame));
    __asm__ volatile("stmxcsr %0" : "=m"(frame->mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(frame->x87_control));
    frame->r12 = entry;
    frame->r13 = arg;
    frame->goes_on = amg_switch_first;
    return frame;
}
