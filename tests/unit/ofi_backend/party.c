/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that are connected over tcp, all within the test. */
#include "party.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>

#include "ofi_backend/ofi_domain.h"

enum { TEXT_CAP = 512 };

void party_open(struct party *party, uint32_t credits, uint32_t contexts)
{
    const struct amg_open how = {.info = "127.0.0.1",
        .protocol = "tcp",
        .is_listening = true,
        .credits = credits,
        .max_contexts = contexts};

    assert_int_equal(
        amg_ofi_transport.domain.open(&how, &party->domain), HG_SUCCESS);
    assert_int_equal(
        amg_ofi_transport.ep.open(party->domain, 0, &party->ep), HG_SUCCESS);
}

unsigned party_leave(struct party *party)
{
    struct amg_events events;
    unsigned count = 0;

    if (party->ep == NULL)
        return 0;
    amg_events_init(&events);
    amg_ofi_transport.ep.close(party->ep, &events);
    party->ep = NULL;
    while (amg_list_pop(&events.done) != NULL)
        count++;
    return count;
}

unsigned party_close(struct party *party)
{
    unsigned count = party_leave(party);

    amg_ofi_transport.domain.close(party->domain);
    party->domain = NULL;
    return count;
}

struct amg_peer *party_meet(
    const struct party *party, const struct party *other)
{
    struct amg_peer *self = amg_ofi_transport.addr.self(other->domain);
    struct amg_peer *peer = NULL;
    char text[TEXT_CAP];
    size_t len = sizeof(text);

    assert_int_equal(
        amg_ofi_transport.addr.format(other->domain, self, text, &len),
        HG_SUCCESS);
    amg_ofi_transport.addr.unref(other->domain, self);
    assert_int_equal(
        amg_ofi_transport.addr.parse(party->domain, text, &peer), HG_SUCCESS);
    return peer;
}
