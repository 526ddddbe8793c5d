/* SPDX-License-Identifier: BSD-3-Clause */
/* The switch of stacks on x86-64 (System V ABI 3.2.1: rbx, rbp, r12 to r15,
 * the control bits of mxcsr and the x87 control word are callee-saved).
 *
 * The frame, from its lowest address:
 *    0  mxcsr    4  x87 control word
 *    8  r12     16  r13     24  r14     32  r15     40  rbx     48  rbp
 *   56  return address */
    .text
    .globl  amg_switch
    .type   amg_switch, @function
    .p2align 4
amg_switch:
    .cfi_startproc
    pushq   %rbp
    .cfi_adjust_cfa_offset 8
    pushq   %rbx
    .cfi_adjust_cfa_offset 8
    pushq   %r15
    .cfi_adjust_cfa_offset 8
    pushq   %r14
    .cfi_adjust_cfa_offset 8
    pushq   %r13
    .cfi_adjust_cfa_offset 8
    pushq   %r12
    .cfi_adjust_cfa_offset 8
    subq    $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw  4(%rsp)

    movq    %rsp, (%rdi)
    movq    %rsi, %rsp

    ldmxcsr (%rsp)
    fldcw   4(%rsp)
    addq    $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq    %r12
    .cfi_adjust_cfa_offset -8
    popq    %r13
    .cfi_adjust_cfa_offset -8
    popq    %r14
    .cfi_adjust_cfa_offset -8
    popq    %r15
    .cfi_adjust_cfa_offset -8
    popq    %rbx
    .cfi_adjust_cfa_offset -8
    popq    %rbp
    .cfi_adjust_cfa_offset -8
    /* A jump, as the processor would predict a return into the old thread. */
    popq    %rdx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rdx
    jmp     *%rdx
    .cfi_endproc
    .size   amg_switch, . - amg_switch

/* First code on a new stack, which has no caller: calls r12(r13). */
    .globl  amg_switch_first
    .hidden amg_switch_first
    .type   amg_switch_first, @function
    .p2align 4
amg_switch_first:
    .cfi_startproc
    .cfi_undefined %rip
    xorl    %ebp, %ebp
    movq    %r13, %rdi
    callq   *%r12
    ud2
    .cfi_endproc
    .size   amg_switch_first, . - amg_switch_first

    .section .note.GNU-stack, "", @progbits
