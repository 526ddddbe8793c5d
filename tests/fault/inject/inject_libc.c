/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on demand: stand-ins for calls of the C library. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault/inject/inject.h"

#define NEXT(call, function)                                                   \
    ((__typeof__(&(function)))inject_next((call), #function))

/* Whether the call fails, with errno set. */
#define FAILS(call) is_failing(INJECT_CODE(call))

static bool is_failing(int code)
{
    if (code != 0)
        errno = code;
    return code != 0;
}

int epoll_create1(int flags)
{
    return FAILS(INJECT_EPOLL_CREATE)
               ? -1
               : NEXT(INJECT_EPOLL_CREATE, epoll_create1)(flags);
}

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    /* The kernel refuses no removal. */
    if (op != EPOLL_CTL_DEL && FAILS(INJECT_EPOLL_CTL))
        return -1;
    return NEXT(INJECT_EPOLL_CTL, epoll_ctl)(epoll, op, fd, event);
}

int epoll_pwait2(int epoll, struct epoll_event *events, int cap,
    const struct timespec *timeout, const sigset_t *mask)
{
    if (FAILS(INJECT_EPOLL_PWAIT2))
        return -1;
    return NEXT(INJECT_EPOLL_PWAIT2, epoll_pwait2)(
        epoll, events, cap, timeout, mask);
}

int epoll_wait(int epoll, struct epoll_event *events, int cap, int timeout)
{
    if (FAILS(INJECT_EPOLL_WAIT))
        return -1;
    return NEXT(INJECT_EPOLL_WAIT, epoll_wait)(epoll, events, cap, timeout);
}

int eventfd(unsigned value, int flags)
{
    return FAILS(INJECT_EVENTFD) ? -1
                                 : NEXT(INJECT_EVENTFD, eventfd)(value, flags);
}

int fallocate(int fd, int mode, off_t at, off_t len)
{
    if (FAILS(INJECT_FALLOCATE))
        return -1;
    return NEXT(INJECT_FALLOCATE, fallocate)(fd, mode, at, len);
}

int fcntl(int fd, int command, ...)
{
    va_list args;
    void *arg = NULL;

    va_start(args, command);
    arg = va_arg(args, void *);
    va_end(args);
    if (FAILS(INJECT_FCNTL))
        return -1;
    return NEXT(INJECT_FCNTL, fcntl)(fd, command, arg);
}

int flock(int fd, int operation)
{
    return FAILS(INJECT_FLOCK) ? -1 : NEXT(INJECT_FLOCK, flock)(fd, operation);
}

FILE *fopen(const char *path, const char *mode)
{
    return FAILS(INJECT_FOPEN) ? NULL : NEXT(INJECT_FOPEN, fopen)(path, mode);
}

int fstat(int fd, struct stat *status)
{
    return FAILS(INJECT_FSTAT) ? -1 : NEXT(INJECT_FSTAT, fstat)(fd, status);
}

int ftruncate(int fd, off_t len)
{
    return FAILS(INJECT_FTRUNCATE) ? -1
                                   : NEXT(INJECT_FTRUNCATE, ftruncate)(fd, len);
}

int linkat(
    int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    if (FAILS(INJECT_LINKAT))
        return -1;
    return NEXT(INJECT_LINKAT, linkat)(from_folder, from, to_folder, to, flags);
}

int madvise(void *base, size_t len, int advice)
{
    if (FAILS(INJECT_MADVISE))
        return -1;
    return NEXT(INJECT_MADVISE, madvise)(base, len, advice);
}

int memfd_create(const char *name, unsigned flags)
{
    if (FAILS(INJECT_MEMFD_CREATE))
        return -1;
    return NEXT(INJECT_MEMFD_CREATE, memfd_create)(name, flags);
}

int mkfifo(const char *path, mode_t mode)
{
    return FAILS(INJECT_MKFIFO) ? -1 : NEXT(INJECT_MKFIFO, mkfifo)(path, mode);
}

void *mmap(void *base, size_t len, int access, int flags, int fd, off_t at)
{
    if (FAILS(INJECT_MMAP))
        return MAP_FAILED;
    return NEXT(INJECT_MMAP, mmap)(base, len, access, flags, fd, at);
}

int mprotect(void *base, size_t len, int access)
{
    if (FAILS(INJECT_MPROTECT))
        return -1;
    return NEXT(INJECT_MPROTECT, mprotect)(base, len, access);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    unsigned mode = 0;

    va_start(args, flags);
    mode = va_arg(args, unsigned);
    va_end(args);
    return FAILS(INJECT_OPEN) ? -1 : NEXT(INJECT_OPEN, open)(path, flags, mode);
}

DIR *opendir(const char *path)
{
    return FAILS(INJECT_OPENDIR) ? NULL : NEXT(INJECT_OPENDIR, opendir)(path);
}

int pipe2(int ends[2], int flags)
{
    return FAILS(INJECT_PIPE) ? -1 : NEXT(INJECT_PIPE, pipe2)(ends, flags);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (FAILS(INJECT_POLL))
        return -1;
    return NEXT(INJECT_POLL, poll)(fds, count, timeout);
}

int posix_fallocate(int fd, off_t at, off_t len)
{
    int code = INJECT_CODE(INJECT_POSIX_FALLOCATE);

    if (code != 0)
        return code;
    return NEXT(INJECT_POSIX_FALLOCATE, posix_fallocate)(fd, at, len);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
    const sigset_t *mask)
{
    if (FAILS(INJECT_PPOLL))
        return -1;
    return NEXT(INJECT_PPOLL, ppoll)(fds, count, timeout, mask);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *here,
    unsigned long here_count, const struct iovec *there,
    unsigned long there_count, unsigned long flags)
{
    if (FAILS(INJECT_PROCESS_VM_READV))
        return -1;
    return NEXT(INJECT_PROCESS_VM_READV, process_vm_readv)(
        pid, here, here_count, there, there_count, flags);
}

ssize_t process_vm_writev(pid_t pid, const struct iovec *here,
    unsigned long here_count, const struct iovec *there,
    unsigned long there_count, unsigned long flags)
{
    if (FAILS(INJECT_PROCESS_VM_WRITEV))
        return -1;
    return NEXT(INJECT_PROCESS_VM_WRITEV, process_vm_writev)(
        pid, here, here_count, there, there_count, flags);
}

int pthread_create(pthread_t *ret_thread, const pthread_attr_t *attr,
    void *(*function)(void *), void *arg)
{
    int code = INJECT_CODE(INJECT_PTHREAD_CREATE);

    if (code != 0)
        return code;
    return NEXT(INJECT_PTHREAD_CREATE, pthread_create)(
        ret_thread, attr, function, arg);
}

int shm_open(const char *name, int flags, mode_t mode)
{
    if (FAILS(INJECT_SHM_OPEN))
        return -1;
    return NEXT(INJECT_SHM_OPEN, shm_open)(name, flags, mode);
}

int socket(int domain, int type, int protocol)
{
    if (FAILS(INJECT_SOCKET))
        return -1;
    return NEXT(INJECT_SOCKET, socket)(domain, type, protocol);
}

int stat(const char *path, struct stat *status)
{
    return FAILS(INJECT_STAT) ? -1 : NEXT(INJECT_STAT, stat)(path, status);
}

/* Calls that the C library has no function for. */
long syscall(long number, ...)
{
    va_list args;
    long arg[6];

    va_start(args, number);
    for (unsigned i = 0; i < 6; i++)
        arg[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_pidfd_open && FAILS(INJECT_PIDFD_OPEN))
        return -1;
    if (number == SYS_membarrier && FAILS(INJECT_MEMBARRIER))
        return -1;
    return NEXT(INJECT_MEMBARRIER, syscall)(
        number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

int timerfd_create(clockid_t clock, int flags)
{
    if (FAILS(INJECT_TIMERFD_CREATE))
        return -1;
    return NEXT(INJECT_TIMERFD_CREATE, timerfd_create)(clock, flags);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    /* The kernel refuses no write of a count to an eventfd. */
    if (len != sizeof(uint64_t) && FAILS(INJECT_WRITE))
        return -1;
    return NEXT(INJECT_WRITE, write)(fd, bytes, len);
}
