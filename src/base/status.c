/* SPDX-License-Identifier: BSD-3-Clause */
/* Status page of the process.
 *
 * `serial` of a part is a sequence lock whose writers never wait: a writer
 * makes the even number odd by a compare and exchange, and a writer that finds
 * an odd number leaves the facts to the other one. The facts are copied word by
 * word, as other processes read meanwhile. */
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/trace.h"

#define PAGE_NAME  "amalgam-status"
#define PAGE_LINK  "/memfd:" PAGE_NAME " (deleted)"
#define PAGE_MAGIC 0x7461747367616d61ull /* "amagstat" */

enum {
    READ_TRIES = 1000, /* a write takes less than a microsecond */
    MS_MAX = INT32_MAX,
    WAIT_SHIFT = 56,
    MARK_CAP = 64,
};

static struct amg_lock page_lock AMG_LOCK_KEPT; /* guards `page`, open parts */
static struct amg_mapping page = {.fd = -1};
static struct amg_status_class nobodys;
/* Base of `page`, for threads that write a mark; published by release. */
static _Atomic(struct amg_status *) shown;

struct amg_status_class *amg_status_none(void)
{
    return &nobodys;
}

static void page_fill(struct amg_status *status)
{
    status->version = AMG_STATUS_VERSION;
    status->len = sizeof(*status);
    status->pid = (uint32_t)getpid();
    status->start_time = amg_process_start(status->pid);
    status->opened_ns = amg_clock_ns();
    (void)gethostname(status->host, sizeof(status->host) - 1);
    snprintf(status->program, sizeof(status->program), "%s",
        program_invocation_short_name);
    for (unsigned i = 0; i < AMG_STATUS_CLASSES; i++)
        status->classes[i].doing.to = AMG_STATUS_NOBODY;
    status->magic = PAGE_MAGIC;
}

/* Makes the page, unless there is one. False: this is not possible here. */
static bool page_make(void)
{
    if (page.base != NULL)
        return true;
    if (amg_mapping_open(PAGE_NAME, sizeof(struct amg_status), &page) !=
        HG_SUCCESS)
        return false;
    (void)fchmod(page.fd, 0600);
    page_fill(page.base);
    atomic_store_explicit(&shown, page.base, memory_order_release);
    return true;
}

/* A part that no class has, or nobody's. */
static struct amg_status_class *part_take(void)
{
    struct amg_status *status = page_make() ? page.base : NULL;

    for (unsigned i = 0; status != NULL && i < AMG_STATUS_CLASSES; i++)
        if (!atomic_load_explicit(
                &status->classes[i].is_open, memory_order_relaxed))
            return &status->classes[i];
    return &nobodys;
}

struct amg_status_class *amg_status_open(
    uint32_t rank, uint32_t size, uint64_t job, const char *reach)
{
    struct amg_status_class *part = NULL;

    amg_lock_lock(&page_lock);
    part = part_take();
    if (part != &nobodys) {
        memset(part, 0, sizeof(*part));
        part->rank = rank;
        part->size = size;
        part->job = job;
        part->doing.to = AMG_STATUS_NOBODY;
        snprintf(part->reach, sizeof(part->reach), "%s", reach);
        amg_status_stamp(part, amg_clock_ns());
        atomic_store_explicit(&part->is_open, 1u, memory_order_release);
    }
    amg_lock_unlock(&page_lock);
    return part;
}

uint64_t amg_status_wait(struct amg_status_class *part, enum amg_await kind)
{
    uint64_t word =
        (uint64_t)kind << WAIT_SHIFT | amg_clock_ns() / AMG_NS_PER_MS;
    uint64_t none = 0;

    amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_WAIT, NULL, kind, 0);
    return atomic_compare_exchange_strong_explicit(&part->wait, &none, word,
               memory_order_relaxed, memory_order_relaxed)
               ? word
               : 0;
}

void amg_status_waited(struct amg_status_class *part, uint64_t word)
{
    amg_trace_at(AMALGAM_TRACE_WAITS, AMG_TRACE_WAIT_END, NULL, 0, 0);
    if (word != 0)
        (void)atomic_compare_exchange_strong_explicit(
            &part->wait, &word, 0, memory_order_relaxed, memory_order_relaxed);
}

void amg_status_close(struct amg_status_class *part)
{
    amg_status_waited(part, 0);
    atomic_store_explicit(&part->wait, 0, memory_order_relaxed);
    atomic_store_explicit(&part->is_open, 0, memory_order_release);
}

void amg_status_inherit(void)
{
    if (page.base == NULL)
        return;
    amg_mapping_unshare(page.base, page.len, page.fd);
    close(page.fd);
    page = (struct amg_mapping){.fd = -1};
    atomic_store_explicit(&shown, NULL, memory_order_relaxed);
}

static void words_store(void *to, const void *from, size_t len)
{
    for (size_t i = 0; i < len / sizeof(uint64_t); i++)
        atomic_store_explicit((_Atomic uint64_t *)to + i,
            ((const uint64_t *)from)[i], memory_order_relaxed);
}

static void words_load(void *to, const void *from, size_t len)
{
    for (size_t i = 0; i < len / sizeof(uint64_t); i++)
        ((uint64_t *)to)[i] = atomic_load_explicit(
            (const _Atomic uint64_t *)from + i, memory_order_relaxed);
}

/* Stores a text of up to `cap` bytes, a multiple of 8. */
static void text_store(char *to, size_t cap, const char *from)
{
    uint64_t words[MARK_CAP / sizeof(uint64_t)] = {0};

    AMG_ASSERT(cap <= sizeof(words));
    snprintf((char *)words, cap, "%s", from);
    words_store(to, words, cap);
}

void amg_status_mark(const char *text)
{
    struct amg_status *status =
        atomic_load_explicit(&shown, memory_order_acquire);

    if (status == NULL)
        return;
    text_store(status->mark, sizeof(status->mark), text);
    atomic_store_explicit(
        &status->mark_ns, amg_clock_ns(), memory_order_relaxed);
}

void amg_status_write(struct amg_status_class *part, uint64_t now_ns,
    const struct amg_doing *doing, const uint64_t *counters, unsigned count,
    const char *const names[2])
{
    uint32_t serial = atomic_load_explicit(&part->serial, memory_order_relaxed);

    AMG_ASSERT(count <= AMG_STATUS_COUNTERS);
    if (part == &nobodys || (serial & 1u) != 0 ||
        !atomic_compare_exchange_strong_explicit(&part->serial, &serial,
            serial + 1u, memory_order_acquire, memory_order_relaxed))
        return;
    atomic_thread_fence(memory_order_release);
    if (doing != NULL) {
        words_store(&part->doing, doing, sizeof(*doing));
        atomic_store_explicit(&part->doing_ns, now_ns, memory_order_relaxed);
    }
    if (counters != NULL) {
        words_store(part->counters, counters, count * sizeof(*counters));
        atomic_store_explicit(&((struct amg_status *)page.base)->counters,
            count, memory_order_relaxed);
    }
    for (unsigned i = 0; names != NULL && i < 2; i++)
        text_store(part->names[i], AMG_STATUS_NAME_CAP, names[i]);
    atomic_store_explicit(&part->serial, serial + 2u, memory_order_release);
}

/* Maps the page behind a descriptor; NULL: no page, or it could shrink. */
static struct amg_status *page_map(int fd)
{
    struct amg_status *status = MAP_FAILED;
    struct stat file;

    if (fstat(fd, &file) == 0 && file.st_size >= (off_t)sizeof(*status) &&
        (fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK) != 0)
        status = mmap(
            NULL, sizeof(*status), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return status == MAP_FAILED ? NULL : status;
}

/* Looks at one descriptor of a process, which may be of its parent's page. */
static hg_return_t link_look(int folder, const char *name, uint32_t pid,
    uint64_t start_time, struct amg_status **ret_page)
{
    struct amg_status *status = NULL;
    char link[sizeof(PAGE_LINK)];
    ssize_t len = readlinkat(folder, name, link, sizeof(link));
    hg_return_t rc = HG_NOENTRY;
    int fd = -1;

    if (len != sizeof(PAGE_LINK) - 1 || memcmp(link, PAGE_LINK, len) != 0)
        return HG_NOENTRY;
    fd = openat(folder, name, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? HG_PERMISSION : HG_NOENTRY;
    status = page_map(fd);
    close(fd);
    if (status == NULL)
        return HG_NOENTRY;
    if (status->version != AMG_STATUS_VERSION)
        rc = HG_PROTONOSUPPORT;
    else if (status->magic == PAGE_MAGIC && status->pid == pid &&
             (start_time == 0 || status->start_time == start_time))
        rc = HG_SUCCESS;
    if (rc == HG_SUCCESS)
        *ret_page = status;
    else
        amg_status_drop(status);
    return rc;
}

hg_return_t amg_status_find(
    uint32_t pid, uint64_t start_time, struct amg_status **ret_page)
{
    const struct dirent *entry = NULL;
    char path[64];
    DIR *folder = NULL;
    hg_return_t rc = HG_NOENTRY;

    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
    folder = opendir(path);
    if (folder == NULL)
        return errno == EACCES ? HG_PERMISSION : HG_NOENTRY;
    while (rc == HG_NOENTRY && (entry = readdir(folder)) != NULL)
        rc = link_look(dirfd(folder), entry->d_name, pid, start_time, ret_page);
    closedir(folder);
    return rc;
}

void amg_status_drop(struct amg_status *status)
{
    munmap(status, sizeof(*status));
}

static uint32_t ms_between(uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ms = from_ns < to_ns ? (to_ns - from_ns) / AMG_NS_PER_MS : 0;

    return ms < MS_MAX ? (uint32_t)ms : MS_MAX;
}

/* Reads the words that a class and the program wrote. */
static void words_read(const struct amg_status *status,
    const struct amg_status_class *part, uint64_t now_ns,
    struct amg_doing *doing)
{
    uint64_t wait = atomic_load_explicit(&part->wait, memory_order_relaxed);

    doing->idle_ms = ms_between(
        atomic_load_explicit(&part->progress_ns, memory_order_relaxed), now_ns);
    doing->wait = (uint8_t)(wait >> WAIT_SHIFT);
    doing->wait_ms =
        doing->wait == AMG_AWAIT_NONE
            ? 0
            : ms_between(
                  (wait & ((1ull << WAIT_SHIFT) - 1)) * AMG_NS_PER_MS, now_ns);
    words_load(doing->mark, status->mark, sizeof(doing->mark));
    doing->mark[sizeof(doing->mark) - 1] = '\0';
    memcpy(doing->host, status->host, sizeof(doing->host) - 1);
}

void amg_doing_complete(
    const struct amg_status_class *part, struct amg_doing *doing)
{
    static const struct amg_status none;
    const struct amg_status *status =
        atomic_load_explicit(&shown, memory_order_acquire);

    doing->pid = (uint32_t)getpid();
    words_read(status == NULL ? &none : status, part, amg_clock_ns(), doing);
}

/* Brings the facts of the last write up to now, by the words. */
static void facts_renew(const struct amg_status *status,
    const struct amg_status_class *part, struct amg_status_facts *facts)
{
    struct amg_doing *doing = &facts->doing;
    uint64_t now_ns = amg_clock_ns();
    uint64_t doing_ns =
        atomic_load_explicit(&part->doing_ns, memory_order_relaxed);
    uint64_t handler =
        atomic_load_explicit(&part->handler, memory_order_relaxed);
    uint32_t passed = doing_ns == 0 ? 0 : ms_between(doing_ns, now_ns);

    doing->rank = part->rank;
    doing->pid = status->pid;
    words_read(status, part, now_ns, doing);
    doing->to_ms += doing->to == AMG_STATUS_NOBODY ? 0 : passed;
    doing->handler_ms += doing->running == 0 ? 0 : passed;
    if (handler != 0 && doing->running == 0) {
        doing->running = 1;
        doing->handler = handler;
        doing->handler_ms = doing->idle_ms; /* no progress since its begin */
        facts->names[0][0] = '\0';
    }
    doing->from = AMG_FROM_PAGE;
    if (atomic_load_explicit(&part->has_left, memory_order_acquire))
        doing->from |= AMG_FROM_LEFT;
    doing->state = amg_process_state(status->pid);
}

bool amg_status_read(const struct amg_status *status, unsigned i,
    struct amg_status_facts *ret_facts)
{
    const struct amg_status_class *part = &status->classes[i];
    struct amg_status_facts facts = {.counters = {0}};
    unsigned tries = 0;
    uint32_t serial = 0;
    bool is_whole = false;

    AMG_ASSERT(i < AMG_STATUS_CLASSES);
    if (!atomic_load_explicit(&part->is_open, memory_order_acquire))
        return false;
    for (; tries < READ_TRIES && !is_whole; tries++) {
        serial = atomic_load_explicit(&part->serial, memory_order_acquire);
        words_load(&facts.doing, &part->doing, sizeof(facts.doing));
        words_load(facts.counters, part->counters, sizeof(facts.counters));
        words_load(facts.names, part->names, sizeof(facts.names));
        atomic_thread_fence(memory_order_acquire);
        is_whole =
            (serial & 1u) == 0 &&
            serial == atomic_load_explicit(&part->serial, memory_order_relaxed);
        if (!is_whole)
            amg_relax();
    }
    if (is_whole) {
        facts_renew(status, part, &facts);
        *ret_facts = facts;
    }
    return is_whole;
}

const char *amg_await_text(enum amg_await kind)
{
    static const char *const texts[AMG_AWAITS] = {
        [AMG_AWAIT_NONE] = "",
        [AMG_AWAIT_BARRIER] = "amalgam_barrier()",
        [AMG_AWAIT_QUIESCE] = "a quiescence",
        [AMG_AWAIT_FINALIZE] = "the end of a class",
        [AMG_AWAIT_MARGO_FINALIZE] = "margo_finalize()",
        [AMG_AWAIT_MPI_REQUEST] = "amalgam_wait()",
    };

    return kind < AMG_AWAITS ? texts[kind] : "";
}

const char *amg_stage_text(enum amg_stage stage)
{
    static const char *const texts[AMG_STAGES] = {
        [AMG_STAGE_NONE] = "has not ended",
        [AMG_STAGE_CREDIT] = "waits here for a credit",
        [AMG_STAGE_ROOM] = "waits here for room in the transport",
        [AMG_STAGE_CONNECT] = "waits here for a connection",
        [AMG_STAGE_SENT] = "was sent, and is not seen there",
        [AMG_STAGE_PULLING] = "is there, and its arguments are being pulled",
        [AMG_STAGE_QUEUED] = "is queued there",
        [AMG_STAGE_RUNS] = "is there, and its handler has not answered",
        [AMG_STAGE_ANSWER] = "was answered, and its answer is being pulled",
        [AMG_STAGE_MOVES] = "moves data",
        [AMG_STAGE_UNSEEN] = "was sent, and that rank does not tell more",
    };

    return stage < AMG_STAGES ? texts[stage] : texts[AMG_STAGE_NONE];
}

/* Appends to a text of AMG_DOING_TEXT_CAP; the rest is cut. */
__attribute__((format(printf, 2, 3))) static void text_add(
    char *text, const char *format, ...)
{
    size_t len = strlen(text);
    va_list list;

    va_start(list, format);
    (void)vsnprintf(text + len, AMG_DOING_TEXT_CAP - len, format, list);
    va_end(list);
}

/* Appends "60 s", or "0.3 s" below ten seconds. */
static void age_add(char *text, uint32_t ms)
{
    if (ms < 10000)
        text_add(text, "%u.%u s", ms / 1000, ms / 100 % 10);
    else
        text_add(text, "%u s", ms / 1000);
}

static void rpc_add(char *text, uint64_t id, const char *name)
{
    if (name[0] != '\0')
        text_add(text, "\"%s\"", name);
    else
        text_add(text, "RPC 0x%" PRIx64, id);
}

const char *amg_doing_waits(const struct amg_doing *doing, const char *name,
    char ret_text[AMG_DOING_TEXT_CAP])
{
    ret_text[0] = '\0';
    if (doing->to != AMG_STATUS_NOBODY) {
        text_add(ret_text, "waits for rank %u: its %s", doing->to,
            doing->to_call == 0 ? "transfer" : "call of ");
        if (doing->to_call != 0)
            rpc_add(ret_text, doing->to_call, name);
        text_add(ret_text, ", ");
        age_add(ret_text, doing->to_ms);
        text_add(ret_text, " old,%s %s",
            doing->is_served ? " made in a handler," : "",
            amg_stage_text(doing->stage));
        if (doing->more > 0)
            text_add(ret_text, "; %u more %s as late", doing->more,
                doing->more == 1 ? "is" : "are");
        if (doing->waiting > 0)
            text_add(ret_text, "; %u wait here for a credit or room",
                doing->waiting);
    } else if (doing->wait != AMG_AWAIT_NONE) {
        text_add(ret_text, "waits in %s for ", amg_await_text(doing->wait));
        age_add(ret_text, doing->wait_ms);
    }
    return ret_text;
}

const char *amg_doing_state(const struct amg_doing *doing, const char *name,
    char ret_text[AMG_DOING_TEXT_CAP])
{
    bool is_seen = (doing->from & AMG_FROM_PAGE) != 0;

    ret_text[0] = '\0';
    text_add(ret_text, "made %sprogress %s", is_seen ? "no " : "",
        is_seen ? "for at least " : "");
    age_add(ret_text, doing->idle_ms);
    text_add(ret_text, "%s; runs ", is_seen ? "" : " ago");
    if (doing->running == 0) {
        text_add(ret_text, "no handler");
    } else {
        text_add(ret_text, "%u handler%s, ", doing->running,
            doing->running == 1 ? "" : "s");
        rpc_add(ret_text, doing->handler, name);
        text_add(ret_text, " for ");
        age_add(ret_text, doing->handler_ms);
    }
    text_add(ret_text, "; %u call%s queued", doing->queued,
        doing->queued == 1 ? " is" : "s are");
    if (doing->state != '\0')
        text_add(ret_text, "; its process %s (state %c)",
            doing->state == 'R'   ? "uses a core"
            : doing->state == 'T' ? "is stopped by a signal"
                                  : "waits in the kernel",
            doing->state);
    if (doing->mark[0] == '\0')
        text_add(ret_text, "; no mark");
    else
        text_add(
            ret_text, "; mark \"%.*s\"", (int)sizeof(doing->mark), doing->mark);
    return ret_text;
}
