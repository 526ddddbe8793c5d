/* SPDX-License-Identifier: BSD-3-Clause */
/* Permitted acts of the shim: it refuses insufficient hints, hands out keys
 * that become invalid with their memory, reports them by completions, and
 * overwrites injected bytes. A user that keeps to the rules gets all bytes, and
 * is not aborted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ofi/shim/rig.h"
#include "ofi/shim/shim_breach.h"

enum { LEN = 5000 };

#define CHECK(expr) rig_expect((expr) ? 0 : -1, #expr)

/* The hints must offer each bit that a profile demands. */
static void hints_refused(void)
{
    static const uint64_t bits[] = {FI_MR_LOCAL, FI_MR_VIRT_ADDR,
        FI_MR_ALLOCATED, FI_MR_PROV_KEY, FI_MR_ENDPOINT};
    struct fi_info *hints = NULL;
    struct fi_info *info = NULL;

    for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        int wanted = (shim_profile->mr_mode & bits[i]) != 0 ? -FI_ENODATA : 0;

        hints = rig_hints();
        hints->domain_attr->mr_mode &= ~(int)bits[i];
        CHECK(amg_ofi_call->getinfo(FI_VERSION(1, 15), "127.0.0.1", NULL,
                  FI_SOURCE, hints, &info) == wanted);
        amg_ofi_call->freeinfo(hints);
        if (wanted == 0)
            amg_ofi_call->freeinfo(info);
    }
    hints = rig_hints();
    hints->mode = 0;
    CHECK((amg_ofi_call->getinfo(FI_VERSION(1, 15), "127.0.0.1", NULL,
               FI_SOURCE, hints, &info) == 0) == (shim_profile->mode == 0));
    amg_ofi_call->freeinfo(hints);
    if (shim_profile->mode == 0)
        amg_ofi_call->freeinfo(info);
}

static uint64_t addr_of(const unsigned char *bytes)
{
    return (shim_profile->mr_mode & FI_MR_VIRT_ADDR) != 0 ? (uintptr_t)bytes
                                                          : 0;
}

/* The bytes arrive; with a key of closed memory they do not. */
static void keys_go_stale(struct rig *rig)
{
    unsigned char *there = rig_pages(true);
    struct fid_mr *mr = rig_reg(rig, there, RIG_LEN, FI_REMOTE_READ);
    uint64_t key = amg_ofi_call->mr_key(mr);

    memset(there, 0x77, RIG_LEN);
    memset(rig->bytes, 0, RIG_LEN);
    rig_read(rig, LEN, addr_of(there), key, &rig->contexts[0]);
    CHECK(rig_wait(rig, &rig->contexts[0]) == 0);
    CHECK(memcmp(rig->bytes, there, LEN) == 0 && rig->bytes[LEN] == 0);
    rig_expect(amg_ofi_call->close(&mr->fid), "close");
    memset(there, 0x11, RIG_LEN);
    if ((shim_profile->mr_mode & FI_MR_PROV_KEY) == 0)
        return; /* the real provider decides otherwise about them */
    rig_read(rig, LEN, addr_of(there), key, &rig->contexts[0]);
    CHECK(rig_wait(rig, &rig->contexts[0]) == FI_ENOKEY);
    CHECK(rig->bytes[0] == 0x77);
    mr = rig_reg(rig, there, RIG_LEN, FI_REMOTE_WRITE);
    CHECK(amg_ofi_call->mr_key(mr) != key);
    rig_read(
        rig, LEN, addr_of(there), amg_ofi_call->mr_key(mr), &rig->contexts[0]);
    CHECK(rig_wait(rig, &rig->contexts[0]) == FI_EACCES);
    rig_expect(amg_ofi_call->close(&mr->fid), "close");
}

static void messages_come(struct rig *rig)
{
    unsigned char few[8] = "injected";
    ssize_t code = -FI_EAGAIN;

    memset(rig->bytes, 0x42, LEN);
    rig_send(rig, rig->bytes, LEN, amg_ofi_call->mr_desc(rig->mr),
        &rig->contexts[1]);
    CHECK(rig_wait(rig, &rig->contexts[1]) == 0);
    while (code == -FI_EAGAIN) {
        code = amg_ofi_call->inject(rig->ep, few, sizeof(few), rig->self);
        if (code == -FI_EAGAIN)
            CHECK(memcmp(few, "injected", sizeof(few)) == 0);
    }
    rig_expect(code, "inject");
    CHECK(memcmp(few, "injected", sizeof(few)) != 0);
    rig_send(
        rig, rig->bytes, 1, amg_ofi_call->mr_desc(rig->mr), &rig->contexts[1]);
    CHECK(rig_wait(rig, &rig->contexts[1]) == 0);
    while (memcmp(rig->inbox + LEN, "injected", sizeof(few)) != 0)
        rig_poll(rig);
    CHECK(memcmp(rig->inbox, rig->bytes, LEN) == 0);
}

static void behave(const char *profile)
{
    struct rig rig;

    rig_profile(profile);
    hints_refused();
    rig_open(&rig);
    keys_go_stale(&rig);
    messages_come(&rig);
    rig_close(&rig);
    exit(EXIT_SUCCESS);
}

int main(void)
{
    static const char *const profiles[] = {
        "cxi", "cxi-keys", "verbs", "efa", "opx", "worst"};
    int bad = 0;

    rig_load();
    for (unsigned i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
        int status = 0;
        pid_t child = fork();

        rig_expect(child < 0, "fork");
        if (child == 0)
            behave(profiles[i]);
        rig_expect(waitpid(child, &status, 0) != child, "waitpid");
        if (status != 0)
            fprintf(stderr, "%s: status %#x\n", profiles[i], (unsigned)status);
        bad |= status;
    }
    return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
