/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand: a call that the library makes to the C library, to MPI or
 * to libfabric fails, with a code that it may return. A program links this
 * library before all others, or has it by LD_PRELOAD. Calls that other code
 * makes are passed on and not counted.
 *
 * In the environment: AMALGAM_TEST_FAULT=NAME:N, the N-th call of NAME fails;
 * AMALGAM_TEST_FAULT=any:1/N:SEED, each call fails with that probability, and
 * which ones follows from SEED, the rank and the number of the call. */
#ifndef TESTS_FAULT_INJECT_INJECT_H
#define TESTS_FAULT_INJECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>

/* The calls that can fail; their names are in inject.c. */
enum inject_call {
    INJECT_ALLOC, /* every allocation of the library, whatever it calls */
    INJECT_EPOLL_CREATE,
    INJECT_EPOLL_CTL,
    INJECT_EPOLL_PWAIT2,
    INJECT_EPOLL_WAIT,
    INJECT_EVENTFD,
    INJECT_FALLOCATE,
    INJECT_FCNTL,
    INJECT_FLOCK,
    INJECT_FOPEN,
    INJECT_FSTAT,
    INJECT_FTRUNCATE,
    INJECT_LINKAT,
    INJECT_MADVISE,
    INJECT_MEMBARRIER,
    INJECT_MEMFD_CREATE,
    INJECT_MKFIFO,
    INJECT_MMAP,
    INJECT_MPROTECT,
    INJECT_OPEN,
    INJECT_OPENDIR,
    INJECT_PIDFD_OPEN,
    INJECT_PIPE,
    INJECT_POLL,
    INJECT_POSIX_FALLOCATE,
    INJECT_PPOLL,
    INJECT_PROCESS_VM_READV,
    INJECT_PROCESS_VM_WRITEV,
    INJECT_PTHREAD_CREATE,
    INJECT_SHM_OPEN,
    INJECT_SOCKET,
    INJECT_STAT,
    INJECT_TIMERFD_CREATE,
    INJECT_WRITE,
    INJECT_MPI_FIRST,
    INJECT_MPI_ACCUMULATE = INJECT_MPI_FIRST,
    INJECT_MPI_COMM_CREATE_GROUP,
    INJECT_MPI_COMM_IDUP,
    INJECT_MPI_FETCH_AND_OP,
    INJECT_MPI_IALLREDUCE,
    INJECT_MPI_IBARRIER,
    INJECT_MPI_IEXSCAN,
    INJECT_MPI_IMPROBE,
    INJECT_MPI_IMRECV,
    INJECT_MPI_IPROBE,
    INJECT_MPI_IRECV,
    INJECT_MPI_ISEND,
    INJECT_MPI_RACCUMULATE,
    INJECT_MPI_RGET,
    INJECT_MPI_RGET_ACCUMULATE,
    INJECT_MPI_RPUT,
    INJECT_MPI_TYPE_CONTIGUOUS,
    INJECT_MPI_WIN_ATTACH,
    INJECT_MPI_WIN_CREATE,
    INJECT_MPI_WIN_CREATE_DYNAMIC,
    INJECT_MPI_WIN_FLUSH,
    INJECT_OFI_FIRST,
    INJECT_FI_AV_INSERT = INJECT_OFI_FIRST,
    INJECT_FI_AV_OPEN,
    INJECT_FI_CQ_OPEN,
    INJECT_FI_CQ_WAIT_FD,
    INJECT_FI_DOMAIN,
    INJECT_FI_ENABLE,
    INJECT_FI_ENDPOINT,
    INJECT_FI_FABRIC,
    INJECT_FI_GETINFO,
    INJECT_FI_GETNAME,
    INJECT_FI_INJECT,
    INJECT_FI_MR_REG,
    INJECT_FI_READMSG,
    INJECT_FI_RECVMSG,
    INJECT_FI_SEND,
    INJECT_FI_WRITEMSG,
    INJECT_CALLS
};

const char *inject_name(enum inject_call call);

/* From now on the n-th call fails (1 is the next one), and no other; `n` 0:
 * none fails. All counts restart. */
void inject_arm(enum inject_call call, uint64_t n);
/* From now on each call fails with probability 1 / `one_in`. */
void inject_arm_often(uint64_t one_in, uint64_t seed);

/* Calls since it was armed, and how many calls of all kinds failed. */
uint64_t inject_count(enum inject_call call);
uint64_t inject_failed(void);
/* Blocks of memory that the library has. */
uint64_t inject_live(void);
/* Of the calls: those before the first MPI_Iallreduce. */
uint64_t inject_count_alone(enum inject_call call);

/* For the stand-ins. Returns the code with which the call fails, or 0.
 * `caller`: an address in the code that makes the call; NULL: the library. */
int inject_code(enum inject_call call, const void *caller);
/* The function behind the stand-in of that name. */
void *inject_next(enum inject_call call, const char *symbol);
/* Installs the stand-ins of libfabric. */
void inject_ofi_begin(void);

#define INJECT_CODE(call) inject_code((call), __builtin_return_address(0))

#endif
