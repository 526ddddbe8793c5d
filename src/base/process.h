/* SPDX-License-Identifier: BSD-3-Clause */
/* The process: fork, signals, guarded memory, spare descriptors, files
 * without a name, and the role of a thread. */
#ifndef AMG_BASE_PROCESS_H
#define AMG_BASE_PROCESS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Liveness of a process. On AMG_LIFE_UNKNOWN, nothing that the process may
 * still use is freed, unlinked or reassigned. */
enum amg_life {
    AMG_LIFE_ALIVE,
    AMG_LIFE_DEAD,
    AMG_LIFE_UNKNOWN, /* for instance when no descriptor is left */
};

/* Number of the pid namespace of this process; 0: unknown. */
uint64_t amg_process_space(void);
/* Start time of a process of this pid namespace, in ticks; the high bits change
 * at an exec(). 0: unknown. */
uint64_t amg_process_start(uint32_t pid);
/* Letter of the state of its main thread, see proc(5); 0: unknown. */
char amg_process_state(uint32_t pid);
/* Liveness of the process of this pid namespace that had `pid` and `start_time`
 * (0: unknown). A zombie is dead, and so is a process that has become another
 * program by exec(). */
enum amg_life amg_process_life(uint32_t pid, uint64_t start_time);

/* Starts counting forks, and holding the kept locks (AMG_LOCK_KEPT) over forks;
 * later calls have no effect. Called before any amg_fork_tell() whose functions
 * take locks: fork() runs the `before` of a later amg_fork_tell() first. */
void amg_fork_watch(void);

/* Generation of this process: forks since the first amg_fork_watch(). Cheap. */
unsigned amg_fork_count(void);

/* Calls pthread_atfork(). If that call lacks memory, the library in a child
 * does not notice that it runs in a child. */
void amg_fork_tell(
    void (*before)(void), void (*after)(void), void (*in_child)(void));

enum { AMG_SIGNALS = 32 /* the classic signals, from 1 on */ };

struct amg_signals {
    struct sigaction kept[AMG_SIGNALS];
};

/* Saves the action of each signal; other threads that call this function wait
 * until amg_signals_restore(). */
void amg_signals_save(struct amg_signals *signals);
/* Restores the actions that were changed since amg_signals_save(). */
void amg_signals_restore(const struct amg_signals *signals);

/* Length of the guard below the memory: a large frame could skip one page. */
#define AMG_GUARD_LEN ((size_t)64 * 1024)

/* Reserves `len` zero bytes (> 0, a multiple of pages); pages are allocated at
 * first touch. NULL: no room; errno has the cause. */
void *amg_guarded_open(size_t len);
void amg_guarded_close(void *base, size_t len);

/* Descriptors that this process may have open: the soft limit. */
uint64_t amg_descriptor_limit(void);

/* Reserves a spare descriptor until amg_spare_drop() is called as often. */
void amg_spare_hold(void);
void amg_spare_drop(void);

/* open() that uses the spare descriptor when the process has no other left. -1:
 * see `errno`. */
int amg_spare_open(const char *path, int flags);
/* Closes the result of amg_spare_open(), and reserves a spare again. */
void amg_spare_close(int fd);
/* Is the spare in use? Then its user should close it soon. */
bool amg_spare_is_out(void);

/* May a file have `len` bytes? Growing a file (or memfd) beyond ulimit -f ends
 * the process by SIGXFSZ. False: `errno` is EFBIG. */
bool amg_file_may_have(uint64_t len);
/* Creates a nameless file of `len` bytes, under flock(LOCK_SH). -1: `errno`. */
int amg_file_make(const char *folder, uint64_t len);

/* Role of the calling thread, and its current work. */
struct amg_role {
    bool is_library_thread; /* a thread that the library started */
    const void *serves; /* the context whose progress thread this is, or NULL */
    bool polls_always;  /* makes progress whenever the program makes none */
    bool is_serving; /* runs a handler, or a callback that follows from one */
    bool is_running; /* runs a callback of the program */
    bool has_posted; /* posted operations since the callback began; a hint */
};

extern _Thread_local struct amg_role amg_role
    __attribute__((tls_model("initial-exec")));

#endif
