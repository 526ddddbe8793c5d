/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between processes: each begins with sixteen bytes.
 *
 *   byte  0      1         2        3         4..7     8..15   16 ...
 *       +------+---------+--------+---------+--------+-------+------+
 *       | kind | context | target | credits | cookie | stamp | body |
 *       +------+---------+--------+---------+--------+-------+------+
 *   kind     the high bits 101 and one of the kinds below
 *   context  the context of the sender; an answer goes there
 *   target   the context that it is for
 *   credits  as many one-way requests of the receiver were released
 *   cookie   names the call, piece or lease in the tables of who began it
 *   stamp    the token that the receiver gave the sender at first contact,
 *            64 random bits drawn for that contact alone: it names the sender,
 *            nobody else knows it, and a message for a process that is gone, or
 *            has given the sender up, means nothing any more
 *
 *   kind        from       body                       means
 *   CONNECT     anyone     struct amg_ofi_connect     who I am; who are you?
 *   ACCEPT      anyone     struct amg_ofi_connect     the answer to it
 *   DISCONNECT  anyone     -                          I close
 *   REQUEST     origin     the poster's bytes         answer me
 *   ONEWAY      origin     the poster's bytes         no answer wanted
 *   REPLY       target     the poster's bytes         returns one credit
 *   REFUSE      target     struct amg_ofi_refuse      the same, but why not
 *   CREDIT      target     -                          only header.credits
 *   GET         initiator  struct amg_ofi_access      send me these bytes
 *   PUT         initiator  struct amg_ofi_access, bytes write these bytes
 *   DATA        exposer    the bytes                  the answer to a GET
 *   DONE        exposer    struct amg_ofi_refuse      that of a PUT; or why not
 *   LEASE       initiator  struct amg_ofi_lease_ask   I want to read or write
 *                                                      this memory by myself
 *   GRANT       exposer    struct amg_ofi_grant, rows so it is reached; in
 *                                                      several messages if long
 *   DENY        exposer    struct amg_ofi_refuse      why not
 *   REVOKE      exposer    -                          the memory goes away
 *   RETURN      initiator  -                          I use it no more
 *
 * Integers are in the order of the machine; a process with another one speaks
 * another version. The fields of CONNECT and ACCEPT stay in place in all
 * versions, so that processes that do not understand each other can say so.
 */
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
    AMG_OFI_KIND_COUNT
};

#define AMG_OFI_CONNECT_MAGIC                                                  \
    0x4f474d41u /* "AMGO" on little endian machines                            \
                 */

enum {
    AMG_OFI_VERSION = 2,
    AMG_OFI_MAGIC = 0xa0, /* the high bits of the first byte, */
    AMG_OFI_MAGIC_MASK = 0xe0,
    AMG_OFI_ADDR_MAX = 128, /* bytes of a provider's address */
    AMG_OFI_CONNECT_MIN = 32 + AMG_OFI_ADDR_MAX, /* of any version */
};

struct amg_ofi_header {
    uint8_t kind;
    uint8_t context;
    uint8_t target;
    uint8_t credits;
    uint32_t cookie;
    uint64_t stamp;
};

struct amg_ofi_refuse {
    uint32_t code;
    uint32_t unused;
};

struct amg_ofi_connect {
    uint32_t magic;
    uint16_t version;
    uint16_t addr_len;
    uint64_t token;       /* what the receiver is to say in `stamp`; not 0 */
    uint64_t incarnation; /* of the sender; never 0 */
    uint32_t message_len; /* the longest that the sender can receive */
    uint16_t credits;     /* requests of the receiver that it has room for */
    uint16_t ask;         /* CONNECT: counts those to the receiver; ACCEPT: that
                           * of the CONNECT that it answers */
    uint8_t addr[AMG_OFI_ADDR_MAX]; /* where the sender is reached */
    uint32_t received; /* messages of the receiver that came with its token */
    uint32_t unused;
};

struct amg_ofi_key {
    uint32_t number;
    uint32_t serial;
    uint64_t salt;
};

struct amg_ofi_access {
    struct amg_ofi_key key;
    uint32_t segment;
    uint32_t unused;
    uint64_t into;
    uint64_t len;  /* of this message's bytes */
    uint64_t left; /* the first message of a transfer: of all; else as `len` */
};

struct amg_ofi_lease_ask {
    struct amg_ofi_key key;
};

/* One segment as the provider reaches it. */
struct amg_ofi_row {
    uint64_t base; /* what offset 0 of the segment is called there */
    uint64_t len;
    uint64_t key;
};

struct amg_ofi_grant {
    uint32_t id;    /* REVOKE and RETURN name it by their cookie */
    uint32_t flags; /* of enum amg_mem_flags */
    uint32_t first; /* the row that this message begins with */
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
