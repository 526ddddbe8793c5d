/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to the RPC layer, in any order and with any contents: requests,
 * replies, late replies, and acknowledgements of long replies. The class serves
 * good calls afterwards, and closes without leaks. */
#include "message.h"

#include <string.h>

#include "fuzz.h"
#include "wire/header.h"
#include "wire/records.h"

enum step {
    STEP_RAW,     /* any bytes */
    STEP_REQUEST, /* a partly valid request */
    STEP_LIE,     /* a call whose reply is partly valid */
    STEP_LATE,    /* such a reply to no call */
    STEP_ACK,     /* of a long reply, or of none */
    STEP_CALL,    /* a good call, among the others */
    STEP_DRAIN,   /* until nothing is in flight */
    STEP_COUNT
};

/* How a partly valid message is made. */
enum make_flags {
    MAKE_SIGNED = 1,    /* with valid checksums */
    MAKE_SPOILT = 2,    /* some bytes changed, after the checksums */
    MAKE_USER_LEN = 4,  /* another length of the user header */
    MAKE_CONTRARY = 8,  /* sent as one-way against its flags, or the reverse */
    MAKE_OTHER_ID = 16, /* of no RPC here */
};

enum {
    ARG_CAP = MESSAGE_LEN_MAX - 128,
    RECORDS_MAX = ARG_CAP / (sizeof(uint64_t) + AMG_RECORD_ARG_MAX),
};

/* One-way calls that share a message. */
static size_t records_make(struct fuzz *fuzz, uint8_t *ret_body)
{
    unsigned count = fuzz_u8(fuzz) % (RECORDS_MAX + 1);
    size_t len = 0;

    for (; count > 0; count--) {
        uint64_t record[1 + AMG_RECORD_ARG_MAX / 8];
        uint8_t arg[AMG_RECORD_ARG_MAX] = {0};
        uint32_t arg_len = fuzz_u8(fuzz) % (AMG_RECORD_ARG_MAX + 1);

        amg_record_write(record, arg, arg_len);
        memcpy(ret_body + len, record, amg_record_len(arg_len));
        len += amg_record_len(arg_len);
    }
    return len;
}

/* The part after the headers: nothing, random bytes, good arguments that were
 * altered, or a descriptor of long ones. */
static size_t body_make(struct fuzz *fuzz, uint8_t flags, uint8_t *ret_body)
{
    struct message_world *world = &message_world;
    uint8_t kind = fuzz_u8(fuzz);
    uint64_t total = 0;
    size_t len = 0;

    if ((flags & AMG_HEADER_SEVERAL) != 0 && kind % 8 < 6) {
        len = records_make(fuzz, ret_body);
        if (kind % 2 == 0)
            fuzz_spoil(fuzz, ret_body, len);
        return len;
    }
    switch (kind % 4) {
    case 0:
        return 0;
    case 1:
        return fuzz_bytes(fuzz, ret_body, ARG_CAP);
    case 2:
        len = message_args(
            kind % 8 < 4 ? MESSAGE_ARGS : MESSAGE_BULK, ret_body, ARG_CAP);
        break;
    default:
        total = fuzz_near(fuzz, HG_Bulk_get_size(world->bulk));
        memcpy(ret_body, &total, sizeof(total));
        len = sizeof(total);
        if ((flags & AMG_HEADER_SUMMED) != 0) {
            static const uint8_t zeros[8192];
            uint32_t sum = (uint32_t)amg_checksum_add(HG_CRC32, 0, zeros,
                total < sizeof(zeros) ? total : sizeof(zeros));

            memcpy(ret_body + len, &sum, sizeof(sum));
            len += sizeof(sum);
        }
        FUZZ_CHECK(HG_Bulk_serialize(ret_body + len, ARG_CAP - len, 0,
                       world->bulk) == HG_SUCCESS);
        len += HG_Bulk_get_serialize_size(world->bulk, 0);
    }
    fuzz_spoil(fuzz, ret_body, len);
    return len;
}

/* Fills in the part after the header, and the checksums; returns the length. */
static uint32_t message_finish(
    struct fuzz *fuzz, uint8_t *message, uint8_t make, hg_size_t user_len)
{
    uint8_t flags = message[offsetof(struct amg_header, flags)];
    size_t len = 0;
    size_t body_len = 0;

    if ((make & MAKE_USER_LEN) != 0)
        user_len = fuzz_u8(fuzz) % 64;
    memset(message + AMG_HEADER_LEN, 'u', user_len);
    len = AMG_HEADER_LEN + user_len;
    body_len = body_make(fuzz, flags, message + len);
    len += body_len;
    if ((flags & AMG_HEADER_SUMMED) != 0) {
        uint32_t sum = (uint32_t)amg_checksum_add(
            HG_CRC32, 0, message + len - body_len, body_len);

        memcpy(message + len, &sum, sizeof(sum));
        len += sizeof(sum);
    }
    amg_header_complete(message, (uint16_t)user_len, (make & MAKE_SIGNED) != 0);
    if ((make & MAKE_SPOILT) != 0)
        fuzz_spoil(fuzz, message, len);
    return (uint32_t)len;
}

static uint32_t reply_make(struct fuzz *fuzz, uint8_t *ret_message)
{
    uint8_t make = fuzz_u8(fuzz);
    uint8_t flags = fuzz_u8(fuzz);
    uint8_t code = fuzz_u8(fuzz);
    uint64_t token = fuzz_u8(fuzz);

    amg_header_write_reply(ret_message, flags & AMG_HEADER_FLAGS_ALL,
        (hg_return_t)(code % 4 == 0 ? code / 4 : 0), token);
    return message_finish(
        fuzz, ret_message, make, (message_world.variant & 4) != 0 ? 7 : 0);
}

static void step_request(struct fuzz *fuzz)
{
    struct message_world *world = &message_world;
    uint8_t message[MESSAGE_LEN_MAX];
    uint8_t make = fuzz_u8(fuzz);
    uint8_t flags = fuzz_u8(fuzz) & AMG_HEADER_FLAGS_ALL;
    uint8_t rpc = fuzz_u8(fuzz);
    uint64_t id = (make & MAKE_OTHER_ID) != 0
                      ? fuzz_u64(fuzz)
                      : world->ids[rpc % MESSAGE_RPC_COUNT];
    bool is_one_way =
        (flags & AMG_HEADER_ACK) != 0 ||
        (flags & (AMG_HEADER_ONE_WAY | AMG_HEADER_MORE)) == AMG_HEADER_ONE_WAY;
    uint32_t len = 0;

    amg_header_write_request(message, flags, id);
    len =
        message_finish(fuzz, message, make, (world->variant & 4) != 0 ? 12 : 0);
    if ((make & MAKE_CONTRARY) != 0)
        is_one_way = !is_one_way;
    message_inject(message, len, !is_one_way, rpc / MESSAGE_RPC_COUNT % 3);
}

static void step_ack(struct fuzz *fuzz)
{
    struct message_world *world = &message_world;
    uint8_t message[AMG_HEADER_LEN];
    uint8_t which = fuzz_u8(fuzz);
    uint64_t token = which < world->token_count ? world->tokens[which] : which;

    amg_header_write_request(
        message, AMG_HEADER_ACK | AMG_HEADER_ONE_WAY, token);
    message_inject(message, sizeof(message), false, fuzz_u8(fuzz) % 3);
}

/* Replaces the reply of MESSAGE_LIAR, which must not change in flight. */
static void lie_make(struct fuzz *fuzz)
{
    message_drain();
    message_world.lie_len = reply_make(fuzz, message_world.lie);
}

static void step_run(struct fuzz *fuzz, enum step step)
{
    uint8_t message[MESSAGE_LEN_MAX];
    uint8_t how = 0;
    uint32_t len = 0;

    switch (step) {
    case STEP_RAW:
        how = fuzz_u8(fuzz);
        len = (uint32_t)fuzz_bytes(fuzz, message, sizeof(message));
        message_inject(message, len, (how & 1) != 0, how / 2 % 3);
        break;
    case STEP_REQUEST:
        step_request(fuzz);
        break;
    case STEP_LIE:
        lie_make(fuzz);
        message_call(MESSAGE_LIAR, false);
        break;
    case STEP_LATE:
        message_drain();
        len = reply_make(fuzz, message);
        message_world.is_late = true;
        message_inject(message, len, false, 0);
        message_drain();
        message_world.is_late = false;
        break;
    case STEP_ACK:
        step_ack(fuzz);
        break;
    case STEP_CALL:
        message_call((enum message_rpc)(fuzz_u8(fuzz) % MESSAGE_LATER), false);
        break;
    default:
        message_drain();
        break;
    }
}

void fuzz_run(struct fuzz *fuzz)
{

    message_open(fuzz_u8(fuzz));
    for (unsigned i = 0; i < MESSAGE_STEPS_MAX && fuzz->left > 0; i++)
        step_run(fuzz, (enum step)(fuzz_u8(fuzz) % STEP_COUNT));
    message_close();
}
