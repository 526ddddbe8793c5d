/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoint under the shim that sends to itself, for the tests of the shim. */
#include "ofi/shim/rig.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "ofi/shim/shim.h"
#include "ofi/shim/shim_breach.h"

enum { TRIES = 10000000 };

void rig_expect(long code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "rig: %s: %ld, %s\n", what, code,
        fi_strerror((int)(code < 0 ? -code : code)));
    exit(EXIT_FAILURE);
}

void rig_profile(const char *name)
{
    setenv(SHIM_ENV, name, 1);
    shim_use();
}

struct fi_info *rig_hints(void)
{
    struct fi_info *hints = amg_ofi_call->dupinfo(NULL);

    rig_expect(hints == NULL, "hints");
    hints->caps = FI_MSG | FI_RMA | FI_MULTI_RECV;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
                                  FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                                  FI_MR_ENDPOINT;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->tx_attr->size = 64;
    hints->rx_attr->size = 64;
    hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
    return hints;
}

void rig_info(struct rig *rig)
{
    struct fi_info *hints = rig_hints();

    rig_expect(amg_ofi_call->getinfo(FI_VERSION(1, 15), "127.0.0.1", NULL,
                   FI_SOURCE, hints, &rig->info),
        "getinfo");
    amg_ofi_call->freeinfo(hints);
}

void rig_load(void)
{
    struct rig rig;

    rig_info(&rig);
    amg_ofi_call->freeinfo(rig.info);
}

unsigned char *rig_pages(bool are_there)
{
    void *bytes = mmap(NULL, RIG_LEN, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    rig_expect(bytes == MAP_FAILED, "pages");
    if (are_there)
        memset(bytes, 1, RIG_LEN);
    return bytes;
}

struct fid_mr *rig_reg(
    struct rig *rig, void *bytes, size_t len, uint64_t access)
{
    bool is_ours = (shim_profile->mr_mode & FI_MR_PROV_KEY) == 0;
    static uint64_t next_key = 1000;
    struct fid_mr *mr = NULL;

    rig_expect(amg_ofi_call->mr_reg(rig->domain, bytes, len, access,
                   is_ours ? next_key++ : 0, &mr),
        "mr_reg");
    if ((shim_profile->mr_mode & FI_MR_ENDPOINT) == 0)
        return mr;
    rig_expect(amg_ofi_call->mr_bind(mr, &rig->ep->fid), "mr_bind");
    rig_expect(amg_ofi_call->mr_enable(mr), "mr_enable");
    return mr;
}

static void inbox_open(struct rig *rig)
{
    size_t min = 4096;
    struct iovec iov = {NULL, RIG_LEN};
    void *desc = NULL;
    const struct fi_msg msg = {.msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = FI_ADDR_UNSPEC,
        .context = &rig->inbox_context};
    ssize_t code = -FI_EAGAIN;

    rig->inbox = rig_pages(true);
    rig->inbox_mr = rig_reg(rig, rig->inbox, RIG_LEN, FI_RECV);
    iov.iov_base = rig->inbox;
    desc = amg_ofi_call->mr_desc(rig->inbox_mr);
    rig_expect(
        amg_ofi_call->setopt(rig->ep, FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
        "setopt");
    while (code == -FI_EAGAIN)
        code = amg_ofi_call->recvmsg(rig->ep, &msg, FI_MULTI_RECV);
    rig_expect(code, "recvmsg");
}

void rig_open(struct rig *rig)
{
    struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
    struct fi_cq_attr cq_attr = {.size = 128, .format = FI_CQ_FORMAT_DATA};
    unsigned char name[64];
    size_t name_len = sizeof(name);

    memset(rig, 0, sizeof(*rig));
    rig_info(rig);
    rig_expect(
        amg_ofi_call->fabric(rig->info->fabric_attr, &rig->fabric), "fabric");
    rig_expect(
        amg_ofi_call->domain(rig->fabric, rig->info, &rig->domain), "domain");
    rig_expect(amg_ofi_call->av_open(rig->domain, &av_attr, &rig->av), "av");
    rig_expect(amg_ofi_call->cq_open(rig->domain, &cq_attr, &rig->cq), "cq");
    rig_expect(amg_ofi_call->endpoint(rig->domain, rig->info, &rig->ep), "ep");
    rig_expect(amg_ofi_call->ep_bind(rig->ep, &rig->av->fid, 0), "av bind");
    rig_expect(
        amg_ofi_call->ep_bind(rig->ep, &rig->cq->fid, FI_TRANSMIT | FI_RECV),
        "cq bind");
    rig_expect(amg_ofi_call->enable(rig->ep), "enable");
    rig_expect(amg_ofi_call->getname(rig->ep, name, &name_len), "getname");
    rig_expect(
        amg_ofi_call->av_insert(rig->av, name, &rig->self) != 1, "av_insert");
    rig->bytes = rig_pages(true);
    rig->mr = rig_reg(rig, rig->bytes, RIG_LEN, RIG_ACCESS);
    inbox_open(rig);
}

void rig_close(struct rig *rig)
{
    struct fid *fids[] = {&rig->mr->fid, &rig->inbox_mr->fid, &rig->ep->fid,
        &rig->cq->fid, &rig->av->fid, &rig->domain->fid, &rig->fabric->fid};

    rig_expect(amg_ofi_call->cancel(rig->ep, &rig->inbox_context), "cancel");
    rig_expect(rig_wait(rig, &rig->inbox_context) != FI_ECANCELED,
        "the cancelled receive");
    for (unsigned i = 0; i < sizeof(fids) / sizeof(fids[0]); i++)
        rig_expect(amg_ofi_call->close(fids[i]), "close");
    amg_ofi_call->freeinfo(rig->info);
    munmap(rig->bytes, RIG_LEN);
    munmap(rig->inbox, RIG_LEN);
    shim_end();
}

/* The context of the next completion; `ret_error`: its code. NULL: there is
 * none. */
static void *queue_read(struct rig *rig, int *ret_error)
{
    struct fi_cq_data_entry entry = {.op_context = NULL};
    struct fi_cq_err_entry error = {.op_context = NULL};
    ssize_t count = amg_ofi_call->cq_read(rig->cq, &entry, 1);

    *ret_error = 0;
    if (count == 1 && entry.len > 0 && entry.op_context == &rig->inbox_context)
        return NULL; /* a message, whose bytes do not matter */
    if (count == 1)
        return entry.op_context;
    if (count != -FI_EAVAIL)
        return NULL;
    rig_expect(amg_ofi_call->cq_readerr(rig->cq, &error) != 1, "cq_readerr");
    *ret_error = error.err;
    return error.op_context;
}

int rig_wait(struct rig *rig, const struct fi_context2 *context)
{
    int error = 0;

    for (unsigned i = 0; i < TRIES; i++)
        if (queue_read(rig, &error) == context)
            return error;
    rig_expect(-FI_ETIMEDOUT, "waiting for a completion");
    return -1;
}

void rig_poll(struct rig *rig)
{
    int error = 0;

    (void)queue_read(rig, &error);
}

void rig_send(struct rig *rig, const void *bytes, size_t len, void *desc,
    struct fi_context2 *context)
{
    ssize_t code = -FI_EAGAIN;

    for (unsigned i = 0; i < TRIES && code == -FI_EAGAIN; i++) {
        code =
            amg_ofi_call->send(rig->ep, bytes, len, desc, rig->self, context);
        if (code == -FI_EAGAIN)
            rig_poll(rig);
    }
    rig_expect(code, "send");
}

void rig_read(struct rig *rig, size_t len, uint64_t addr, uint64_t key,
    struct fi_context2 *context)
{
    const struct iovec iov = {rig->bytes, len};
    const struct fi_rma_iov there = {.addr = addr, .len = len, .key = key};
    void *desc = amg_ofi_call->mr_desc(rig->mr);
    const struct fi_msg_rma msg = {.msg_iov = &iov,
        .desc = &desc,
        .iov_count = 1,
        .addr = rig->self,
        .rma_iov = &there,
        .rma_iov_count = 1,
        .context = context};
    ssize_t code = -FI_EAGAIN;

    for (unsigned i = 0; i < TRIES && code == -FI_EAGAIN; i++) {
        code = amg_ofi_call->readmsg(rig->ep, &msg, FI_COMPLETION);
        if (code == -FI_EAGAIN)
            rig_poll(rig);
    }
    rig_expect(code, "readmsg");
}
