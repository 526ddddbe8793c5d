/* SPDX-License-Identifier: BSD-3-Clause */
/* Wire format: each message begins with a header of sixteen bytes.
 *
 *   byte  0      1         2        3         4..7     8..15   16 ...
 *       +------+---------+--------+---------+--------+-------+------+
 *       | kind | context | target | credits | cookie | token | body |
 *       +------+---------+--------+---------+--------+-------+------+
 *   kind     the magic bits 0xa0 and one of the kinds below
 *   context  context of the sender; an answer goes there
 *   target   context of the receiver
 *   credits  one-way requests of the receiver that the sender has released
 *   cookie   number of the call, fragment or lease in a table of its initiator,
 *            with a generation of ten bits (transport/table.h). The initiator
 *            keeps a cookie until the answer has come, also after a cancel; the
 *            cookie of a lease also until RETURN was sent. So a REVOKE that
 *            crosses RETURN finds no open lease, and a RETURN that crosses DENY
 *            finds no grant. At 4 million open cookies, an operation ends with
 *            HG_NOMEM. The cookie of a CREDIT is a note (transport/flow.h).
 *            The cookie of a DISCONNECT is 0 if the sender closes, or the low
 *            half of the token that the sender gave the receiver it gives up
 *   token    number that the receiver gave the sender at first contact: 64
 *            random bits drawn for that contact alone. The token names the
 *            sender, and no other process knows it. The token is unknown to a
 *            later process at the receiver's address, and to a receiver that
 *            gave up the sender
 *
 *   kind        from       body                        meaning
 *   CONNECT     either     struct amg_ofi_connect      identity of the sender
 *   ACCEPT      either     struct amg_ofi_connect      answer to CONNECT
 *   DISCONNECT  either     -                           the connection ends
 *   REQUEST     origin     the poster's bytes          wants an answer
 *   ONEWAY      origin     the poster's bytes          wants no answer
 *   REPLY       target     the poster's bytes          returns one credit
 *   REFUSE      target     struct amg_ofi_refuse       REPLY with an error
 *   CREDIT      either     -                           credits, and a note
 *   GET         initiator  struct amg_ofi_access       wants these bytes
 *   PUT         initiator  struct amg_ofi_access,      writes these bytes
 *                          bytes
 *   DATA        exposer    the bytes                   answer to GET
 *   DONE        exposer    struct amg_ofi_refuse       answer to PUT, or error
 *                                                      of GET
 *   LEASE       initiator  struct amg_ofi_lease_ask    wants to read and write
 *                                                      by the provider
 *   GRANT       exposer    struct amg_ofi_grant, rows  addresses and keys; in
 *                                                      several messages if long
 *   DENY        exposer    struct amg_ofi_refuse       LEASE refused, and why
 *   REVOKE      exposer    -                           the exposure ends
 *   RETURN      initiator  -                           no access is in flight,
 *                                                      and none will begin;
 *                                                      also before the GRANT
 *   PACK        either     calls of transport/pack.h   messages of the kinds
 *                                                      from REQUEST to CREDIT
 *                                                      for one context; the
 *                                                      cookie is their count
 *
 * Integers have the byte order of the machine; with another order the magic
 * number differs. The fields of CONNECT and ACCEPT stay in place in all
 * versions, so that processes recognise another version. */
#ifndef AMG_OFI_BACKEND_OFI_WIRE_H
#define AMG_OFI_BACKEND_OFI_WIRE_H

#include <assert.h>
#include <stdint.h>

enum amg_ofi_kind {
    AMG_OFI_CONNECT,
    AMG_OFI_ACCEPT,
    AMG_OFI_DISCONNECT,
    AMG_OFI_REQUEST,
    AMG_OFI_ONEWAY,
    AMG_OFI_REPLY,
    AMG_OFI_REFUSE,
    AMG_OFI_CREDIT,
    AMG_OFI_GET,
    AMG_OFI_PUT,
    AMG_OFI_DATA,
    AMG_OFI_DONE,
    AMG_OFI_LEASE,
    AMG_OFI_GRANT,
    AMG_OFI_DENY,
    AMG_OFI_REVOKE,
    AMG_OFI_RETURN,
    AMG_OFI_PACK,
    AMG_OFI_KIND_COUNT
};

/* "AMGO" on little endian machines. */
#define AMG_OFI_CONNECT_MAGIC 0x4f474d41u

enum {
    AMG_OFI_VERSION = 6,
    AMG_OFI_MAGIC = 0xa0, /* the high bits of the first byte */
    AMG_OFI_MAGIC_MASK = 0xe0,
    AMG_OFI_ADDR_MAX = 128, /* bytes of a provider's address */
    AMG_OFI_CONNECT_MIN = 32 + AMG_OFI_ADDR_MAX, /* shortest, any version */
    /* Longest REQUEST, ONEWAY or REPLY: 64 KiB, and room for all headers. */
    AMG_OFI_LONG_LEN = 65536 + 4096,
};

struct amg_ofi_header {
    uint8_t kind;
    uint8_t context;
    uint8_t target;
    uint8_t credits;
    uint32_t cookie;
    uint64_t token;
};

struct amg_ofi_refuse {
    uint32_t code;
    uint32_t unused;
};

struct amg_ofi_connect {
    uint32_t magic;
    uint16_t version;
    uint16_t addr_len;
    uint64_t token;       /* for the receiver's messages; 0: incompatible */
    uint64_t incarnation; /* of the sender; not 0 */
    uint32_t message_len; /* longest message of the sender that is not long */
    uint16_t credits;     /* requests that the receiver may send at once */
    uint16_t seq; /* number of the CONNECT; an ACCEPT has the number of the last
                   * CONNECT. Numbers repeat after 65,535 CONNECTs: 18 hours at
                   * one a second */
    uint8_t addr[AMG_OFI_ADDR_MAX]; /* of the sender */
    uint32_t received; /* messages from the receiver, with its token, so far */
    uint16_t first;    /* credits of the receiver from the start */
    uint16_t longs;    /* the receiver's requests beyond message_len, up to
                        * AMG_OFI_LONG_LEN, that find room; 0: none */
};

struct amg_ofi_key {
    uint32_t number;
    uint32_t serial; /* of the exposure: after 2^32 exposures of a domain, a
                      * key that was kept would be valid again */
    uint64_t salt;
};

struct amg_ofi_access {
    struct amg_ofi_key key;
    uint32_t segment;
    uint32_t unused;
    uint64_t into;
    uint64_t len;  /* bytes that this message moves */
    uint64_t left; /* first message: bytes of the transfer; else `len` */
};

struct amg_ofi_lease_ask {
    struct amg_ofi_key key;
};

/* A segment, as the provider names it in a read or write. */
struct amg_ofi_row {
    uint64_t base; /* provider's address of offset 0 of the segment */
    uint64_t len;
    uint64_t key;
};

struct amg_ofi_grant {
    uint32_t unused;
    uint32_t flags; /* of enum amg_mem_flags */
    uint32_t first; /* number of the first row in this message */
    uint32_t count; /* rows in all */
};

static_assert(sizeof(struct amg_ofi_header) == 16, "the table above");
static_assert(
    sizeof(struct amg_ofi_connect) == 40 + AMG_OFI_ADDR_MAX, "no hole");
static_assert(sizeof(struct amg_ofi_key) == 16, "no hole");
static_assert(sizeof(struct amg_ofi_access) == 48, "no hole");
static_assert(sizeof(struct amg_ofi_grant) == 16, "no hole");
static_assert(AMG_OFI_KIND_COUNT <= 32, "the magic bits");

#endif
