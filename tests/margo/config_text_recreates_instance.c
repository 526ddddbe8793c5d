/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of margo_get_config_opt() creates an equal instance: one that is
 * opened with it returns the same text, for all options. */
#include <json-c/json.h>

#include "one.h"

static const char *const texts[] = {
    "{}",
    "{\"use_progress_thread\":true}",
    "{\"use_progress_thread\":true,\"rpc_thread_count\":2}",
    "{\"rpc_thread_count\":-1,\"progress_spindown_msec\":3}",
    "{\"progress_timeout_ub_msec\":9,\"handle_cache_size\":5,"
    "\"amalgam\":{\"max_concurrent_rpcs\":100},"
    "\"mercury\":{\"checksum_level\":\"rpc_headers\",\"no_bulk_eager\":true}}",
    "{\"argobots\":{\"pools\":[{\"name\":\"p\",\"kind\":\"fifo\"},"
    "{\"name\":\"q\",\"kind\":\"prio_wait\"},"
    "{\"name\":\"r\",\"kind\":\"earliest_first\"},{\"kind\":\"fifo_wait\","
    "\"access\":\"mpmc\"}],\"xstreams\":[{\"name\":\"__primary__\","
    "\"scheduler\":{\"type\":\"basic\",\"pools\":[\"p\"]}},"
    "{\"name\":\"more\",\"scheduler\":{\"type\":\"basic_wait\","
    "\"pools\":[1]}},{\"cpubind\":-1,\"scheduler\":{\"pools\":[\"r\",3,1]}},"
    "{\"scheduler\":{\"pools\":[3,\"r\"]}}]},"
    "\"progress_pool\":\"q\",\"rpc_pool\":2}",
};

/* Without the fields that differ between instances. */
static struct json_object *parsed(const char *text)
{
    struct json_object *json = json_tokener_parse(text);
    struct json_object *mercury = NULL;

    CHECK(json != NULL);
    CHECK(json_object_object_get_ex(json, "mercury", &mercury));
    json_object_object_del(mercury, "address");
    return json;
}

/* The text of an instance opened with `json`, which must log nothing. */
static char *described(const char *json, int options)
{
    margo_instance_id mid = one_open(json);
    char *text = NULL;

    if (mid == MARGO_INSTANCE_NULL || one_lines[0] != '\0') {
        fprintf(stderr, "%s\nis answered by: %s\n", json, one_lines);
        exit(1);
    }
    text = margo_get_config_opt(mid, options);
    CHECK(text != NULL);
    margo_finalize(mid);
    return text;
}

static void round_trip(const char *json, int options)
{
    char *first = described(json, options);
    char *second = described(first, options);
    struct json_object *one = parsed(first);
    struct json_object *two = parsed(second);

    if (json_object_equal(one, two) == 0) {
        fprintf(stderr, "%s\nbecomes\n%s\nand that\n%s\n", json, first, second);
        exit(1);
    }
    CHECK((strchr(first, '\n') != NULL) ==
          ((options & MARGO_CONFIG_PRETTY_JSON) != 0));
    CHECK((strstr(first, "\"progress_pool\":\"") != NULL ||
              strstr(first, "\"progress_pool\": \"") != NULL) ==
          ((options & MARGO_CONFIG_USE_NAMES) != 0));
    json_object_put(one);
    json_object_put(two);
    free(first);
    free(second);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        for (int options = 0; options < 8; options++) {
            if (strstr(texts[i], "amalgam") == NULL)
                round_trip(texts[i], options);
            round_trip(texts[i], options | MARGO_CONFIG_AMALGAM);
        }
    CHECK(margo_get_config(MARGO_INSTANCE_NULL) == NULL);
    return 0;
}
