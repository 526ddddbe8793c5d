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

/* The options of Mercury, and the fields that have another form in the text. */
struct section {
    struct hg_init_info info;
    bool is_listening;
    bool no_block;
    bool no_retry;
    unsigned max_contexts;
    const char *log_level;
    const char *log_subsys;
};

/* The table is formatted by hand. */
/* clang-format off */
#define FIELD(key, KIND, member, min, max, words)                              \
    {key, AMG_JSON_##KIND, offsetof(struct section, member), min, max, words}
#define FLAG(key, KIND, member) FIELD(key, KIND, member, 0, 0, NULL)
#define SIZE(key, KIND, member) FIELD(key, KIND, member, 0, UINT32_MAX, NULL)
#define TEXT(key, member) FIELD(key, TEXT, member, 0, 0, NULL)
#define TOLD(key) {key, AMG_JSON_ELSEWHERE, 0, 0, 0, NULL}
#define NA(member) info.na_init_info.member

static const struct amg_json_field fields[] = {
    /* Fields of a description, ignored here. */
    TOLD("address"), TOLD("version"),
    TOLD("input_eager_size"), TOLD("output_eager_size"),
    FLAG("listening", BOOL, is_listening),
    FLAG("auto_sm", BYTE, info.auto_sm),
    FLAG("stats", BYTE, info.stats),
    FLAG("na_no_block", BOOL, no_block),
    FLAG("na_no_retry", BOOL, no_retry),
    FLAG("no_bulk_eager", BYTE, info.no_bulk_eager),
    FLAG("no_loopback", BYTE, info.no_loopback),
    FLAG("no_multi_recv", BYTE, info.no_multi_recv),
    FLAG("release_input_early", BYTE, info.release_input_early),
    FLAG("no_overflow", BOOL, info.no_overflow),
    FLAG("na_request_mem_device", BOOL, NA(request_mem_device)),
    FIELD("max_contexts", UINT, max_contexts, 0, UINT8_MAX, NULL),
    SIZE("request_post_init", UINT, info.request_post_init),
    FIELD("request_post_incr", INT, info.request_post_incr, INT32_MIN,
        INT32_MAX, NULL),
    SIZE("multi_recv_op_max", UINT, info.multi_recv_op_max),
    SIZE("multi_recv_copy_threshold", UINT, info.multi_recv_copy_threshold),
    SIZE("na_max_unexpected_size", SIZE, NA(max_unexpected_size)),
    SIZE("na_max_expected_size", SIZE, NA(max_expected_size)),
    FIELD("na_addr_format", HINT, NA(addr_format), 0, 0, address_formats),
    FIELD("checksum_level", WORD, info.checksum_level, 0, 0, checksum_levels),
    FIELD("traffic_class", HINT, info.traffic_class, 0, 0, traffic_classes),
    TEXT("ip_subnet", NA(ip_subnet)),
    TEXT("auth_key", NA(auth_key)),
    TEXT("sm_info_string", info.sm_info_string),
    TEXT("log_level", log_level),
    TEXT("log_subsys", log_subsys),
    {0},
};

/* Options are read in place, as types that the table names. */
_Static_assert(sizeof(enum na_addr_format) == sizeof(int) &&
    sizeof(hg_checksum_level_t) == sizeof(int) &&
    sizeof(enum na_traffic_class) == sizeof(int), "words are read as int");
/* clang-format on */

static struct section section_of(const struct hg_init_info *info)
{
    const struct na_init_info_4_0 *na = &info->na_init_info;

    return (struct section){
        .info = *info,
        .no_block = (na->progress_mode & NA_NO_BLOCK) != 0,
        .no_retry = (na->progress_mode & NA_NO_RETRY) != 0,
        .max_contexts = na->max_contexts,
    };
}

/* Sets Mercury's log; a setting equal to the present one changes nothing. */
static void log_set(const struct section *section)
{
    if (section->log_level != NULL &&
        strcmp(section->log_level,
            hg_log_level_to_string(hg_log_get_level())) != 0)
        HG_Set_log_level(section->log_level);
    if (section->log_subsys != NULL &&
        strcmp(section->log_subsys, hg_log_get_subsys()) != 0)
        HG_Set_log_subsys(section->log_subsys);
}

bool amg_margo_mercury_read(const struct amg_margo_log *log,
    struct json_object *section, bool is_listening, struct hg_init_info *info)
{
    struct section read = section_of(info);
    struct na_init_info_4_0 *na = &info->na_init_info;

    if (section == NULL)
        return true;
    read.is_listening = is_listening;
    if (!amg_json_read(log, "mercury", section, fields, &read))
        return false;
    if (read.is_listening != is_listening)
        amg_margo_log_write(log, MARGO_LOG_WARNING,
            "configuration: mercury.listening is %s, but the mode argument "
            "says otherwise, and takes precedence",
            read.is_listening ? "true" : "false");
    log_set(&read);
    *info = read.info;
    na->max_contexts = (uint8_t)read.max_contexts;
    na->progress_mode =
        (uint8_t)((na->progress_mode & ~(NA_NO_BLOCK | NA_NO_RETRY)) |
                  (read.no_block ? NA_NO_BLOCK : 0) |
                  (read.no_retry ? NA_NO_RETRY : 0));
    return true;
}

struct json_object *amg_margo_mercury_describe(const struct hg_init_info *info)
{
    struct json_object *object = json_object_new_object();
    struct section section = section_of(info);

    if (object == NULL || !amg_json_write(object, fields, &section)) {
        json_object_put(object);
        return NULL;
    }
    json_object_object_del(object, "listening"); /* added by the caller */
    return object;
}
