/* SPDX-License-Identifier: BSD-3-Clause */
/* The default monitor writes two files at the end of the instance, JSON of the
 * documented schema with the right numbers: calls by their path, including
 * nested ones; bulk; the loop; series. An earlier dump has the same numbers,
 * and resets them on request. */
#include <dirent.h>
#include <json-c/json.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"

enum { CALLS = 20, BYTES = 1000, TEXT_CAP = 512, TITLE_CAP = TEXT_CAP + 32 };

static hg_id_t outer_id;
static hg_id_t inner_id;

static void inner(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(inner)

static void outer(hg_handle_t handle)
{
    hg_bulk_t remote = HG_BULK_NULL;
    hg_bulk_t local = HG_BULK_NULL;
    hg_size_t size = BYTES;

    CHECK_RC(margo_get_input(handle, &remote), HG_SUCCESS);
    CHECK_RC(
        margo_bulk_create(pair.mid, 1, NULL, &size, HG_BULK_READWRITE, &local),
        HG_SUCCESS);
    CHECK_RC(margo_bulk_transfer(pair.mid, HG_BULK_PULL,
                 margo_get_info(handle)->addr, remote, 0, local, 0, size),
        HG_SUCCESS);
    CHECK_RC(margo_bulk_free(local), HG_SUCCESS);
    CHECK_RC(margo_free_input(handle, &remote), HG_SUCCESS);
    alone_call(inner_id);
    CHECK_RC(margo_respond(handle, &size), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DEFINE_MARGO_RPC_HANDLER(outer)

/* The object at the end of a path of keys; the test fails without one. */
static struct json_object *at(
    struct json_object *object, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (!json_object_object_get_ex(object, *keys, &object)) {
            fprintf(stderr, "there is no %s\n", *keys);
            CHECK(!"the schema is kept");
        }
    return object;
}

#define AT(object, ...) at((object), (const char *const[]){__VA_ARGS__, NULL})

static double number(struct json_object *object, const char *key)
{
    return json_object_get_double(AT(object, key));
}

/* A set of numbers: complete, and of this count. */
static void set_check(struct json_object *set, unsigned num)
{
    CHECK(json_object_object_length(set) == 6);
    CHECK(json_object_is_type(AT(set, "num"), json_type_int));
    CHECK(json_object_is_type(AT(set, "min"), json_type_double));
    CHECK(json_object_is_type(AT(set, "sum"), json_type_double));
    CHECK(number(set, "num") == num);
    CHECK(number(set, "min") <= number(set, "avg"));
    CHECK(number(set, "avg") <= number(set, "max"));
    CHECK(number(set, "var") >= 0);
    CHECK(fabs(number(set, "avg") * num - number(set, "sum")) <=
          1e-6 * fabs(number(set, "sum")));
}

static void path_key(char *ret_key, hg_id_t parent, hg_id_t id)
{
    snprintf(ret_key, TEXT_CAP, "%llu:%u:%llu:%u",
        (unsigned long long)parent | 65535,
        (unsigned)(parent == 0 ? 65535 : parent & 0xffff),
        (unsigned long long)id | 65535, (unsigned)(id & 0xffff));
}

static void stats_check(struct json_object *stats, const char *self)
{
    struct json_object *rpcs = AT(stats, "rpcs");
    struct json_object *peer = NULL;
    char key[TEXT_CAP];
    char title[TITLE_CAP];
    char pull[TITLE_CAP];

    CHECK(number(stats, "pid") == (double)getpid());
    CHECK(strcmp(json_object_get_string(AT(stats, "address")), self) == 0);
    CHECK(json_object_array_length(AT(stats, "cmdline")) >= 1);
    CHECK(AT(stats, "hostname") != NULL);
    CHECK(number(AT(stats, "progress_loop", "trigger"), "num") > 0);
    AT(stats, "progress_loop", "progress_with_timeout", "var");
    AT(stats, "progress_loop", "progress_without_timeout", "max");
    AT(stats, "progress_loop", "progress_timeout_value_msec", "min");
    path_key(key, 0, outer_id);
    CHECK(strcmp(json_object_get_string(AT(rpcs, key, "name")), "outer") == 0);
    snprintf(title, sizeof(title), "sent to %s", self);
    peer = AT(rpcs, key, "origin", title);
    set_check(AT(peer, "forward", "duration"), CALLS);
    set_check(AT(peer, "iforward", "duration"), CALLS);
    set_check(AT(peer, "iforward_wait", "duration"), CALLS);
    set_check(
        AT(peer, "set_input", "relative_timestamp_from_iforward_start"), CALLS);
    set_check(AT(peer, "iforward", "relative_timestamp_from_create"), CALLS);
    set_check(AT(peer, "iforward_wait", "relative_timestamp_from_iforward_end"),
        CALLS);
    set_check(
        AT(peer, "get_output", "relative_timestamp_from_wait_end"), CALLS);
    snprintf(title, sizeof(title), "received from %s", self);
    peer = AT(rpcs, key, "target", title);
    set_check(AT(peer, "handler", "duration"), CALLS);
    set_check(AT(peer, "ult", "duration"), CALLS);
    set_check(AT(peer, "ult", "relative_timestamp_from_handler_start"), CALLS);
    set_check(AT(peer, "irespond", "duration"), CALLS);
    set_check(AT(peer, "get_input", "duration"), CALLS);
    set_check(AT(peer, "bulk", "create", "size"), CALLS);
    set_check(AT(peer, "irespond_wait", "relative_timestamp_from_irespond_end"),
        CALLS);
    snprintf(pull, sizeof(pull), "pull from %s", self);
    set_check(AT(peer, "bulk", pull, "transfer", "duration"), CALLS);
    set_check(AT(peer, "bulk", pull, "itransfer_wait",
                  "relative_timestamp_from_itransfer_end"),
        CALLS);
    CHECK(number(AT(peer, "bulk", pull, "itransfer", "size"), "sum") ==
          CALLS * BYTES);
    AT(rpcs, "65535:65535:65535:65535", "target", "received from <unknown>",
        "bulk", "create", "size");
    path_key(key, outer_id, inner_id);
    CHECK(strcmp(json_object_get_string(AT(rpcs, key, "name")), "inner") == 0);
    set_check(AT(rpcs, key, "target", title, "ult", "duration"), CALLS);
    snprintf(title, sizeof(title), "sent to %s", self);
    set_check(AT(rpcs, key, "origin", title, "forward", "duration"), CALLS);
}

static void series_check(struct json_object *series)
{
    struct json_object *line = NULL;
    double count = 0;
    double bytes = 0;

    line = AT(series, "rpcs", "never_called:65535");
    for (size_t i = 0; i < json_object_array_length(AT(line, "count")); i++)
        count += json_object_get_double(
            json_object_array_get_idx(AT(line, "count"), i));
    CHECK(count == 0);
    AT(series, "rpcs", "no_utf8\\xff:65535");
    line = AT(series, "rpcs", "outer:65535");
    for (size_t i = 0; i < json_object_array_length(AT(line, "count")); i++) {
        count += json_object_get_double(
            json_object_array_get_idx(AT(line, "count"), i));
        bytes += json_object_get_double(
            json_object_array_get_idx(AT(line, "bulk_size"), i));
    }
    CHECK(json_object_array_length(AT(line, "timestamps")) ==
          json_object_array_length(AT(line, "count")));
    CHECK(count == CALLS);
    CHECK(bytes == CALLS * BYTES);
    /* Shorter than an interval, and sampled all the same. */
    CHECK(json_object_array_length(AT(series, "pools", "__primary__", "size")) >
          0);
}

static void take_dump(void *uargs, const char *content, size_t size)
{
    struct json_tokener *tokener = json_tokener_new();
    struct json_object **ret = uargs;

    *ret = json_tokener_parse_ex(tokener, content, (int)size);
    CHECK(json_tokener_get_error(tokener) == json_tokener_success ||
          json_tokener_get_error(tokener) == json_tokener_continue);
    json_tokener_free(tokener);
}

static struct json_object *dump_take(bool reset)
{
    struct json_object *object = NULL;

    CHECK_RC(
        margo_monitor_dump(pair.mid, take_dump, &object, reset), HG_SUCCESS);
    CHECK(object != NULL);
    return object;
}

/* Waits until the threads of the last handlers have ended, which is after their
 * replies have arrived. */
static void dump_check(const char *self)
{
    struct json_object *object = NULL;
    char key[TEXT_CAP];
    char inner_key[TEXT_CAP];
    char title[TITLE_CAP];
    bool is_whole = false;

    path_key(key, 0, outer_id);
    path_key(inner_key, outer_id, inner_id);
    snprintf(title, sizeof(title), "received from %s", self);
    while (!is_whole) {
        struct json_object *rpcs = NULL;

        object = dump_take(false);
        rpcs = AT(object, "stats", "rpcs");
        is_whole =
            number(AT(rpcs, key, "target", title, "ult", "duration"), "num") ==
                CALLS &&
            number(AT(rpcs, inner_key, "target", title, "ult", "duration"),
                "num") == CALLS;
        if (is_whole)
            stats_check(AT(object, "stats"), self);
        AT(object, "series", "pools", "__primary__", "total_size");
        json_object_put(object);
        ABT_thread_yield();
    }
}

/* The only file with that suffix. */
static struct json_object *file_read(const char *folder, const char *ending)
{
    char host[64] = "";
    char path[TEXT_CAP];
    struct json_object *object = NULL;

    CHECK(gethostname(host, sizeof(host) - 1) == 0);
    snprintf(path, sizeof(path), "%s/here.%s.%ld.%s.json", folder, host,
        (long)getpid(), ending);
    object = json_object_from_file(path);
    if (object == NULL)
        fprintf(stderr, "%s: %s\n", path, json_util_get_last_err());
    CHECK(object != NULL);
    CHECK(unlink(path) == 0);
    return object;
}

static void calls_make(void)
{
    static char bytes[BYTES];
    void *ptr = bytes;
    hg_size_t size = sizeof(bytes);
    hg_bulk_t bulk = HG_BULK_NULL;

    CHECK_RC(
        margo_bulk_create(pair.mid, 1, &ptr, &size, HG_BULK_READ_ONLY, &bulk),
        HG_SUCCESS);
    for (unsigned i = 0; i < CALLS; i++) {
        hg_handle_t handle = alone_handle(outer_id);
        uint64_t answer = 0;

        CHECK_RC(margo_forward(handle, &bulk), HG_SUCCESS);
        CHECK_RC(margo_get_output(handle, &answer), HG_SUCCESS);
        CHECK_RC(margo_free_output(handle, &answer), HG_SUCCESS);
        CHECK_RC(margo_destroy(handle), HG_SUCCESS);
    }
    CHECK_RC(margo_bulk_free(bulk), HG_SUCCESS);
}

int main(void)
{
    char folder[] = "/tmp/amalgam-monitor-XXXXXX";
    char json[TEXT_CAP];
    char self[TEXT_CAP];
    hg_size_t len = sizeof(self);
    struct json_object *object = NULL;
    struct margo_monitor_user_args told = {.args = NULL};

    CHECK(mkdtemp(folder) != NULL);
    snprintf(json, sizeof(json),
        "{\"monitoring\":{\"config\":{\"filename_prefix\":\"%s/here\","
        "\"statistics\":{\"pretty_json\":true,\"precision\":12},"
        "\"time_series\":{\"time_interval_sec\":1000}}}}",
        folder);
    alone_open(json, NULL);
    CHECK_RC(margo_addr_to_string(pair.mid, self, &len, pair.self), HG_SUCCESS);
    outer_id = MARGO_REGISTER(pair.mid, "outer", hg_bulk_t, uint64_t, outer);
    inner_id = MARGO_REGISTER(pair.mid, "inner", void, void, inner);
    (void)MARGO_REGISTER(pair.mid, "never_called", void, void, NULL);
    (void)MARGO_REGISTER(pair.mid, "no_utf8\xff", void, void, NULL);
    CHECK_RC(margo_monitor_call_user(pair.mid, MARGO_MONITOR_POINT, &told),
        HG_SUCCESS);
    calls_make();
    dump_check(self);
    json_object_put(dump_take(true));
    /* The dump has reset all: the files are of these calls. */
    calls_make();
    alone_close();
    object = file_read(folder, "stats");
    stats_check(object, self);
    json_object_put(object);
    object = file_read(folder, "series");
    series_check(object);
    json_object_put(object);
    CHECK(rmdir(folder) == 0);
    return 0;
}
