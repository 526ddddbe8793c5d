/* SPDX-License-Identifier: BSD-3-Clause */
/* Packed messages: the choice whether a call is sent, kept, or joins a kept
 * message, and the check of received messages. */
#include "transport/pack.h"

#include "base/env.h"

/* A message with room for fewer calls is not worth a copy. */
enum { CALLS_MIN = 2 };

void amg_packer_init(struct amg_packer *packer, uint32_t len_max, uint32_t room)
{
    uint64_t wanted = amg_env_number(AMG_ENV_PACK_BYTES);

    AMG_ASSERT(len_max <= UINT16_MAX + 1u && room >= len_max);
    *packer = (struct amg_packer){.turn = 1};
    amg_list_init(&packer->kept);
    packer->count_max =
        (room - len_max) / (uint32_t)sizeof(struct amg_pack_arrival);
    if (packer->count_max > UINT16_MAX)
        packer->count_max = UINT16_MAX;
    if (packer->count_max >= CALLS_MIN)
        packer->len_max = wanted < len_max ? (uint32_t)wanted : len_max;
}

/* Writes the head of a call, and the zeros behind its body. */
static void frame_write(unsigned char *body, const struct amg_pack_head *head)
{
    uint32_t len = amg_pack_part_len(head->len) - AMG_PACK_HEAD_LEN;

    memcpy(body - AMG_PACK_HEAD_LEN, head, AMG_PACK_HEAD_LEN);
    memset(body + head->len, 0, len - head->len);
}

/* Copies a call behind the calls of `kept`. The second call puts a head in the
 * place of the first call's header. */
static void pack_join(struct amg_pack *kept, const struct amg_pack *pack)
{
    unsigned char *body = kept->body + kept->len;

    if (kept->count == 1)
        frame_write(kept->body, &kept->head);
    memcpy(body, pack->body, pack->head.len);
    frame_write(body, &pack->head);
    kept->len += amg_pack_part_len(pack->head.len);
    kept->count++;
}

static bool pack_has_room(const struct amg_packer *packer,
    const struct amg_pack *kept, const struct amg_pack *pack)
{
    return kept->target == pack->target && kept->count < packer->count_max &&
           amg_pack_part_len(pack->len) <= packer->len_max - kept->len;
}

static void kept_count_change(struct amg_packer *packer, unsigned change)
{
    unsigned count =
        atomic_load_explicit(&packer->kept_count, memory_order_relaxed);

    atomic_store_explicit(
        &packer->kept_count, count + change, memory_order_relaxed);
}

enum amg_pack_verdict amg_packer_post(struct amg_packer *packer,
    struct amg_pack_peer *peer, struct amg_pack *pack)
{
    struct amg_pack *kept = peer->kept;

    if (kept != NULL) {
        AMG_ASSERT(kept->len <= packer->len_max);
        if (!pack_has_room(packer, kept, pack))
            return AMG_PACK_FULL;
        pack->head.len = (uint16_t)pack->len;
        pack_join(kept, pack);
        return AMG_PACK_JOINED;
    }
    if (peer->turn != packer->turn ||
        amg_pack_part_len(pack->len) >= packer->len_max) {
        peer->turn = packer->turn;
        return AMG_PACK_SEND;
    }
    pack->peer = peer;
    pack->head.len = (uint16_t)pack->len;
    pack->len = amg_pack_part_len(pack->len);
    pack->count = 1;
    peer->kept = pack;
    amg_list_push(&packer->kept, &pack->link);
    kept_count_change(packer, 1u);
    return AMG_PACK_KEPT;
}

static void count_add(atomic_uint_fast64_t *count, unsigned more)
{
    atomic_store_explicit(count,
        atomic_load_explicit(count, memory_order_relaxed) + more,
        memory_order_relaxed);
}

void amg_packer_take(struct amg_packer *packer, struct amg_pack *pack)
{
    AMG_ASSERT(pack->peer->kept == pack && pack->count >= 1);
    amg_list_remove(&pack->link);
    kept_count_change(packer, -1u);
    pack->peer->kept = NULL;
    pack->peer->turn = packer->turn;
    if (pack->count == 1)
        return;
    count_add(&packer->counts.messages, 1);
    count_add(&packer->counts.calls, pack->count);
}

bool amg_pack_iter_init(struct amg_pack_iter *iter, const void *bytes,
    uint32_t len, uint32_t count, uint32_t count_max)
{
    const unsigned char *at = bytes;
    uint32_t left = len;

    if (count == 0 || count > count_max)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct amg_pack_head head;
        uint32_t part_len = 0;

        if (left < AMG_PACK_HEAD_LEN)
            return false;
        memcpy(&head, at, AMG_PACK_HEAD_LEN);
        part_len = amg_pack_part_len(head.len);
        if (part_len > left)
            return false;
        at += part_len;
        left -= part_len;
    }
    if (left != 0)
        return false;
    *iter = (struct amg_pack_iter){bytes, len, count};
    return true;
}
