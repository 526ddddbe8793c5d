/* SPDX-License-Identifier: BSD-3-Clause */
/* Configurations with random changes are accepted, or refused with a reason,
 * and leak nothing. The changes are the same in every run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "lines.h"
#include "margo.h"
#include "margo/config.h"

enum { ROUNDS = 20000, TEXT_CAP = 1024, CHANGES_MAX = 4 };

static struct lines lines;

static const char *const seeds[] = {
    "{\"use_progress_thread\":true,\"rpc_thread_count\":2,"
    "\"progress_timeout_ub_msec\":5,\"handle_cache_size\":3}",
    "{\"progress_pool\":\"p\",\"rpc_pool\":1,\"argobots\":{\"pools\":["
    "{\"name\":\"p\",\"kind\":\"fifo\",\"access\":\"mpmc\"},{\"name\":\"q\"}],"
    "\"xstreams\":[{\"name\":\"s\",\"cpubind\":0,\"affinity\":[0,1],"
    "\"scheduler\":{\"type\":\"basic\",\"pools\":[\"p\",1]}}]}}",
    "{\"mercury\":{\"auto_sm\":false,\"na_addr_format\":\"ipv4\","
    "\"max_contexts\":1,\"ip_subnet\":\"10.0.0.0/8\"},\"plumber\":{},"
    "\"amalgam\":{\"max_concurrent_rpcs\":7},\"monitoring\":{\"config\":{}}}",
};

/* Inserted texts: tokens of JSON, which get further than random bytes. */
static const char *const pieces[] = {"{", "}", "[", "]", ",", ":", "\"", "null",
    "true", "-1", "0", "1e9", "99999999999999999999", "{}", "[]", "\"p\"",
    "\"__primary__\"", "\"__rpc__\"", "\"name\":", "\"pools\":", "\\u0000",
    "\xff", "\x01", "/**/"};

/* Xorshift; any nonzero state will do. */
static uint32_t chance(uint32_t below)
{
    static uint32_t state = 2463534242u;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % below;
}

static void text_cut(char *text, size_t at, size_t count)
{
    size_t len = strlen(text);

    if (at + count > len)
        count = len - at;
    memmove(text + at, text + at + count, len - at - count + 1);
}

static void text_insert(char *text, size_t at, const char *piece, size_t count)
{
    size_t len = strlen(text);

    if (len + count >= TEXT_CAP)
        return;
    memmove(text + at + count, text + at, len - at + 1);
    memcpy(text + at, piece, count);
}

static void text_change(char *text)
{
    uint32_t len = (uint32_t)strlen(text);
    size_t at = chance(len + 1);
    const char *piece = pieces[chance(sizeof(pieces) / sizeof(pieces[0]))];
    char copied[32];
    size_t count = 0;

    switch (chance(4)) {
    case 0:
        text_cut(text, at, 1 + chance(8));
        break;
    case 1:
        text_insert(text, at, piece, strlen(piece));
        break;
    case 2:
        text_cut(text, at, 1 + chance(4));
        text_insert(
            text, at > strlen(text) ? strlen(text) : at, piece, strlen(piece));
        break;
    default: /* a part of the text is repeated elsewhere */
        count = chance(sizeof(copied));
        if (at + count > len)
            count = len - at;
        memcpy(copied, text + at, count);
        text_insert(text, chance(len + 1), copied, count);
        break;
    }
}

static void test_config_mutated_is_accepted_or_refused(void **state)
{
    struct amg_mem_stats before;
    struct amg_mem_stats after;
    unsigned taken = 0;

    (void)state;
    amg_mem_stats_get(&before);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
        struct margo_logger logger = lines_logger(&lines);
        struct amg_margo_config config;
        struct amg_margo_log log;
        char text[TEXT_CAP];
        bool is_read = false;

        (void)snprintf(text, sizeof(text), "%s",
            seeds[chance(sizeof(seeds) / sizeof(seeds[0]))]);
        for (uint32_t i = chance(CHANGES_MAX) + 1; i > 0; i--)
            text_change(text);
        amg_margo_log_init(&log, &logger);
        info.json_config = text;
        info.logger = &logger;
        is_read = amg_margo_config_read(&info, "self", 1, &config);
        if (is_read && !amg_margo_config_plan(&log, false, &config)) {
            amg_margo_config_free(&config);
            is_read = false;
        } else if (is_read) {
            amg_margo_config_free(&config);
            taken++;
        }
        if (!is_read && lines.errors[0] == '\0')
            fail_msg("refused without a reason: %s", text);
    }
    amg_mem_stats_get(&after);
    assert_int_equal(before.live, after.live);
    /* Both must happen, or this test shows nothing. */
    assert_in_range(taken, ROUNDS / 100, ROUNDS - ROUNDS / 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_mutated_is_accepted_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
