/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls on addresses: from text to address, and back. */
#include "base/assert.h"
#include "base/log.h"
#include "base/mem.h"
#include "core/addr.h"
#include "core/context.h"
#include "mercury_address.h"

enum { TEXT_CAP = 512 /* of an address in a log line */ };

/* A lookup whose callback waits for the trigger. Owned by the queue. */
struct lookup {
    struct amg_cq_entry entry;
    hg_cb_t callback;
    struct hg_cb_info info;
    hg_context_t *context;
};

static void lookup_run(struct amg_cq_entry *entry)
{
    struct lookup *lookup = AMG_OBJECT(entry, struct lookup, entry);
    hg_context_t *context = lookup->context;

    lookup->callback(&lookup->info);
    amg_mem_free(lookup);
    amg_context_leave(context);
}

hg_return_t HG_Addr_lookup1(hg_context_t *context, hg_cb_t callback, void *arg,
    const char *name, hg_op_id_t *op_id)
{
    struct lookup *lookup = NULL;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CONTEXT_OK(context) ||
        !AMG_CONTRACT(callback != NULL && name != NULL))
        return HG_INVALID_ARG;
    lookup = amg_mem_zalloc(sizeof(*lookup));
    if (lookup == NULL)
        return HG_NOMEM;
    rc = HG_Addr_lookup2(context->cls, name, &addr);
    if (rc != HG_SUCCESS) {
        amg_mem_free(lookup);
        return rc;
    }
    lookup->entry.run = lookup_run;
    lookup->entry.is_served = amg_role.is_serving;
    lookup->callback = callback;
    lookup->context = context;
    lookup->info.arg = arg;
    lookup->info.type = HG_CB_LOOKUP;
    lookup->info.ret = HG_SUCCESS;
    lookup->info.info.lookup.addr = addr;
    if (op_id != NULL && op_id != HG_OP_ID_IGNORE)
        *op_id = HG_OP_ID_NULL; /* it cannot be canceled any more */
    amg_context_enter(context);
    amg_context_queue(context, &lookup->entry);
    return HG_SUCCESS;
}

hg_return_t HG_Addr_lookup2(
    hg_class_t *hg_class, const char *name, hg_addr_t *addr)
{
    struct hg_addr value;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_CONTRACT(name != NULL && addr != NULL))
        return HG_INVALID_ARG;
    rc = amg_addr_parse(hg_class, name, &value);
    if (rc != HG_SUCCESS)
        return rc;
    rc = amg_addr_create(&value, addr);
    amg_addr_fini(&value);
    return rc;
}

hg_return_t HG_Addr_free(hg_class_t *hg_class, hg_addr_t addr)
{
    if (!AMG_CLASS_OK(hg_class))
        return HG_INVALID_ARG;
    if (addr == HG_ADDR_NULL)
        return HG_SUCCESS;
    if (!AMG_ADDR_OK(addr) || !AMG_CONTRACT(addr->cls == hg_class))
        return HG_INVALID_ARG;
    if (!addr->is_users) {
        AMG_LOG_ERROR("addr",
            "this address belongs to a handle (HG_Get_info()); to keep one, "
            "HG_Addr_dup() it");
        return HG_INVALID_ARG;
    }
    amg_addr_destroy(addr);
    return HG_SUCCESS;
}

hg_return_t HG_Addr_set_remove(hg_class_t *hg_class, hg_addr_t addr)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_ADDR_OK(addr))
        return HG_INVALID_ARG;
    return HG_SUCCESS; /* a hint; no transport here caches connections */
}

hg_return_t HG_Addr_self(hg_class_t *hg_class, hg_addr_t *addr)
{
    struct hg_addr value;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) || !AMG_CONTRACT(addr != NULL))
        return HG_INVALID_ARG;
    amg_addr_init_self(hg_class, &value);
    rc = amg_addr_create(&value, addr);
    amg_addr_fini(&value);
    return rc;
}

hg_return_t HG_Addr_dup(
    hg_class_t *hg_class, hg_addr_t addr, hg_addr_t *new_addr)
{
    if (!AMG_CLASS_OK(hg_class) || !AMG_ADDR_OK(addr) ||
        !AMG_CONTRACT(new_addr != NULL))
        return HG_INVALID_ARG;
    if (!AMG_CONTRACT(addr->cls == hg_class))
        return HG_INVALID_ARG;
    return amg_addr_create(addr, new_addr);
}

uint8_t HG_Addr_cmp(hg_class_t *hg_class, hg_addr_t addr1, hg_addr_t addr2)
{
    if (!AMG_CLASS_OK(hg_class))
        return HG_FALSE;
    if (addr1 == HG_ADDR_NULL || addr2 == HG_ADDR_NULL)
        return addr1 == addr2;
    return amg_addr_is_same(addr1, addr2);
}

/* Programs forget to set the size, and then wonder what their address is. */
static void overflow_log(hg_addr_t addr, size_t room, size_t len)
{
    char text[TEXT_CAP];

    AMG_LOG_WARNING("addr",
        "%zu bytes are too few for the address '%s', which needs %zu; was "
        "*buf_size set before HG_Addr_to_string()?",
        room, amg_addr_text(addr, text, sizeof(text)), len);
}

hg_return_t HG_Addr_to_string(
    hg_class_t *hg_class, char *buf, hg_size_t *buf_size, hg_addr_t addr)
{
    size_t len = 0;
    hg_return_t rc = HG_SUCCESS;

    if (!AMG_CLASS_OK(hg_class) ||
        !AMG_CONTRACT(
            buf_size != NULL && addr != HG_ADDR_NULL && addr->cls == hg_class))
        return HG_INVALID_ARG;
    len = buf == NULL ? 0 : *buf_size;
    rc = amg_addr_format(addr, buf, &len);
    if (rc == HG_OVERFLOW && buf != NULL)
        overflow_log(addr, *buf_size, len);
    if (rc == HG_SUCCESS || rc == HG_OVERFLOW)
        *buf_size = len;
    return buf == NULL && rc == HG_OVERFLOW ? HG_SUCCESS : rc;
}
