/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch of stacks on aarch64 (AAPCS64 6.1: x19 to x30, the low halves of
 * v8 to v15 and the control word of floating point are callee-saved).
 *
 * The frame, from its lowest address:
 *    0  d8  d9    16  d10 d11    32  d12 d13    48  d14 d15
 *   64  x19 x20   80  x21 x22    96  x23 x24   112  x25 x26
 *  128  x27 x28  144  x29 x30   160  fpcr, and 8 bytes of padding */
    .text
    .globl  amg_switch
    .type   amg_switch, %function
    .p2align 4
amg_switch:
    .cfi_startproc
    hint    #34                 /* bti c */
    sub     sp, sp, #176
    .cfi_adjust_cfa_offset 176
    mrs     x2, fpcr
    stp     d8, d9, [sp, #0]
    stp     d10, d11, [sp, #16]
    stp     d12, d13, [sp, #32]
    stp     d14, d15, [sp, #48]
    stp     x19, x20, [sp, #64]
    stp     x21, x22, [sp, #80]
    stp     x23, x24, [sp, #96]
    stp     x25, x26, [sp, #112]
    stp     x27, x28, [sp, #128]
    stp     x29, x30, [sp, #144]
    str     x2, [sp, #160]

    mov     x3, sp
    str     x3, [x0]
    mov     sp, x1

    ldr     x2, [sp, #160]
    ldp     d8, d9, [sp, #0]
    ldp     d10, d11, [sp, #16]
    ldp     d12, d13, [sp, #32]
    ldp     d14, d15, [sp, #48]
    ldp     x19, x20, [sp, #64]
    ldp     x21, x22, [sp, #80]
    ldp     x23, x24, [sp, #96]
    ldp     x25, x26, [sp, #112]
    ldp     x27, x28, [sp, #128]
    ldp     x29, x30, [sp, #144]
    msr     fpcr, x2
    add     sp, sp, #176
    .cfi_adjust_cfa_offset -176
    ret
    .cfi_endproc
    .size   amg_switch, . - amg_switch

/* First code on a new stack, which has no caller: calls x19(x20). */
    .globl  amg_switch_first
    .hidden amg_switch_first
    .type   amg_switch_first, %function
    .p2align 4
amg_switch_first:
    .cfi_startproc
    .cfi_undefined x30
    hint    #36                 /* bti j */
    mov     x29, xzr
    mov     x30, xzr
    mov     x0, x20
    blr     x19
    brk     #1
    .cfi_endproc
    .size   amg_switch_first, . - amg_switch_first

    .section .note.GNU-stack, "", %progbits
