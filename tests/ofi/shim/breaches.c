/* SPDX-License-Identifier: BSD-3-Clause */
/* Breach of each rule of the shim, each in a process of its own: the shim
 * aborts the process, and names the rule. A shim that catches nothing proves
 * nothing. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ofi/shim/rig.h"
#include "ofi/shim/shim.h"
#include "ofi/shim/shim_objects.h"

enum { WORDS_CAP = 8192, SHORT = 100 };

static void *desc_of(struct fid_mr *mr)
{
    return amg_ofi_call->mr_desc(mr);
}

static void no_descriptor(struct rig *rig)
{
    rig_send(rig, rig->bytes, SHORT, NULL, &rig->contexts[0]);
}

static void foreign_descriptor(struct rig *rig)
{
    rig_send(rig, rig->bytes, SHORT, rig->bytes, &rig->contexts[0]);
}

static void dead_descriptor(struct rig *rig)
{
    void *desc = desc_of(rig->mr);

    rig_expect(amg_ofi_call->close(&rig->mr->fid), "close");
    rig_send(rig, rig->bytes, SHORT, desc, &rig->contexts[0]);
}

static void beyond_the_range(struct rig *rig)
{
    struct fid_mr *half = rig_reg(rig, rig->bytes, RIG_LEN / 2, RIG_ACCESS);

    rig_send(
        rig, rig->bytes + RIG_LEN / 2 - 1, 2, desc_of(half), &rig->contexts[0]);
}

static void wrong_access(struct rig *rig)
{
    rig_send(rig, rig->inbox, SHORT, desc_of(rig->inbox_mr), &rig->contexts[0]);
}

static void unmapped(struct rig *rig)
{
    munmap(rig->bytes + RIG_LEN / 2, RIG_LEN / 2);
    (void)rig_reg(rig, rig->bytes, RIG_LEN, RIG_ACCESS);
}

static void unmapped_later(struct rig *rig)
{
    munmap(rig->bytes, RIG_LEN);
    rig_send(rig, rig->bytes, SHORT, desc_of(rig->mr), &rig->contexts[0]);
}

static void without_pages(struct rig *rig)
{
    (void)rig_reg(rig, rig_pages(false), RIG_LEN, RIG_ACCESS);
}

static void without_length(struct rig *rig)
{
    (void)rig_reg(rig, rig->bytes, 0, RIG_ACCESS);
}

static void wish_for_a_key(struct rig *rig)
{
    struct fid_mr *mr = NULL;

    (void)amg_ofi_call->mr_reg(
        rig->domain, rig->bytes, RIG_LEN, RIG_ACCESS, 7, &mr);
}

static void long_key(struct rig *rig)
{
    struct fid_mr *mr = NULL;

    (void)amg_ofi_call->mr_reg(
        rig->domain, rig->bytes, RIG_LEN, RIG_ACCESS, 1ull << 32, &mr);
}

static void early_key(struct rig *rig)
{
    struct fid_mr *mr = NULL;

    rig_expect(amg_ofi_call->mr_reg(
                   rig->domain, rig->bytes, RIG_LEN, RIG_ACCESS, 0, &mr),
        "mr_reg");
    rig_expect(amg_ofi_call->mr_bind(mr, &rig->ep->fid), "mr_bind");
    (void)amg_ofi_call->mr_key(mr);
}

static void unbound(struct rig *rig)
{
    struct fid_mr *mr = NULL;

    rig_expect(amg_ofi_call->mr_reg(
                   rig->domain, rig->bytes, RIG_LEN, RIG_ACCESS, 0, &mr),
        "mr_reg");
    (void)amg_ofi_call->mr_enable(mr);
}

static void many_pieces(struct rig *rig)
{
    const struct iovec iovs[] = {{rig->bytes, 8}, {rig->bytes + 100, 8}};
    void *descs[] = {desc_of(rig->mr), desc_of(rig->mr)};
    const struct fi_rma_iov there = {.len = 16};
    const struct fi_msg_rma msg = {.msg_iov = iovs,
        .desc = descs,
        .iov_count = 2,
        .addr = rig->self,
        .rma_iov = &there,
        .rma_iov_count = 1,
        .context = &rig->contexts[0]};

    (void)amg_ofi_call->writemsg(rig->ep, &msg, FI_COMPLETION);
}

static void long_inject(struct rig *rig)
{
    (void)amg_ofi_call->inject(rig->ep, rig->bytes, 17, rig->self);
}

static void no_context(struct rig *rig)
{
    rig_send(rig, rig->bytes, SHORT, desc_of(rig->mr), NULL);
}

static void context_twice(struct rig *rig)
{
    rig_send(rig, rig->bytes, SHORT, desc_of(rig->mr), &rig->inbox_context);
}

static void context_changed(struct rig *rig)
{
    rig_send(rig, rig->bytes, SHORT, desc_of(rig->mr), &rig->contexts[0]);
    memset(&rig->contexts[0], 0, sizeof(rig->contexts[0]));
    (void)rig_wait(rig, &rig->contexts[0]);
}

static void bytes_changed(struct rig *rig)
{
    rig_send(rig, rig->bytes, SHORT, desc_of(rig->mr), &rig->contexts[0]);
    rig->bytes[SHORT - 1] ^= 1;
    (void)rig_wait(rig, &rig->contexts[0]);
}

static void used_after_close(struct rig *rig)
{
    amg_ofi_call->mr_key(rig->mr);
    rig_expect(amg_ofi_call->close(&rig->mr->fid), "close");
    (void)amg_ofi_call->mr_key(rig->mr);
}

static void parent_first(struct rig *rig)
{
    (void)amg_ofi_call->close(&rig->domain->fid);
}

static void memory_left_bound(struct rig *rig)
{
    (void)amg_ofi_call->close(&rig->ep->fid);
}

static void left_open(struct rig *rig)
{
    (void)rig;
    shim_end();
}

static void info_freed_twice(struct rig *rig)
{
    amg_ofi_call->freeinfo(rig->info);
    amg_ofi_call->freeinfo(rig->info);
}

static void info_used_after_free(struct rig *rig)
{
    struct fid_ep *ep = NULL;

    amg_ofi_call->freeinfo(rig->info);
    (void)amg_ofi_call->endpoint(rig->domain, rig->info, &ep);
}

static void no_object(struct rig *rig)
{
    struct fid fid = {0};

    (void)rig;
    (void)amg_ofi_call->close(&fid);
}

static void *inside_stay(void *domain)
{
    shim_enter(domain, "test");
    return NULL;
}

static void two_threads(struct rig *rig)
{
    struct fi_cq_data_entry entry;
    pthread_t thread;

    rig_expect(pthread_create(&thread, NULL, inside_stay, rig->domain),
        "pthread_create");
    pthread_join(thread, NULL);
    (void)amg_ofi_call->cq_read(rig->cq, &entry, 1);
}

static void offset_for_address(struct rig *rig)
{
    rig_read(rig, SHORT, 0, amg_ofi_call->mr_key(rig->mr), &rig->contexts[0]);
}

static void address_for_offset(struct rig *rig)
{
    rig_read(rig, SHORT, (uintptr_t)rig->bytes, amg_ofi_call->mr_key(rig->mr),
        &rig->contexts[0]);
}

static void beyond_the_key(struct rig *rig)
{
    rig_read(rig, SHORT, RIG_LEN - SHORT + 1, amg_ofi_call->mr_key(rig->mr),
        &rig->contexts[0]);
}

static void wait_for_nothing(struct rig *rig)
{
    (void)amg_ofi_call->cq_trywait(rig->fabric, rig->cq);
}

static void closed_in_flight(struct rig *rig)
{
    rig_send(rig, rig->bytes, SHORT, desc_of(rig->mr), &rig->contexts[0]);
    (void)amg_ofi_call->close(&rig->mr->fid);
}

static void closed_while_read(struct rig *rig)
{
    unsigned char *other = rig_pages(true);
    struct fid_mr *mr = rig_reg(rig, other, RIG_LEN, FI_REMOTE_READ);

    rig_read(rig, SHORT, (uintptr_t)other, amg_ofi_call->mr_key(mr),
        &rig->contexts[0]);
    (void)amg_ofi_call->close(&mr->fid);
}

static void no_address(struct rig *rig)
{
    rig->self = FI_ADDR_UNSPEC;
    rig_send(rig, rig->bytes, SHORT, desc_of(rig->mr), &rig->contexts[0]);
}

static const struct breach {
    const char *name;
    const char *profile;
    void (*commit)(struct rig *rig);
    const char *words; /* of the shim's message */
} breaches[] = {
    {"no descriptor", "worst", no_descriptor, "have no descriptor"},
    {"foreign descriptor", "worst", foreign_descriptor, "of no registration"},
    {"foreign, where none is needed", "cxi", foreign_descriptor,
        "of no registration"},
    {"dead descriptor", "efa", dead_descriptor, "is closed"},
    {"beyond the range", "efa", beyond_the_range, "not all within"},
    {"wrong access", "worst", wrong_access, "not among the registered"},
    {"unmapped", "verbs", unmapped, "not all are mapped"},
    {"unmapped later", "efa", unmapped_later, "not all are mapped"},
    {"without pages", "cxi", without_pages, "have pages behind them"},
    {"without length", "verbs", without_length, "has no length"},
    {"wish for a key", "verbs", wish_for_a_key, "is asked for"},
    {"long key", "cxi-keys", long_key, "more than 4 bytes"},
    {"early key", "cxi", early_key, "before bind and enable"},
    {"unbound", "cxi", unbound, "bound to no endpoint"},
    {"many pieces", "worst", many_pieces, "pieces of memory"},
    {"long inject", "worst", long_inject, "16 are the limit"},
    {"no context", "opx", no_context, "is no struct fi_context2"},
    {"context twice", "opx", context_twice, "is in flight already"},
    {"context changed", "opx", context_changed, "was changed in flight"},
    {"bytes changed", "opx", bytes_changed, "while they were being sent"},
    {"used after close", "verbs", used_after_close, "after its close"},
    {"parent first", "opx", parent_first, "says EBUSY"},
    {"memory left bound", "cxi", memory_left_bound, "says EBUSY"},
    {"left open", "opx", left_open, "is left open"},
    {"info freed twice", "opx", info_freed_twice, "or was freed"},
    {"info used after free", "opx", info_used_after_free, "or was freed"},
    {"no object", "opx", no_object, "is no object"},
    {"two threads", "opx", two_threads, "two threads are in the domain"},
    {"offset for address", "worst", offset_for_address, "is an offset"},
    {"address for offset", "cxi", address_for_offset, "is a virtual address"},
    {"the same by own keys", "cxi-keys", address_for_offset,
        "is a virtual address"},
    {"beyond the key", "cxi", beyond_the_key, "of their key"},
    {"wait for nothing", "opx", wait_for_nothing, "nothing to wait for"},
    {"closed in flight", "efa", closed_in_flight, "a post in flight uses"},
    {"closed while read", "efa", closed_while_read, "still reads or writes"},
    {"no address", "opx", no_address, "there is no address"},
};

/* In the child: all output goes into the pipe. */
static void commit(const struct breach *breach, int pipe_fd)
{
    const struct rlimit no_core = {0, 0};
    struct rig rig;

    setrlimit(RLIMIT_CORE, &no_core);
    signal(SIGABRT, SIG_DFL);
    dup2(pipe_fd, STDERR_FILENO);
    rig_profile(breach->profile);
    rig_open(&rig);
    signal(SIGABRT, SIG_DFL); /* libraries install handlers with long reports */
    fprintf(stderr, "rig is open\n");
    breach->commit(&rig);
    fprintf(stderr, "nobody minded\n");
    _exit(EXIT_SUCCESS);
}

/* Reads until the child has closed its end. */
static void words_read(int fd, char *ret_words)
{
    size_t len = 0;
    ssize_t count = 0;

    while (len < WORDS_CAP - 1 &&
           (count = read(fd, ret_words + len, WORDS_CAP - 1 - len)) > 0)
        len += (size_t)count;
    ret_words[len] = '\0';
}

static bool is_caught(const struct breach *breach)
{
    char words[WORDS_CAP];
    int fds[2] = {-1, -1};
    int status = 0;
    pid_t child = 0;
    bool is_right = false;

    rig_expect(pipe(fds), "pipe");
    child = fork();
    rig_expect(child < 0, "fork");
    if (child == 0)
        commit(breach, fds[1]);
    close(fds[1]);
    words_read(fds[0], words);
    close(fds[0]);
    rig_expect(waitpid(child, &status, 0) != child, "waitpid");
    is_right = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
               strstr(words, "rig is open") != NULL &&
               strstr(words, "breaks a rule of ") != NULL &&
               strstr(words, breach->profile) != NULL &&
               strstr(words, breach->words) != NULL;
    if (!is_right)
        fprintf(stderr, "%s (%s): status %#x; it said:\n%s\n", breach->name,
            breach->profile, (unsigned)status, words);
    return is_right;
}

int main(void)
{
    unsigned bad = 0;

    rig_load();
    for (size_t i = 0; i < sizeof(breaches) / sizeof(breaches[0]); i++)
        bad += is_caught(&breaches[i]) ? 0 : 1;
    return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
