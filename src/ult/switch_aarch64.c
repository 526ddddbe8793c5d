/* SPDX-License-Identifier: BSD-3-Clause */
/* The first frame of a stack on aarch64, as switch_aarch64.S pops it. */
#include <stdint.h>
#include <string.h>

#include "ult/switch.h"

struct aarch64_frame {
    uint64_t d8_to_d15[8];
    void (*x19)(void *arg);
    void *x20;
    void *x21_to_x28[8];
    void *x29;
    void (*x30)(void);
    uint64_t fpcr;
    uint64_t fill;
};

const char amg_switch_name[] = "aarch64";

/* First code on a new stack, in switch_aarch64.S; not called from C. */
__attribute__((visibility("hidden"))) void amg_switch_first(void);

void *amg_switch_prepare(
    void *base, size_t len, void (*entry)(void *arg), void *arg)
{
    uintptr_t top = ((uintptr_t)base + len) & ~(uintptr_t)15;
    struct aarch64_frame *frame =
        (struct aarch64_frame *)(void *)(top - sizeof(*frame));

    memset(frame, 0, sizeof(*frame));
    __asm__ volatile("mrs %0, fpcr" : "=r"(frame->fpcr));
    frame->x19 = entry;
    frame->x20 = arg;
    frame->x30 = amg_switch_first;
    return frame;
}
