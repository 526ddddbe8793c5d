/* SPDX-License-Identifier: BSD-3-Clause */
/* Mapped files of /dev/shm: segments, created here or mapped from peers, and
 * node memory, which one process of a node writes for the others.
 *
 * A file is created without a name, locked by flock(), and named when complete.
 * Pages are reserved before the first write, so that a full /dev/shm causes an
 * error and does not end the process by SIGBUS.
 *
 * Node memory loses its name as soon as all users have mapped the memory. Until
 * then the creator holds a flock() on the file: a file without a flock() was
 * left by a killed creator, and other processes remove it (shm_files.c). */
#include "shm/shm_files.h"
#include "shm/shm_transport.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/process.h"
#include "mercury_class.h"
#include "shm/shm_domain.h"

#define FOLDER "/dev/shm"

enum {
    NAME_TRIES = 100000,
    RESERVE_TRIES = 100,
    WORD_ROOM = AMG_SHM_LINE, /* for the random word of node memory */
};

bool amg_shm_name_is_valid(const char *text)
{
    size_t len = strlen(text);

    return len > 0 && len < AMG_SHM_NAME_CAP &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

static uint64_t page_up(uint64_t len)
{
    return (len + AMG_SHM_PAGE - 1) / AMG_SHM_PAGE * AMG_SHM_PAGE;
}

static uint64_t line_up(uint64_t len)
{
    return (len + AMG_SHM_LINE - 1) / AMG_SHM_LINE * AMG_SHM_LINE;
}

static uint64_t random_word(void)
{
    uint64_t word = 0;

    if (getrandom(&word, sizeof(word), GRND_NONBLOCK) != (ssize_t)sizeof(word))
        word = amg_clock_ns() * 0x9e3779b97f4a7c15ull + (uint64_t)getpid();
    return word | 1; /* never 0 */
}

static void head_layout(
    const struct amg_shm_region_params *params, struct amg_shm_head *head)
{
    uint64_t at = line_up(sizeof(*head));

    head->msgbuf_stride = (uint32_t)(sizeof(struct amg_shm_msgbuf) +
                                     line_up(params->message_len));
    head->contexts_at = at;
    at += params->max_contexts * sizeof(struct amg_shm_context);
    head->claims_at = at;
    at = page_up(at + AMG_SHM_SLOTS * sizeof(uint64_t));
    head->keys_at = at;
    at = page_up(at + AMG_SHM_KEY_TABLE_LEN);
    head->rings_at = at;
    at = page_up(at + AMG_SHM_SLOTS * sizeof(struct amg_shm_ring));
    head->msgbufs_at = at;
    at = page_up(at + (uint64_t)AMG_SHM_MSGBUFS * head->msgbuf_stride);
    head->bounce_bufs_at = at;
    at = page_up(at + AMG_SHM_BOUNCE_TOTAL_LEN);
    head->blocks_at = at;
    at = page_up(at + AMG_SHM_BLOCK_TOTAL_LEN);
    head->len = at;
}

static void head_fill(
    const struct amg_shm_region_params *params, struct amg_shm_head *head)
{
    struct amg_shm_owner self;

    amg_shm_files_self(&self);
    *head = (struct amg_shm_head){
        .magic = AMG_SHM_MAGIC,
        .version = AMG_SHM_VERSION,
        .head_len = sizeof(*head),
        .incarnation = random_word(),
        .pid_ns = self.pid_ns,
        .start_time = self.start_time,
        .pid = self.pid,
        .message_len = params->message_len,
        .probe = random_word(),
        .area_fd = -1,
        .max_contexts = params->max_contexts,
        .has_membarrier = params->has_membarrier,
        .first_credits = params->first_credits,
    };
    if (params->area != NULL) {
        head->area_base = (uint64_t)(uintptr_t)params->area->base;
        head->area_len = params->area->len;
        head->area_fd = params->area->fd;
    }
    head_layout(params, head);
}

/* Fills in a region from a checked head. */
static void region_fill(
    struct amg_shm_region *region, const struct amg_shm_head *head, void *base)
{
    char *bytes = base;

    region->head = base;
    region->len = head->len;
    memcpy(region->name, head->name, sizeof(region->name));
    region->incarnation = head->incarnation;
    region->pid_ns = head->pid_ns;
    region->start_time = head->start_time;
    region->pid = head->pid;
    region->max_contexts = head->max_contexts;
    region->message_len = head->message_len;
    region->msgbuf_stride = head->msgbuf_stride;
    region->first_credits = head->first_credits;
    region->has_membarrier = head->has_membarrier != 0;
    region->contexts = (void *)(bytes + head->contexts_at);
    region->claims = (void *)(bytes + head->claims_at);
    region->keys = bytes + head->keys_at;
    region->rings = (void *)(bytes + head->rings_at);
    region->msgbufs = (uint8_t *)bytes + head->msgbufs_at;
    region->bounce_bufs = (uint8_t *)bytes + head->bounce_bufs_at;
    region->blocks = (uint8_t *)bytes + head->blocks_at;
}

/* MAP_FAILED: `errno` says why. */
static void *file_map(int fd, uint64_t len, int prot)
{
    return mmap(NULL, len, prot, MAP_SHARED | MAP_NORESERVE, fd, 0);
}

static hg_return_t segment_map(int fd, uint64_t len, void **ret_base)
{
    void *base = file_map(fd, len, PROT_READ | PROT_WRITE);

    if (base == MAP_FAILED) {
        AMG_LOG_DEBUG("shm", "cannot map %" PRIu64 " bytes of " FOLDER ": %s",
            len, strerror(errno));
        return errno == ENOMEM ? HG_NOMEM : HG_NA_ERROR;
    }
    *ret_base = base;
    return HG_SUCCESS;
}

/* Names a file that has no name yet. HG_ADDRINUSE: the name belongs to process
 * `*ret_pid` (0: unknown), which is not known to be dead. */
static hg_return_t file_name(int fd, const char *name, uint32_t *ret_pid)
{
    char path[AMG_SHM_PATH_CAP];
    char from[64];

    amg_shm_files_path(name, path);
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    for (int i = 0; i < NAME_TRIES; i++) {
        if (linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
            return HG_SUCCESS;
        if (errno != EEXIST) {
            AMG_LOG_ERROR("shm", "cannot create %s: %s (is /proc mounted?)",
                path, strerror(errno));
            return HG_NA_ERROR;
        }
        if (!amg_shm_files_remove_stale(path, ret_pid))
            break;
    }
    AMG_LOG_DEBUG("shm", "%s belongs to process %" PRIu32, path, *ret_pid);
    return HG_ADDRINUSE;
}

/* Names a file by the pid and the lowest free number: so a class that is closed
 * and opened again, also after exec(), gets the same address. `is_by_fd`:
 * appends the descriptor to the name. */
static hg_return_t file_name_next(
    int fd, const char *kind, bool is_by_fd, char ret_name[AMG_SHM_NAME_CAP])
{
    hg_return_t rc = HG_ADDRINUSE;
    uint32_t pid = 0;

    for (int i = 0; i < NAME_TRIES && rc == HG_ADDRINUSE; i++) {
        int len = snprintf(
            ret_name, AMG_SHM_NAME_CAP, "%s%d-%d", kind, (int)getpid(), i);

        if (is_by_fd)
            snprintf(ret_name + len, AMG_SHM_NAME_CAP - (size_t)len, ".%d", fd);
        rc = file_name(fd, ret_name, &pid);
    }
    return rc;
}

static hg_return_t file_name_chosen(int fd, const char *name)
{
    uint32_t pid = 0;
    hg_return_t rc = file_name(fd, name, &pid);

    if (rc == HG_ADDRINUSE)
        AMG_LOG_ERROR("cls",
            "na+sm://%s is in use by process %" PRIu32 "; choose another name, "
            "or end that process",
            name, pid);
    return rc;
}

/* Opens a segment by the owner's descriptor in its name; -1: see `errno`. */
static int open_nameless(const char *name)
{
    uint32_t pid = 0;
    unsigned number = 0;
    int fd = -1;

    errno = ENOENT;
    if (sscanf(name, "%" SCNu32 "-%u.%d", &pid, &number, &fd) != 3)
        return -1;
    fd = amg_shm_files_open_of(pid, fd, S_IFREG);
    /* EACCES: the kernel hides the descriptors of a zombie. */
    if (fd < 0 && errno == EACCES && amg_process_life(pid, 0) == AMG_LIFE_DEAD)
        errno = ENOENT;
    return fd;
}

/* Opens a peer's segment: at `path`, or by the descriptor; -1: see `errno`. */
static int segment_open(
    const char *name, const char *path, bool *ret_is_nameless)
{
    int fd = amg_spare_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    *ret_is_nameless = fd < 0 && errno == ENOENT;
    return *ret_is_nameless ? open_nameless(name) : fd;
}

/* The code for a segment that could not be opened. */
static hg_return_t open_failure(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return HG_AGAIN;
    case ENOENT:
        return HG_ADDRNOTAVAIL;
    default:
        return HG_NA_ERROR;
    }
}

/* Reserves pages of the file. False, with `errno`: too few pages are left. */
static bool file_reserve(int fd, uint64_t at, uint64_t len)
{
    /* After RESERVE_TRIES signals, goes on without reserved pages. */
    for (unsigned tries = 0; tries < RESERVE_TRIES; tries++) {
        errno = posix_fallocate(fd, (off_t)at, (off_t)len);
        if (errno != EINTR)
            break;
    }
    return errno != ENOSPC && errno != ENOMEM;
}

bool amg_shm_region_reserve(
    const struct amg_shm_region *region, const void *at, uint64_t len)
{
    uint64_t offset = (uint64_t)((const char *)at - (const char *)region->head);
    bool is_there = true;
    bool is_nameless = false;
    struct stat status;
    char path[AMG_SHM_PATH_CAP];
    int fd = -1;

    AMG_ASSERT(offset <= region->len && len <= region->len - offset);
    if (region->fd >= 0)
        return file_reserve(region->fd, offset, len);
    amg_shm_files_path(region->name, path);
    fd = segment_open(region->name, path, &is_nameless);
    if (fd < 0)
        return open_failure(errno) != HG_AGAIN;
    /* The name may belong to another segment by now. */
    if (fstat(fd, &status) == 0 && status.st_ino == region->inode)
        is_there = file_reserve(fd, offset, len);
    amg_spare_close(fd);
    return is_there;
}

/* Length of the front of a segment, reserved at its creation: the parts before
 * the keys, but of the claims only the first AMG_SHM_CLAIMS_AT_ONCE. */
static uint64_t first_len(const struct amg_shm_head *head)
{
    return head->claims_at + AMG_SHM_CLAIMS_AT_ONCE * sizeof(uint64_t);
}

static bool segment_reserve(int fd, const struct amg_shm_head *head)
{
    return file_reserve(fd, 0, first_len(head)) &&
           file_reserve(fd, head->keys_at,
               AMG_SHM_KEY_TABLE_FIRST_PAGES * AMG_SHM_PAGE) &&
           file_reserve(fd, head->msgbufs_at, head->msgbuf_stride);
}

void amg_shm_region_need(const struct amg_shm_region_params *params,
    uint32_t slots, struct amg_shm_need *ret_need)
{
    struct amg_shm_head head;
    uint64_t claims = 0;
    uint64_t fixed = 0;

    if (slots > AMG_SHM_SLOTS)
        slots = AMG_SHM_SLOTS;
    if (slots > AMG_SHM_CLAIMS_AT_ONCE)
        claims = (slots - AMG_SHM_CLAIMS_AT_ONCE) * sizeof(uint64_t);
    head_layout(params, &head);
    fixed = AMG_SHM_KEY_TABLE_FIRST_PAGES * AMG_SHM_PAGE +
            page_up(head.msgbuf_stride);
    ret_need->opened = page_up(first_len(&head)) + fixed;
    ret_need->called = page_up(first_len(&head) + claims) + fixed +
                       page_up(slots * sizeof(struct amg_shm_ring));
    ret_need->most = head.len;
}

const char *amg_shm_region_why(hg_return_t why, char ret_text[AMG_SHM_WHY_CAP])
{
    if (why == HG_AGAIN)
        snprintf(ret_text, AMG_SHM_WHY_CAP,
            "all %" PRIu64 " descriptors are in use, see ulimit -n",
            amg_descriptor_limit());
    else if (why == HG_NOMEM)
        snprintf(ret_text, AMG_SHM_WHY_CAP,
            "no memory, see ulimit -v and vm.max_map_count");
    else
        snprintf(ret_text, AMG_SHM_WHY_CAP, "%s", HG_Error_to_string(why));
    return ret_text;
}

hg_return_t amg_shm_region_create(const struct amg_shm_region_params *params,
    struct amg_shm_region *ret_region)
{
    struct amg_shm_region region = {.fd = -1};
    struct amg_shm_head head;
    struct amg_shm_head *shared = NULL;
    char why[AMG_SHM_WHY_CAP];
    void *base = NULL;
    hg_return_t rc = HG_SUCCESS;

    if (params->name[0] != '\0' && !amg_shm_name_is_valid(params->name)) {
        AMG_LOG_ERROR("cls",
            "'%s' is no name for a shared-memory class: use 1 to %d of "
            "letters, digits, '.', '_', '-'",
            params->name, AMG_SHM_NAME_CAP - 1);
        return HG_INVALID_ARG;
    }
    head_fill(params, &head);
    region.fd = amg_file_make(FOLDER, head.len);
    if (region.fd < 0) {
        AMG_LOG_ERROR("shm",
            "cannot create a file of %" PRIu64 " bytes in " FOLDER ": %s",
            head.len,
            errno == EFBIG ? "too large for this process, see ulimit -f"
                           : strerror(errno));
        return HG_NA_ERROR;
    }
    rc = HG_NOMEM;
    if (!segment_reserve(region.fd, &head)) {
        AMG_LOG_ERROR("shm",
            "no room for a segment in " FOLDER "; remove files there, or make "
            "it larger (docker run --shm-size)");
        goto close_fd;
    }
    rc = segment_map(region.fd, head.len, &base);
    if (rc != HG_SUCCESS) {
        AMG_LOG_ERROR("shm", "cannot map a segment of %" PRIu64 " bytes (%s)",
            head.len, amg_shm_region_why(rc, why));
        goto close_fd;
    }
    shared = base;
    head.probe_addr = (uint64_t)(uintptr_t)&shared->probe;
    snprintf(head.name, sizeof(head.name), "%s", params->name);
    memcpy(shared, &head, sizeof(head)); /* before the file has a name */
    rc = params->name[0] != '\0'
             ? file_name_chosen(region.fd, params->name)
             : file_name_next(region.fd, "", params->is_of_job, shared->name);
    if (rc != HG_SUCCESS)
        goto unmap;
    memcpy(head.name, shared->name, sizeof(head.name));
    region_fill(&region, &head, base);
    *ret_region = region;
    return HG_SUCCESS;

unmap:
    munmap(base, head.len);
close_fd:
    close(region.fd);
    return rc;
}

static bool part_is_inside(
    const struct amg_shm_head *head, uint64_t at, uint64_t len)
{
    return at % AMG_SHM_LINE == 0 && at >= sizeof(*head) && at <= head->len &&
           len <= head->len - at;
}

/* The error in the head, or NULL. */
static const char *head_fault(
    const struct amg_shm_head *head, uint64_t len, const char *name)
{
    if (head->magic != AMG_SHM_MAGIC)
        return "it is not a segment of this library";
    if (head->version != AMG_SHM_VERSION || head->head_len != sizeof(*head))
        return "it is of another version of this library";
    if (head->len != len || head->name[AMG_SHM_NAME_CAP - 1] != '\0' ||
        strcmp(head->name, name) != 0 || head->incarnation == 0)
        return "its head does not fit the file";
    if (head->max_contexts == 0 || head->max_contexts > AMG_SHM_CONTEXTS ||
        head->msgbuf_stride % AMG_SHM_LINE != 0 ||
        head->msgbuf_stride < sizeof(struct amg_shm_msgbuf) ||
        head->message_len > head->msgbuf_stride - sizeof(struct amg_shm_msgbuf))
        return "its counts are out of range";
    if (!part_is_inside(head, head->contexts_at,
            head->max_contexts * sizeof(struct amg_shm_context)) ||
        !part_is_inside(
            head, head->claims_at, AMG_SHM_SLOTS * sizeof(uint64_t)) ||
        !part_is_inside(head, head->keys_at, AMG_SHM_KEY_TABLE_LEN) ||
        !part_is_inside(head, head->rings_at,
            AMG_SHM_SLOTS * sizeof(struct amg_shm_ring)) ||
        !part_is_inside(head, head->msgbufs_at,
            (uint64_t)AMG_SHM_MSGBUFS * head->msgbuf_stride) ||
        !part_is_inside(head, head->bounce_bufs_at, AMG_SHM_BOUNCE_TOTAL_LEN) ||
        !part_is_inside(head, head->blocks_at, AMG_SHM_BLOCK_TOTAL_LEN))
        return "its parts are not inside it";
    return NULL;
}

hg_return_t amg_shm_region_map(
    const char *name, struct amg_shm_region *ret_region)
{
    struct amg_shm_region region = {.fd = -1};
    char path[AMG_SHM_PATH_CAP];
    struct amg_shm_head head;
    struct stat status;
    const char *fault = NULL;
    bool is_nameless = false;
    void *base = NULL;
    hg_return_t rc = HG_SUCCESS;
    int fd = -1;

    amg_shm_files_path(name, path);
    fd = segment_open(name, path, &is_nameless);
    if (fd < 0)
        return open_failure(errno);
    if (fstat(fd, &status) != 0) { /* the owner may be alive */
        rc = open_failure(errno);
        amg_spare_close(fd);
        return rc;
    }
    if (status.st_uid != geteuid() ||
        pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
        fault = "it cannot be read";
    else
        fault = head_fault(&head, (uint64_t)status.st_size, name);
    if (fault != NULL) {
        amg_spare_close(fd);
        /* The owner closed or died, and another file has the descriptor. */
        if (is_nameless)
            return HG_ADDRNOTAVAIL;
        AMG_LOG_ERROR("shm", "%s is refused: %s", path, fault);
        return HG_PROTOCOL_ERROR;
    }
    rc = segment_map(fd, head.len, &base);
    amg_spare_close(fd);
    if (rc != HG_SUCCESS)
        return rc;
    region_fill(&region, &head, base);
    region.inode = status.st_ino;
    *ret_region = region;
    return HG_SUCCESS;
}

void amg_shm_region_fini(struct amg_shm_region *region)
{
    char path[AMG_SHM_PATH_CAP];

    if (region->head == NULL)
        return;
    if (region->fd >= 0) {
        amg_shm_files_path(region->name, path);
        atomic_store_explicit(
            &region->head->is_closed, 1, memory_order_release);
        amg_shm_files_remove(path, region->fd);
        close(region->fd);
    }
    munmap(region->head, region->len);
    region->head = NULL;
}

/* Whether this process could map the segment without its name: the owner is in
 * the same pid namespace, and its descriptors can be opened through /proc. */
static bool region_is_open_to_us(
    const struct amg_shm_region *own, const struct amg_shm_region *other)
{
    int fd = own->pid_ns == other->pid_ns ? open_nameless(other->name) : -1;
    bool is_open = fd >= 0;

    if (is_open)
        amg_spare_close(fd);
    return is_open;
}

hg_return_t amg_shm_node_check(const struct amg_domain *base,
    const struct amg_shm_id *id, bool *ret_needs_name)
{
    struct amg_shm_region region;
    hg_return_t rc = amg_shm_region_map(id->name, &region);

    if (rc != HG_SUCCESS)
        return rc;
    if (region.incarnation != id->incarnation)
        rc = HG_ADDRNOTAVAIL;
    else
        *ret_needs_name =
            !region_is_open_to_us(&amg_shm_domain_of(base)->region, &region);
    amg_shm_region_fini(&region);
    return rc;
}

bool amg_shm_node_mem_create(uint64_t len, struct amg_shm_node_mem *ret_mem)
{
    struct amg_shm_node_mem mem = {.id = {.len = len, .word = random_word()}};
    char *base = MAP_FAILED;

    mem.fd = amg_file_make(FOLDER, WORD_ROOM + len);
    if (mem.fd >= 0 && file_reserve(mem.fd, 0, WORD_ROOM + len))
        base = file_map(mem.fd, WORD_ROOM + len, PROT_READ | PROT_WRITE);
    if (base == MAP_FAILED) {
        AMG_LOG_WARNING("shm",
            "cannot create a table of %" PRIu64 " bytes in " FOLDER ": %s", len,
            strerror(errno));
        goto close_fd;
    }
    memcpy(base, &mem.id.word, sizeof(mem.id.word));
    if (file_name_next(mem.fd, "table-", true, mem.id.name) != HG_SUCCESS)
        goto unmap;
    mem.bytes = base + WORD_ROOM;
    *ret_mem = mem;
    return true;

unmap:
    munmap(base, WORD_ROOM + len);
close_fd:
    if (mem.fd >= 0)
        close(mem.fd);
    return false;
}

void amg_shm_node_mem_seal(struct amg_shm_node_mem *mem)
{
    char path[AMG_SHM_PATH_CAP];

    if (mem->bytes == NULL || mem->fd < 0)
        return;
    amg_shm_files_path(mem->id.name, path);
    amg_shm_files_remove(path, mem->fd);
    close(mem->fd);
    mem->fd = -1;
    (void)mprotect(
        (char *)mem->bytes - WORD_ROOM, WORD_ROOM + mem->id.len, PROT_READ);
}

bool amg_shm_node_mem_map(
    const struct amg_shm_node_mem_id *id, struct amg_shm_node_mem *ret_mem)
{
    uint64_t len = WORD_ROOM + id->len;
    char path[AMG_SHM_PATH_CAP];
    struct stat status;
    char *base = MAP_FAILED;
    int fd = -1;

    amg_shm_files_path(id->name, path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
        (uint64_t)status.st_size == len)
        base = file_map(fd, len, PROT_READ);
    close(fd);
    if (base == MAP_FAILED)
        return false;
    if (memcmp(base, &id->word, sizeof(id->word)) != 0) {
        munmap(base, len);
        return false;
    }
    *ret_mem = (struct amg_shm_node_mem){
        .id = *id, .bytes = base + WORD_ROOM, .fd = -1};
    return true;
}

void amg_shm_node_mem_fini(struct amg_shm_node_mem *mem)
{
    if (mem->bytes == NULL)
        return;
    amg_shm_node_mem_seal(mem);
    munmap((char *)mem->bytes - WORD_ROOM, WORD_ROOM + mem->id.len);
    mem->bytes = NULL;
}
