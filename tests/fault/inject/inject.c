/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand: which call fails. */
#include "fault/inject/inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#ifdef AMALGAM_HAS_MPI
#include <mpi.h>
#endif
#ifdef AMALGAM_HAS_OFI
#include <rdma/fi_errno.h>
#endif

enum { CODES_MAX = 3, RANGES_MAX = 8 };

#define LIBRARY "libamalgam"

/* Codes are positive here. */
static const struct row {
    const char *name;
    int codes[CODES_MAX];
} rows[INJECT_CALLS] = {
    [INJECT_ALLOC] = {"alloc", {ENOMEM}},
    [INJECT_EPOLL_CREATE] = {"epoll_create1", {EMFILE, ENOMEM}},
    [INJECT_EPOLL_CTL] = {"epoll_ctl", {ENOMEM, ENOSPC}},
    [INJECT_EPOLL_PWAIT2] = {"epoll_pwait2", {EINTR}},
    [INJECT_EPOLL_WAIT] = {"epoll_wait", {EINTR}},
    [INJECT_EVENTFD] = {"eventfd", {EMFILE, ENOMEM}},
    [INJECT_FALLOCATE] = {"fallocate", {ENOSPC, EINTR}},
    [INJECT_FCNTL] = {"fcntl", {ENOLCK, EMFILE}},
    [INJECT_FLOCK] = {"flock", {ENOLCK, EINTR}},
    [INJECT_FOPEN] = {"fopen", {EMFILE, ENOMEM}},
    [INJECT_FSTAT] = {"fstat", {ENOMEM}},
    [INJECT_FTRUNCATE] = {"ftruncate", {ENOMEM, EINTR}},
    [INJECT_LINKAT] = {"linkat", {ENOSPC, ENOMEM, ENOENT}},
    [INJECT_MADVISE] = {"madvise", {EAGAIN, ENOMEM}},
    [INJECT_MEMBARRIER] = {"membarrier", {ENOMEM}},
    [INJECT_MEMFD_CREATE] = {"memfd_create", {EMFILE, ENOMEM}},
    [INJECT_MKFIFO] = {"mkfifo", {ENOSPC, ENOMEM}},
    [INJECT_MMAP] = {"mmap", {ENOMEM, ENFILE}},
    [INJECT_MPROTECT] = {"mprotect", {ENOMEM}},
    [INJECT_OPEN] = {"open", {EMFILE, ENOMEM, EINTR}},
    [INJECT_OPENDIR] = {"opendir", {EMFILE, ENOMEM}},
    [INJECT_PIDFD_OPEN] = {"pidfd_open", {EMFILE, ENOMEM, EPERM}},
    [INJECT_PIPE] = {"pipe2", {EMFILE, ENFILE}},
    [INJECT_POLL] = {"poll", {EINTR, ENOMEM}},
    [INJECT_POSIX_FALLOCATE] = {"posix_fallocate", {ENOSPC, EINTR}},
    [INJECT_PPOLL] = {"ppoll", {EINTR, ENOMEM}},
    [INJECT_PROCESS_VM_READV] = {"process_vm_readv", {ENOMEM, EPERM}},
    [INJECT_PROCESS_VM_WRITEV] = {"process_vm_writev", {ENOMEM, EPERM}},
    [INJECT_PTHREAD_CREATE] = {"pthread_create", {EAGAIN}},
    [INJECT_SHM_OPEN] = {"shm_open", {EMFILE}},
    [INJECT_SOCKET] = {"socket", {EMFILE, ENOMEM}},
    [INJECT_STAT] = {"stat", {ENOMEM, EACCES}},
    [INJECT_TIMERFD_CREATE] = {"timerfd_create", {EMFILE, ENOMEM}},
    [INJECT_WRITE] = {"write", {ENOMEM, EINTR}},
#ifdef AMALGAM_HAS_MPI
#define BY_MPI                                                                 \
    {                                                                          \
        MPI_ERR_OTHER, MPI_ERR_NO_MEM, MPI_ERR_INTERN                          \
    }
    [INJECT_MPI_ACCUMULATE] = {"MPI_Accumulate", BY_MPI},
    [INJECT_MPI_COMM_CREATE_GROUP] = {"MPI_Comm_create_group", BY_MPI},
    [INJECT_MPI_COMM_IDUP] = {"MPI_Comm_idup", BY_MPI},
    [INJECT_MPI_FETCH_AND_OP] = {"MPI_Fetch_and_op", BY_MPI},
    [INJECT_MPI_IALLREDUCE] = {"MPI_Iallreduce", BY_MPI},
    [INJECT_MPI_IBARRIER] = {"MPI_Ibarrier", BY_MPI},
    [INJECT_MPI_IEXSCAN] = {"MPI_Iexscan", BY_MPI},
    [INJECT_MPI_IMPROBE] = {"MPI_Improbe", BY_MPI},
    [INJECT_MPI_IMRECV] = {"MPI_Imrecv", BY_MPI},
    [INJECT_MPI_IPROBE] = {"MPI_Iprobe", BY_MPI},
    [INJECT_MPI_IRECV] = {"MPI_Irecv", BY_MPI},
    [INJECT_MPI_ISEND] = {"MPI_Isend", BY_MPI},
    [INJECT_MPI_RACCUMULATE] = {"MPI_Raccumulate", BY_MPI},
    [INJECT_MPI_RGET] = {"MPI_Rget", BY_MPI},
    [INJECT_MPI_RGET_ACCUMULATE] = {"MPI_Rget_accumulate", BY_MPI},
    [INJECT_MPI_RPUT] = {"MPI_Rput", BY_MPI},
    [INJECT_MPI_TYPE_CONTIGUOUS] = {"MPI_Type_contiguous", BY_MPI},
    [INJECT_MPI_WIN_ATTACH] = {"MPI_Win_attach", BY_MPI},
    [INJECT_MPI_WIN_CREATE] = {"MPI_Win_create", BY_MPI},
    [INJECT_MPI_WIN_CREATE_DYNAMIC] = {"MPI_Win_create_dynamic", BY_MPI},
    [INJECT_MPI_WIN_FLUSH] = {"MPI_Win_flush", BY_MPI},
#endif
#ifdef AMALGAM_HAS_OFI
    [INJECT_FI_AV_INSERT] = {"fi_av_insert", {FI_ENOMEM}},
    [INJECT_FI_AV_OPEN] = {"fi_av_open", {FI_ENOMEM}},
    [INJECT_FI_CQ_OPEN] = {"fi_cq_open", {FI_ENOMEM, FI_EMFILE}},
    [INJECT_FI_CQ_WAIT_FD] = {"fi_control", {FI_ENOSYS}},
    [INJECT_FI_DOMAIN] = {"fi_domain", {FI_ENOMEM, FI_EMFILE}},
    [INJECT_FI_ENABLE] = {"fi_enable", {FI_ENOMEM, FI_EADDRINUSE}},
    [INJECT_FI_ENDPOINT] = {"fi_endpoint", {FI_ENOMEM}},
    [INJECT_FI_FABRIC] = {"fi_fabric", {FI_ENOMEM}},
    [INJECT_FI_GETINFO] = {"fi_getinfo", {FI_ENOMEM, FI_ENODATA}},
    [INJECT_FI_GETNAME] = {"fi_getname", {FI_ENOMEM}},
    [INJECT_FI_INJECT] = {"fi_inject", {FI_ENOMEM, FI_EAGAIN, FI_EIO}},
    [INJECT_FI_MR_REG] = {"fi_mr_reg", {FI_ENOMEM, FI_ENOKEY}},
    [INJECT_FI_READMSG] = {"fi_readmsg", {FI_ENOMEM, FI_EAGAIN, FI_EIO}},
    [INJECT_FI_RECVMSG] = {"fi_recvmsg", {FI_ENOMEM, FI_EAGAIN}},
    [INJECT_FI_SEND] = {"fi_send", {FI_ENOMEM, FI_EAGAIN, FI_EIO}},
    [INJECT_FI_WRITEMSG] = {"fi_writemsg", {FI_ENOMEM, FI_EAGAIN, FI_EIO}},
#endif
};

/* Code of the library; written by the constructor. */
static struct range {
    uintptr_t from;
    uintptr_t to;
} ranges[RANGES_MAX];
static unsigned ranges_count;

/* All relaxed, but `armed`, which publishes the two before it. */
static atomic_int armed_call;
static atomic_uint_fast64_t armed_n; /* or one in so many calls */
static atomic_uint_fast64_t armed_seed;
static atomic_uint armed; /* 0: no, 1: one call, 2: often */

static atomic_uint_fast64_t counts[INJECT_CALLS];
static atomic_uint_fast64_t alone[INJECT_CALLS];
static atomic_uint_fast64_t failed;
static atomic_uint_fast64_t allocs_before; /* when it was armed */
static atomic_uint_fast64_t failed_before;
static atomic_flag is_arming = ATOMIC_FLAG_INIT;
static _Atomic(void *) nexts[INJECT_CALLS];

const char *inject_name(enum inject_call call)
{
    return rows[call].name == NULL ? "" : rows[call].name;
}

static struct amg_mem_stats allocs_now(void)
{
    struct amg_mem_stats stats;

    amg_mem_stats_get(&stats);
    return stats;
}

static uint64_t hash(uint64_t word)
{
    word ^= word >> 30;
    word *= 0xbf58476d1ce4e5b9u;
    word ^= word >> 27;
    word *= 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

static void restart(unsigned how)
{
    for (unsigned i = 0; i < INJECT_CALLS; i++)
        atomic_store(&counts[i], 0);
    atomic_store(&failed, 0);
    atomic_store(&allocs_before, allocs_now().calls);
    atomic_store(&failed_before, allocs_now().failed);
    atomic_store(&armed, how);
}

void inject_arm(enum inject_call call, uint64_t n)
{
    atomic_store(&armed, 0);
    atomic_store(&armed_call, (int)call);
    atomic_store(&armed_n, n);
    amg_mem_fail_nth(call == INJECT_ALLOC ? n : 0);
    restart(n > 0);
}

/* The allocator fails one call at a time: arms the next one, if that has
 * failed. */
static void alloc_arm(bool is_first)
{
    static atomic_uint_fast64_t failures;
    struct amg_mem_stats now = allocs_now();

    if (atomic_flag_test_and_set(&is_arming))
        return;
    if (is_first || now.failed != atomic_load(&failures)) {
        atomic_store(&failures, now.failed);
        amg_mem_fail_nth(hash(atomic_load(&armed_seed) ^ hash(now.calls)) %
                             (2 * atomic_load(&armed_n)) +
                         1);
    }
    atomic_flag_clear(&is_arming);
}

void inject_arm_often(uint64_t one_in, uint64_t seed)
{
    atomic_store(&armed, 0);
    atomic_store(&armed_n, one_in);
    atomic_store(&armed_seed, hash(seed + 1));
    restart(2 * (one_in > 0));
    if (one_in > 0)
        alloc_arm(true);
}

uint64_t inject_count(enum inject_call call)
{
    return call == INJECT_ALLOC
               ? allocs_now().calls - atomic_load(&allocs_before)
               : atomic_load(&counts[call]);
}

uint64_t inject_count_alone(enum inject_call call)
{
    return atomic_load(&alone[call]);
}

uint64_t inject_failed(void)
{
    return atomic_load(&failed) + allocs_now().failed -
           atomic_load(&failed_before);
}

uint64_t inject_live(void)
{
    return allocs_now().live;
}

static bool is_ours(const void *caller)
{
    for (unsigned i = 0; i < ranges_count; i++)
        if ((uintptr_t)caller >= ranges[i].from &&
            (uintptr_t)caller < ranges[i].to)
            return true;
    return caller == NULL;
}

static bool is_first_together(enum inject_call call, uint64_t n)
{
    return call == INJECT_MPI_IALLREDUCE && n == 1;
}

int inject_code(enum inject_call call, const void *caller)
{
    const struct row *row = &rows[call];
    unsigned how = atomic_load(&armed);
    uint64_t dice = 0;
    uint64_t n = 0;
    unsigned codes = 1;

    if (!is_ours(caller))
        return 0;
    n = atomic_fetch_add(&counts[call], 1) + 1;
    for (unsigned i = 0; is_first_together(call, n) && i < INJECT_CALLS; i++)
        atomic_store(&alone[i], inject_count(i));
    dice = hash(atomic_load(&armed_seed) + hash(n * INJECT_CALLS + call));
    if (how == 2)
        alloc_arm(false);
    if (how == 0 ||
        (how == 1 && ((int)call != atomic_load(&armed_call) ||
                         n != atomic_load(&armed_n))) ||
        (how == 2 && dice % atomic_load(&armed_n) != 0))
        return 0;
    atomic_fetch_add(&failed, 1);
    while (codes < CODES_MAX && row->codes[codes] != 0)
        codes++;
    return row->codes[(how == 1 ? n : dice >> 32) % codes];
}

void *inject_next(enum inject_call call, const char *symbol)
{
    void *next = atomic_load(&nexts[call]);

    if (next == NULL) {
        next = dlsym(RTLD_NEXT, symbol);
        if (next == NULL)
            abort();
        atomic_store(&nexts[call], next);
    }
    return next;
}

static int library_add(struct dl_phdr_info *info, size_t size, void *data)
{
    const char *name = strrchr(info->dlpi_name, '/');

    (void)size;
    (void)data;
    name = name == NULL ? info->dlpi_name : name + 1;
    if (strncmp(name, LIBRARY, strlen(LIBRARY)) != 0)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum && ranges_count < RANGES_MAX; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            (info->dlpi_phdr[i].p_flags & PF_X) != 0) {
            uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

            ranges[ranges_count++] =
                (struct range){from, from + info->dlpi_phdr[i].p_memsz};
        }
    return 0;
}

static void unknown(const char *text)
{
    fprintf(stderr,
        "AMALGAM_TEST_FAULT is \"%s\", and not NAME:N or any:1/N:SEED\n", text);
    exit(EXIT_FAILURE);
}

static void environment_read(const char *text)
{
    const char *rank = getenv("PMI_RANK");
    const char *colon = strchr(text, ':');
    unsigned long long n = 0;
    unsigned long long seed = 0;

    if (rank == NULL)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    if (colon == NULL)
        unknown(text);
    if (sscanf(text, "any:1/%llu:%llu", &n, &seed) == 2) {
        inject_arm_often(
            n, (uint64_t)seed << 16 | (unsigned)(rank ? atoi(rank) : 0));
        return;
    }
    for (unsigned i = 0; i < INJECT_CALLS; i++)
        if (strlen(inject_name(i)) == (size_t)(colon - text) &&
            strncmp(inject_name(i), text, (size_t)(colon - text)) == 0) {
            inject_arm(i, strtoull(colon + 1, NULL, 10));
            return;
        }
    unknown(text);
}

__attribute__((constructor)) static void inject_begin(void)
{
    const char *text = getenv("AMALGAM_TEST_FAULT");

    (void)dl_iterate_phdr(library_add, NULL);
#ifdef AMALGAM_HAS_OFI
    inject_ofi_begin();
#endif
    if (text != NULL && text[0] != '\0')
        environment_read(text);
}
