/* SPDX-License-Identifier: BSD-3-Clause */
/* The section "mercury": Mercury's options as text, in both directions. */
#include "margo/config.h"

#include <limits.h>
#include <string.h>

#include "margo/json.h"
#include "mercury_log.h"

static const char *const address_formats[] = {
    [NA_ADDR_UNSPEC] = "unspec",
    [NA_ADDR_IPV4] = "ipv4",
    [NA_ADDR_IPV6] = "ipv6",
    [NA_ADDR_NATIVE] = "native",
    NULL,
};

static const char *const checksum_levels[] = {
    [HG_CHECKSUM_NONE] = "none",
    [HG_CHECKSUM_RPC_HEADERS] = "rpc_headers",
    [HG_CHECKSUM_RPC_PAYLOAD] = "rpc_payload",
    NULL,
};

static const char *const traffic_classes[] = {
    [NA_TC_UNSPEC] = "unspec",
    [NA_TC_BEST_EFFORT] = "best_effort",
    [NA_TC_LOW_LATENCY] = "low_latency",
    [NA_TC_BULK_DATA] = "bulk_data",
    [NA_TC_DEDICATED_ACCESS] = "dedicated_access",
    [NA_TC_SCAVENGER] = "scavenger",
    [NA_TC_NETWORK_CTRL] = "network_ctrl",
    NULL,
};

/* The section with the types of the table below. */
struct wishes {
    bool is_listening;
    bool no_block;
    bool no_retry;
    bool wants_device;
    uint8_t auto_sm;
    uint8_t stats;
    uint8_t no_bulk_eager;
    uint8_t no_loopback;
    uint8_t no_multi_recv;
    uint8_t release_input_early;
    bool no_overflow;
    unsigned max_contexts;
    unsigned request_post_init;
    int request_post_incr;
    unsigned multi_recv_op_max;
    unsigned multi_recv_copy_threshold;
    size_t max_unexpected_size;
    size_t max_expected_size;
    int addr_format;
    int checksum_level;
    int traffic_class;
    const char *ip_subnet;
    const char *auth_key;
    const char *sm_info_string;
    const char *log_level;
    const char *log_subsys;
};

/* Lines that belong together stand together. */
/* clang-format off */
#define FIELD(key, KIND, member, min, max, words)                              \
    {key, AMG_JSON_##KIND, offsetof(struct wishes, member), min, max, words}
#define TOLD(key) {key, AMG_JSON_ELSEWHERE, 0, 0, 0, NULL}

static const struct amg_json_field fields[] = {
    /* What a description tells, and the instance knows otherwise. */
    TOLD("address"), TOLD("version"),
    TOLD("input_eager_size"), TOLD("output_eager_size"),
    FIELD("listening", BOOL, is_listening, 0, 0, NULL),
    FIELD("auto_sm", BYTE, auto_sm, 0, 0, NULL),
    FIELD("stats", BYTE, stats, 0, 0, NULL),
    FIELD("na_no_block", BOOL, no_block, 0, 0, NULL),
    FIELD("na_no_retry", BOOL, no_retry, 0, 0, NULL),
    FIELD("no_bulk_eager", BYTE, no_bulk_eager, 0, 0, NULL),
    FIELD("no_loopback", BYTE, no_loopback, 0, 0, NULL),
    FIELD("no_multi_recv", BYTE, no_multi_recv, 0, 0, NULL),
    FIELD("release_input_early", BYTE, release_input_early, 0, 0, NULL),
    FIELD("no_overflow", BOOL, no_overflow, 0, 0, NULL),
    FIELD("na_request_mem_device", BOOL, wants_device, 0, 0, NULL),
    FIELD("max_contexts", UINT, max_contexts, 0, UINT8_MAX, NULL),
    FIELD("request_post_init", UINT, request_post_init, 0, UINT32_MAX, NULL),
    FIELD("request_post_incr", INT, request_post_incr, INT32_MIN, INT32_MAX,
        NULL),
    FIELD("multi_recv_op_max", UINT, multi_recv_op_max, 0, UINT32_MAX, NULL),
    FIELD("multi_recv_copy_threshold", UINT, multi_recv_copy_threshold, 0,
        UINT32_MAX, NULL),
    FIELD("na_max_unexpected_size", SIZE, max_unexpected_size, 0, UINT32_MAX,
        NULL),
    FIELD("na_max_expected_size", SIZE, max_expected_size, 0, UINT32_MAX,
        NULL),
    FIELD("na_addr_format", HINT, addr_format, 0, 0, address_formats),
    FIELD("checksum_level", WORD, checksum_level, 0, 0, checksum_levels),
    FIELD("traffic_class", HINT, traffic_class, 0, 0, traffic_classes),
    FIELD("ip_subnet", TEXT, ip_subnet, 0, 0, NULL),
    FIELD("auth_key", TEXT, auth_key, 0, 0, NULL),
    FIELD("sm_info_string", TEXT, sm_info_string, 0, 0, NULL),
    FIELD("log_level", TEXT, log_level, 0, 0, NULL),
    FIELD("log_subsys", TEXT, log_subsys, 0, 0, NULL),
};
/* clang-format on */

static void wishes_of(const struct hg_init_info *info, struct wishes *wishes)
{
    const struct na_init_info_4_0 *na = &info->na_init_info;

    *wishes = (struct wishes){
        .no_block = (na->progress_mode & NA_NO_BLOCK) != 0,
        .no_retry = (na->progress_mode & NA_NO_RETRY) != 0,
        .wants_device = na->request_mem_device,
        .auto_sm = info->auto_sm,
        .stats = info->stats,
        .no_bulk_eager = info->no_bulk_eager,
        .no_loopback = info->no_loopback,
        .no_multi_recv = info->no_multi_recv,
        .release_input_early = info->release_input_early,
        .no_overflow = info->no_overflow,
        .max_contexts = na->max_contexts,
        .request_post_init = info->request_post_init,
        .request_post_incr = info->request_post_incr,
        .multi_recv_op_max = info->multi_recv_op_max,
        .multi_recv_copy_threshold = info->multi_recv_copy_threshold,
        .max_unexpected_size = na->max_unexpected_size,
        .max_expected_size = na->max_expected_size,
        .addr_format = (int)na->addr_format,
        .checksum_level = (int)info->checksum_level,
        .traffic_class = (int)info->traffic_class,
        .ip_subnet = na->ip_subnet,
        .auth_key = na->auth_key,
        .sm_info_string = info->sm_info_string,
    };
}

static void wishes_apply(const struct wishes *wishes, struct hg_init_info *info)
{
    struct na_init_info_4_0 *na = &info->na_init_info;
    uint8_t mode = na->progress_mode & (uint8_t) ~(NA_NO_BLOCK | NA_NO_RETRY);

    na->ip_subnet = wishes->ip_subnet;
    na->auth_key = wishes->auth_key;
    na->max_unexpected_size = wishes->max_unexpected_size;
    na->max_expected_size = wishes->max_expected_size;
    na->progress_mode = (uint8_t)(mode | (wishes->no_block ? NA_NO_BLOCK : 0) |
                                  (wishes->no_retry ? NA_NO_RETRY : 0));
    na->addr_format = (enum na_addr_format)wishes->addr_format;
    na->max_contexts = (uint8_t)wishes->max_contexts;
    na->request_mem_device = wishes->wants_device;
    info->auto_sm = wishes->auto_sm;
    info->stats = wishes->stats;
    info->no_bulk_eager = wishes->no_bulk_eager;
    info->no_loopback = wishes->no_loopback;
    info->no_multi_recv = wishes->no_multi_recv;
    info->release_input_early = wishes->release_input_early;
    info->no_overflow = wishes->no_overflow;
    info->request_post_init = wishes->request_post_init;
    info->request_post_incr = wishes->request_post_incr;
    info->multi_recv_op_max = wishes->multi_recv_op_max;
    info->multi_recv_copy_threshold = wishes->multi_recv_copy_threshold;
    info->checksum_level = (hg_checksum_level_t)wishes->checksum_level;
    info->traffic_class = (enum na_traffic_class)wishes->traffic_class;
    info->sm_info_string = wishes->sm_info_string;
}

/* What a description tells of a log that is as it says changes nothing. */
static void log_set(const struct wishes *wishes)
{
    if (wishes->log_level != NULL &&
        strcmp(wishes->log_level, hg_log_level_to_string(hg_log_get_level())) !=
            0)
        HG_Set_log_level(wishes->log_level);
    if (wishes->log_subsys != NULL &&
        strcmp(wishes->log_subsys, hg_log_get_subsys()) != 0)
        HG_Set_log_subsys(wishes->log_subsys);
}

bool amg_margo_mercury_read(const struct amg_margo_log *log,
    struct json_object *section, bool is_listening, struct hg_init_info *info)
{
    struct wishes wishes;

    if (section == NULL)
        return true;
    wishes_of(info, &wishes);
    wishes.is_listening = is_listening;
    if (!amg_json_read(log, "mercury", section, fields,
            sizeof(fields) / sizeof(fields[0]), &wishes))
        return false;
    if (wishes.is_listening != is_listening)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "configuration: mercury.listening is %s, but the mode that was "
            "given as argument says otherwise, and decides",
            wishes.is_listening ? "true" : "false");
    log_set(&wishes);
    wishes_apply(&wishes, info);
    return true;
}

/* What the section says of one field of the wishes; NULL: no memory, or a text
 * that was not given. */
static struct json_object *field_describe(
    const struct amg_json_field *field, const struct wishes *wishes)
{
    const void *place = (const char *)wishes + field->offset;

    switch (field->kind) {
    case AMG_JSON_BOOL:
        return json_object_new_boolean(*(const bool *)place);
    case AMG_JSON_BYTE:
        return json_object_new_boolean(*(const uint8_t *)place != 0);
    case AMG_JSON_INT:
        return json_object_new_int(*(const int *)place);
    case AMG_JSON_UINT:
        return json_object_new_int64(*(const unsigned *)place);
    case AMG_JSON_SIZE:
        return json_object_new_int64((int64_t) * (const size_t *)place);
    case AMG_JSON_WORD:
    case AMG_JSON_HINT:
        return json_object_new_string(field->words[*(const int *)place]);
    default:
        return *(const char *const *)place == NULL
                   ? NULL
                   : json_object_new_string(*(const char *const *)place);
    }
}

struct json_object *amg_margo_mercury_describe(const struct hg_init_info *info)
{
    struct json_object *section = json_object_new_object();
    struct wishes wishes;

    wishes_of(info, &wishes);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct json_object *value = NULL;
        const char *const *text = NULL;

        if (fields[i].kind == AMG_JSON_ELSEWHERE ||
            fields[i].offset == offsetof(struct wishes, is_listening))
            continue;
        text = (const char *const *)(const void *)((const char *)&wishes +
                                                   fields[i].offset);
        if (fields[i].kind == AMG_JSON_TEXT && *text == NULL)
            continue;
        value = field_describe(&fields[i], &wishes);
        if (section == NULL || value == NULL ||
            json_object_object_add(section, fields[i].key, value) != 0) {
            json_object_put(value);
            json_object_put(section);
            return NULL;
        }
    }
    return section;
}
