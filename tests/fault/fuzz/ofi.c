/* SPDX-License-Identifier: BSD-3-Clause */
/* A malicious peer, which sends in its own name, in that of others and of
 * unknown peers: CONNECTs, replies expected and not, accesses, leases, garbage.
 * It may listen: most of its messages use the numbers that it was sent. Two
 * good peers beside it communicate undisturbed, operations complete, and
 * nothing leaks. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "ofi_backend/ofi_domain.h"
#include "ofi_backend/ofi_peer.h"
#include "ofi_backend/ofi_wire.h"
#include "ofi_fake.h"
#include "transport/pack.h"
#include "world.h"

enum {
    STEPS_MAX = 48,
    POLLS_MAX = 8, /* of a step */
    LIAR_ODDS = 4, /* three of four steps are with the liar */
    MEMORY = 65536,
    MESSAGE = 512,
    ROOM = MESSAGE * AMG_ROOM_FACTOR, /* the longest message */
    PORT = 1000,                      /* of the first side; the other follows */
    PEERS_MAX = 300,
    PARTS_MAX = 6,
    COOKIES = 4, /* remembered, of each kind */
    ROWS = 6,
};

/* Knowledge of the liar about each side. */
static struct lesson {
    uint64_t token;
    uint16_t seq;  /* of its last CONNECT */
    uint32_t said; /* its messages, except CONNECTs */
    uint32_t cookies[AMG_OFI_KIND_COUNT][COOKIES];
    unsigned heard[AMG_OFI_KIND_COUNT];
} lessons[WORLD_SIDES];

/* A message before it is sent. */
struct draft {
    struct amg_ofi_header header;
    uint8_t body[ROOM];
    size_t len; /* of the body */
};

static void cookie_hear(struct lesson *lesson, unsigned kind, uint32_t cookie)
{
    lesson->cookies[kind][lesson->heard[kind]++ % COOKIES] = cookie;
}

static void pack_hear(
    struct lesson *lesson, const uint8_t *bytes, uint32_t len, uint32_t count)
{
    struct amg_pack_iter iter;
    struct amg_pack_part part;

    FUZZ_CHECK(amg_pack_iter_init(&iter, bytes, len, count, UINT16_MAX));
    while (amg_pack_iter_next(&iter, &part)) {
        FUZZ_CHECK(part.head.kind < AMG_OFI_PACK);
        cookie_hear(lesson, part.head.kind, part.head.cookie);
    }
}

static void liar_hear(const uint8_t *bytes, size_t len)
{
    struct amg_ofi_header header;
    struct amg_ofi_connect connect;
    struct sockaddr_in addr;
    unsigned kind = 0;
    unsigned side = 0;

    FUZZ_CHECK(len >= sizeof(header) && len <= ROOM);
    memcpy(&header, bytes, sizeof(header));
    kind = header.kind & ~(unsigned)AMG_OFI_MAGIC_MASK;
    FUZZ_CHECK(kind < AMG_OFI_KIND_COUNT);
    if (kind == AMG_OFI_CONNECT || kind == AMG_OFI_ACCEPT) {
        memcpy(&connect, bytes + sizeof(header), sizeof(connect));
        memcpy(&addr, connect.addr, sizeof(addr));
        side = ntohs(addr.sin_port) - PORT;
        FUZZ_CHECK(side < WORLD_SIDES);
        lessons[side].token = connect.token;
        if (kind == AMG_OFI_CONNECT)
            lessons[side].seq = connect.seq;
        else
            lessons[side].said++;
        return;
    }
    /* The end of its token names each side, if it is truthful. */
    side = header.token % WORLD_SIDES;
    lessons[side].said++;
    if (kind == AMG_OFI_PACK)
        pack_hear(&lessons[side], bytes + sizeof(header),
            (uint32_t)(len - sizeof(header)), header.cookie);
    else
        cookie_hear(&lessons[side], kind, header.cookie);
}

static unsigned side_index(const struct world_step *step)
{
    return (unsigned)(step->side - world_sides);
}

static void draft_send(const struct draft *draft, unsigned side)
{
    uint8_t bytes[sizeof(draft->header) + ROOM];

    memcpy(bytes, &draft->header, sizeof(draft->header));
    memcpy(bytes + sizeof(draft->header), draft->body, draft->len);
    ofi_fake_say(
        (uint16_t)(PORT + side), bytes, sizeof(draft->header) + draft->len);
}

/* The port of an address to connect to. */
static uint16_t port_choose(struct fuzz *fuzz, unsigned side)
{
    switch (fuzz_u8(fuzz) % 8) {
    case 0:
        return (uint16_t)(PORT + side);
    case 1:
        return (uint16_t)(PORT + 1 - side);
    case 2:
        return (uint16_t)(30000 + fuzz_u8(fuzz));
    default:
        return OFI_FAKE_LIAR;
    }
}

/* Room and counts; true in most CONNECTs, else near the truth or far off. */
static void counts_choose(struct fuzz *fuzz, const struct lesson *lesson,
    struct amg_ofi_connect *connect)
{
    uint8_t how = fuzz_u8(fuzz);

    connect->credits = (uint16_t)(how % 2 == 0 ? WORLD_CREDITS : fuzz_u8(fuzz));
    connect->seq = how / 2 % 4 == 3 ? fuzz_u16(fuzz) : lesson->seq;
    connect->received = how / 8 % 4 == 3
                            ? (uint32_t)fuzz_near(fuzz, lesson->said)
                            : lesson->said;
}

/* Step: a CONNECT of the liar, in its own or another name. */
static void connect_send(struct fuzz *fuzz, const struct world_step *step)
{
    unsigned side = side_index(step);
    struct draft draft = {.len = sizeof(struct amg_ofi_connect)};
    struct sockaddr_in addr;
    struct amg_ofi_connect connect = {
        .magic = AMG_OFI_CONNECT_MAGIC,
        .version = AMG_OFI_VERSION,
        .addr_len = sizeof(addr),
        .token = 8 + side,
        .incarnation = 5,
        .message_len = ROOM,
    };
    uint8_t how = fuzz_u8(fuzz);

    ofi_fake_addr(port_choose(fuzz, side), &addr);
    counts_choose(fuzz, &lessons[side], &connect);
    memcpy(connect.addr, &addr, sizeof(addr));
    connect.version += how % 16 == 1 ? 1 : 0;
    connect.token += how % 16 == 2 ? WORLD_SIDES : 0;
    connect.incarnation += how % 16 == 3 ? 1 : 0;
    memcpy(draft.body, &connect, sizeof(connect));
    if (how % 16 == 4)
        fuzz_spoil(fuzz, draft.body, sizeof(connect));
    if (how % 16 == 5)
        draft.len = fuzz_u16(fuzz) % (ROOM - sizeof(draft.header));
    draft.header = (struct amg_ofi_header){
        .kind = AMG_OFI_MAGIC | (how >= 64 ? AMG_OFI_ACCEPT : AMG_OFI_CONNECT),
        .token = lessons[side].token,
    };
    draft_send(&draft, side);
}

/* Step: garbage. */
static void bytes_say(struct fuzz *fuzz, const struct world_step *step)
{
    static uint8_t bytes[200000]; /* larger than any buffer */
    uint8_t how = fuzz_u8(fuzz);
    size_t len =
        how % 4 == 0 ? sizeof(bytes) : fuzz_bytes(fuzz, bytes, 3 * ROOM);

    ofi_fake_say((uint16_t)(PORT + side_index(step)), bytes, len);
}

/* A cookie that some message to the liar had, or any. */
static uint32_t cookie_choose(
    struct fuzz *fuzz, const struct lesson *lesson, unsigned kind)
{
    static const uint8_t answers[AMG_OFI_KIND_COUNT] = {
        [AMG_OFI_REPLY] = AMG_OFI_REQUEST,
        [AMG_OFI_REFUSE] = AMG_OFI_REQUEST,
        [AMG_OFI_DATA] = AMG_OFI_GET,
        [AMG_OFI_DONE] = AMG_OFI_PUT,
        [AMG_OFI_GRANT] = AMG_OFI_LEASE,
        [AMG_OFI_DENY] = AMG_OFI_LEASE,
        [AMG_OFI_REVOKE] = AMG_OFI_LEASE,
        [AMG_OFI_RETURN] = AMG_OFI_GRANT, /* its cookie is the liar's */
    };
    uint8_t how = fuzz_u8(fuzz);

    if (how < 192)
        return lesson->cookies[answers[kind]][how % COOKIES];
    return how < 224 ? how % 8 : fuzz_u32(fuzz);
}

static size_t access_fill(
    struct fuzz *fuzz, unsigned side, uint8_t *body, unsigned kind)
{
    struct amg_ofi_access access;
    size_t more = kind == AMG_OFI_PUT ? fuzz_u16(fuzz) % 1500 : 0;

    memset(&access, 0, sizeof(access));
    memcpy(&access.key, world_sides[side].key.bytes, sizeof(access.key));
    access.segment = fuzz_u8(fuzz) % (WORLD_SHOWN + 2);
    access.into = fuzz_near(fuzz, 0);
    access.len = fuzz_near(fuzz, kind == AMG_OFI_PUT ? more : 100);
    access.left = fuzz_near(fuzz, access.len);
    if (fuzz_u8(fuzz) % 8 == 0)
        fuzz_spoil(fuzz, (uint8_t *)&access, sizeof(access.key));
    memcpy(body, &access, sizeof(access));
    return sizeof(access) + more;
}

static size_t grant_fill(struct fuzz *fuzz, uint8_t *body)
{
    uint32_t rows = fuzz_u8(fuzz) % ROWS;
    const struct amg_ofi_grant grant = {
        .flags = fuzz_u8(fuzz) % 8 == 0 ? fuzz_u8(fuzz) : 3,
        .first = fuzz_u8(fuzz) % 8 == 0 ? (uint32_t)fuzz_near(fuzz, 3) : 0,
        .count = (uint32_t)fuzz_near(fuzz, rows),
    };

    memcpy(body, &grant, sizeof(grant));
    for (uint32_t i = 0; i < rows; i++) {
        const struct amg_ofi_row row = {
            .base = fuzz_u8(fuzz),
            .len = fuzz_near(fuzz, 20000),
            .key = OFI_FAKE_KEY_GOOD + fuzz_u8(fuzz) / 128,
        };

        memcpy(body + sizeof(grant) + i * sizeof(row), &row, sizeof(row));
    }
    return sizeof(grant) + rows * sizeof(struct amg_ofi_row);
}

/* Calls with cookies that the liar was sent; most of them are allowed. */
static size_t pack_fill(struct fuzz *fuzz, const struct lesson *lesson,
    uint8_t *body, uint32_t *ret_count)
{
    uint32_t count = 1 + fuzz_u8(fuzz) % PARTS_MAX;
    size_t len = 0;

    memset(body, 0, ROOM - 100);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t how = fuzz_u8(fuzz);
        unsigned kind = how < 240 ? AMG_OFI_REQUEST + how % 5 : how % 32;
        uint16_t part_len = kind == AMG_OFI_REFUSE   ? 8
                            : kind == AMG_OFI_CREDIT ? 0
                                                     : how % 64;
        const struct amg_pack_head head = {
            .kind = (uint8_t)kind,
            .context = how / 5 % 3,
            .len = how % 32 == 31 ? (uint16_t)fuzz_near(fuzz, 64) : part_len,
            .cookie = cookie_choose(fuzz, lesson, kind % AMG_OFI_KIND_COUNT),
        };

        memcpy(body + len, &head, sizeof(head));
        len += amg_pack_part_len(part_len);
    }
    *ret_count =
        fuzz_u8(fuzz) % 8 == 7 ? (uint32_t)fuzz_near(fuzz, count) : count;
    return len;
}

/* `ret_count`: of the calls of a PACK, whose cookie it is. */
static size_t body_fill(struct fuzz *fuzz, unsigned side, unsigned kind,
    uint8_t *body, uint32_t *ret_count)
{
    struct amg_ofi_refuse refuse = {.code = fuzz_u8(fuzz) % 40};

    switch (kind) {
    case AMG_OFI_GET:
    case AMG_OFI_PUT:
        return access_fill(fuzz, side, body, kind);
    case AMG_OFI_GRANT:
        return grant_fill(fuzz, body);
    case AMG_OFI_LEASE:
        memcpy(body, world_sides[side].key.bytes, sizeof(struct amg_ofi_key));
        return sizeof(struct amg_ofi_lease_ask);
    case AMG_OFI_REFUSE:
    case AMG_OFI_DONE:
    case AMG_OFI_DENY:
        memcpy(body, &refuse, sizeof(refuse));
        return sizeof(refuse);
    case AMG_OFI_DATA:
    case AMG_OFI_REQUEST:
    case AMG_OFI_ONEWAY:
    case AMG_OFI_REPLY:
        return fuzz_near(fuzz, 100) % (ROOM - 100);
    case AMG_OFI_PACK:
        return pack_fill(fuzz, &lessons[side], body, ret_count);
    default:
        return 0;
    }
}

static void say(struct fuzz *fuzz, unsigned side, bool is_forged)
{
    struct draft draft;
    const struct lesson *lesson = &lessons[side];
    const struct amg_ofi_domain *domain =
        amg_ofi_domain_of(world_sides[side].domain);
    unsigned kind = 1 + fuzz_u8(fuzz) % (AMG_OFI_KIND_COUNT - 1);
    uint8_t how = fuzz_u8(fuzz);

    memset(&draft, 0, sizeof(draft));
    draft.header = (struct amg_ofi_header){
        .kind = (uint8_t)(AMG_OFI_MAGIC | kind),
        .context = how % 3,
        .target = how / 4 % 3,
        .credits = how < 64 ? fuzz_u8(fuzz) : 0,
        .cookie = cookie_choose(fuzz, lesson, kind),
        .token = lesson->token,
    };
    /* Tokens cannot be guessed; the incarnation number is public. */
    if (is_forged)
        draft.header.token =
            how < 128 ? domain->incarnation : lesson->token ^ 1ull << how % 64;
    else if (how % 32 == 31)
        draft.header.token = fuzz_u8(fuzz);
    draft.len = body_fill(fuzz, side, kind, draft.body, &draft.header.cookie);
    if (how % 16 == 15)
        draft.len = fuzz_u16(fuzz) % (ROOM - 100);
    draft_send(&draft, side);
}

/* Step: a message with valid names. */
static void speak(struct fuzz *fuzz, const struct world_step *step)
{
    say(fuzz, side_index(step), false);
}

/* Step: a message in the name of the good peer. */
static void forge(struct fuzz *fuzz, const struct world_step *step)
{
    say(fuzz, side_index(step), true);
}

/* Step: posts find no room; reads and writes do not complete. */
static void net_change(struct fuzz *fuzz, const struct world_step *step)
{
    ofi_fake.holds = step->how % 2 != 0;
    ofi_fake.full = step->how % 4 > 1 ? fuzz_u32(fuzz) : 0;
}

static void net_calm(void)
{
    ofi_fake.full = 0;
    ofi_fake.holds = false;
}

/* The clock of the driver, in place of the library's: waits take no time, but
 * bring deadlines nearer. */
static uint64_t napped_ns;

uint64_t amg_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * AMG_NS_PER_MS + (uint64_t)now.tv_nsec +
           napped_ns;
}

uint64_t amg_clock_deadline_ns(unsigned timeout_ms)
{
    return amg_clock_ns() + (uint64_t)timeout_ms * AMG_NS_PER_MS;
}

void amg_clock_sleep_ns(uint64_t ns)
{
    napped_ns += ns;
}

static void peers_wait(struct world_side *side, bool is_long)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(side->domain);
    struct amg_link *link = amg_list_first(&domain->peers.all);
    unsigned count = 0;

    domain->clock.tick_ns = 0;
    for (; link != NULL; link = amg_list_next(&domain->peers.all, link)) {
        struct amg_peer *peer = amg_container_of(link, struct amg_peer, all);

        peer->conn.retry_ns = 0;
        if (is_long)
            peer->conn.deadline_ns = 0;
        count++;
    }
    FUZZ_CHECK(count <= PEERS_MAX);
}

/* Step: time passes. */
static void pass(struct fuzz *fuzz, const struct world_step *step)
{
    (void)fuzz;
    peers_wait(step->side, false);
    world_poll(step->side, 1);
}

static void net_begin(struct fuzz *fuzz)
{
    (void)fuzz;
    ofi_fake_use();
    ofi_fake.tap = liar_hear;
    memset(lessons, 0, sizeof(lessons));
    net_calm();
}

static void side_open(struct world_side *side)
{
    const struct amg_open how = {
        .info = "",
        .protocol = "tcp",
        .is_listening = true,
        .message_len = MESSAGE,
        .credits = WORLD_CREDITS,
        .max_contexts = WORLD_CONTEXTS,
    };

    ofi_fake_port((uint16_t)(PORT + (side - world_sides)));
    FUZZ_CHECK(
        amg_ofi_transport.domain.open(&how, &side->domain) == HG_SUCCESS);
    /* The kernel does not know the ports of this network. */
    amg_ofi_domain_of(side->domain)->facts.is_tcp = false;
    FUZZ_CHECK(amg_ofi_transport.addr.parse(side->domain,
                   "ofi+tcp://127.0.0.1:60000", &side->liar) == HG_SUCCESS);
    side->memory = calloc(2, MEMORY);
    FUZZ_CHECK(side->memory != NULL);
    side->other_memory = side->memory + MEMORY;
}

static void side_close(struct world_side *side)
{
    amg_ofi_transport.addr.unref(side->domain, side->liar);
    amg_ofi_transport.domain.close(side->domain);
    free(side->memory);
    FUZZ_CHECK(side == &world_sides[0] || ofi_fake.live == 0);
}

/* The liar may keep a lease until it is lost. */
static void liar_lose(struct world_side *side)
{
    struct amg_ofi_domain *domain = amg_ofi_domain_of(side->domain);

    amg_bias_lock(&domain->lock);
    amg_ofi_connect_lost_locked(side->liar, "it lied");
    amg_bias_unlock(&domain->lock);
}

/* Their places are those in the corpus. */
static const world_step_fn steps[] = {
    connect_send,
    bytes_say,
    speak,
    forge,
    world_ask,
    world_move,
    world_turn,
    world_answer,
    net_change,
    pass,
    world_sleep,
    world_cancel,
};

const struct world_medium world_medium = {
    .driver = &amg_ofi_transport,
    .memory_len = MEMORY,
    .longest = ROOM,
    .is_cut = false,
    .liar_odds = LIAR_ODDS,
    .polls_max = POLLS_MAX,
    .steps_max = STEPS_MAX,
    .step_count = sizeof(steps) / sizeof(steps[0]),
    .steps = steps,
    .begin = net_begin,
    .open = side_open,
    .close = side_close,
    .meets_first = true,
    .calm = net_calm,
    .wait = peers_wait,
    .free_memory = liar_lose,
};
