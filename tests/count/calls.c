/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls whose instructions callgrind counts, in one thread: a class that calls
 * itself, and two classes over shared memory. */
#include <string.h>

#include "amalgam_oneway.h"
#include "handlers.h"
#include "margo.h"
#include "mercury_proc_bulk.h"

enum { BLOB = 256, PULLED = 4096, STREAM = 16 };

MERCURY_GEN_PROC(bulk_in_t, ((hg_bulk_t)(bulk)))

struct side {
    hg_class_t *cls;
    hg_context_t *context;
    hg_id_t null;
    hg_id_t one_way;
    hg_id_t no_handle;
    hg_id_t blob;
    hg_id_t kib;
    hg_id_t ints;
    hg_id_t text;
    hg_id_t bulk_in;
};

/* A caller, and a target that may be the same class. */
struct pair {
    struct side origin;
    struct side target;
    hg_addr_t to;
    bool is_self;
};

static hg_return_t blob_proc(hg_proc_t proc, void *data)
{
    return hg_proc_raw(proc, data, BLOB);
}

static hg_return_t one_way_serve(hg_handle_t handle)
{
    served++;
    return HG_Destroy(handle);
}

static void no_handle_serve(
    hg_class_t *hg_class, int from_rank, const void *arg, size_t len)
{
    (void)hg_class;
    (void)from_rank;
    (void)arg;
    (void)len;
    served++;
}

static hg_return_t bulk_in_serve(hg_handle_t handle)
{
    bulk_in_t in;

    return struct_serve(handle, &in, NULL);
}

static void side_open(struct side *side)
{
    side->cls = HG_Init("na+sm", HG_TRUE);
    side->context = side->cls == NULL ? NULL : HG_Context_create(side->cls);
    if (side->context == NULL)
        exit(EXIT_FAILURE);
    side->null = HG_Register_name(side->cls, "null", NULL, NULL, null_serve);
    side->one_way =
        HG_Register_name(side->cls, "one way", NULL, NULL, one_way_serve);
    OK(HG_Registered_disable_response(side->cls, side->one_way, HG_TRUE));
    side->no_handle =
        amalgam_register_oneway(side->cls, "no handle", no_handle_serve);
    side->blob =
        HG_Register_name(side->cls, "blob", blob_proc, blob_proc, blob_serve);
    side->kib =
        HG_Register_name(side->cls, "kib", kib_proc, kib_proc, blob_serve);
    side->ints = HG_Register_name(
        side->cls, "ints", hg_proc_ints_t, hg_proc_ints_t, ints_serve);
    side->text =
        HG_Register_name(side->cls, "text", hg_proc_text_t, NULL, text_serve);
    side->bulk_in = HG_Register_name(
        side->cls, "bulk in", hg_proc_bulk_in_t, NULL, bulk_in_serve);
}

static void side_close(struct side *side)
{
    OK(HG_Context_destroy(side->context));
    OK(HG_Finalize(side->cls));
}

static void pair_open(struct pair *pair, bool is_self)
{
    char text[256];
    hg_size_t len = sizeof(text);
    hg_addr_t self = HG_ADDR_NULL;

    *pair = (struct pair){.is_self = is_self};
    side_open(&pair->origin);
    pair->target = pair->origin;
    if (!is_self)
        side_open(&pair->target);
    OK(HG_Addr_self(pair->target.cls, &self));
    OK(HG_Addr_to_string(pair->target.cls, text, &len, self));
    OK(HG_Addr_free(pair->target.cls, self));
    OK(HG_Addr_lookup2(pair->origin.cls, text, &pair->to));
}

static void pair_close(struct pair *pair)
{
    OK(HG_Addr_free(pair->origin.cls, pair->to));
    if (!pair->is_self)
        side_close(&pair->target);
    side_close(&pair->origin);
}

PART void part_forward(hg_handle_t handle, hg_cb_t ended, void *in)
{
    OK(HG_Forward(handle, ended, NULL, in));
}

PART void part_request_arrives(struct pair *pair)
{
    (void)HG_Progress(pair->target.context, 0);
}

PART void part_serve(struct pair *pair, unsigned max_count)
{
    unsigned count = 0;

    (void)HG_Trigger(pair->target.context, 0, max_count, &count);
}

PART void part_reply_arrives(struct pair *pair)
{
    (void)HG_Progress(pair->origin.context, 0);
}

PART void part_complete(struct pair *pair)
{
    unsigned count = 0;

    (void)HG_Trigger(pair->origin.context, 0, 1, &count);
}

/* One call; a class that calls itself looks for what arrived in one place. */
static void call(struct pair *pair, hg_handle_t handle, hg_cb_t ended, void *in)
{
    unsigned before = served;

    done = false;
    part_forward(handle, ended, in);
    while (!done || served == before) {
        if (!pair->is_self && served == before) {
            part_request_arrives(pair);
            part_serve(pair, 1);
        }
        part_reply_arrives(pair);
        part_complete(pair);
    }
}

/* Progress of requests: of the target, too, while the call is not served. */
static int request_progress(unsigned timeout_ms, void *arg)
{
    struct pair *pair = arg;

    (void)timeout_ms;
    if (!pair->is_self && served == 0) {
        part_request_arrives(pair);
        part_serve(pair, 1);
    }
    part_reply_arrives(pair);
    return HG_UTIL_SUCCESS;
}

static int request_trigger(unsigned timeout_ms, unsigned *flag, void *arg)
{
    struct pair *pair = arg;

    *flag = 0;
    (void)HG_Trigger(pair->origin.context, timeout_ms, 1, flag);
    return HG_UTIL_SUCCESS;
}

/* One call, awaited by a request. */
static void request_call(hg_handle_t handle, hg_request_t *request, void *in)
{
    unsigned flag = 0;

    served = 0;
    OK(hg_request_reset(request));
    OK(HG_Forward(handle, ints_ended, request, in));
    OK(hg_request_wait(request, REQUEST_MS, &flag));
    if (flag == 0 || served == 0)
        exit(EXIT_FAILURE);
}

PART hg_return_t part_forward_oneway(struct pair *pair)
{
    const uint64_t arg = 1;

    return amalgam_forward_oneway(pair->origin.context, pair->to,
        pair->origin.no_handle, &arg, sizeof(arg));
}

static void no_handle_turn(struct pair *pair)
{
    if (!pair->is_self)
        part_reply_arrives(pair);
    part_request_arrives(pair);
    part_serve(pair, STREAM);
}

/* `count` calls without a handle, then a poll of each side. */
static void no_handle_calls(struct pair *pair, unsigned count)
{
    unsigned wanted = served + count;

    while (count-- > 0) {
        hg_return_t ret = HG_SUCCESS;

        while ((ret = part_forward_oneway(pair)) == HG_AGAIN)
            no_handle_turn(pair); /* until it has credits for all */
        OK(ret);
    }
    while (served != wanted)
        no_handle_turn(pair);
}

static hg_handle_t handle_of(struct pair *pair, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    OK(HG_Create(pair->origin.context, pair->to, id, &handle));
    return handle;
}

/* Memory of the target moves to the origin. */
static void pull(struct pair *pair, hg_bulk_t remote, hg_bulk_t local)
{
    done = false;
    OK(HG_Bulk_transfer(pair->origin.context, call_ended, NULL, HG_BULK_PULL,
        pair->to, remote, 0, local, 0, PULLED, HG_OP_ID_IGNORE));
    while (!done) {
        if (!pair->is_self)
            part_request_arrives(pair);
        part_reply_arrives(pair);
        part_complete(pair);
    }
}

/* What a class sees of another one's memory. */
static hg_bulk_t bulk_known(struct pair *pair, hg_bulk_t bulk)
{
    char text[1024];
    hg_bulk_t known = HG_BULK_NULL;

    OK(HG_Bulk_serialize(text, sizeof(text), 0, bulk));
    OK(HG_Bulk_deserialize(pair->origin.cls, &known, text, sizeof(text)));
    return known;
}

static void *bulk_make(hg_class_t *cls, uint8_t flags, hg_bulk_t *ret_bulk)
{
    void *bytes = calloc(1, PULLED);
    hg_size_t len = PULLED;

    OK(HG_Bulk_create(cls, 1, &bytes, &len, flags, ret_bulk));
    return bytes;
}

static void pull_count(struct pair *pair, const char *on)
{
    hg_bulk_t local = HG_BULK_NULL;
    hg_bulk_t exposed = HG_BULK_NULL;
    hg_bulk_t remote = HG_BULK_NULL;
    void *to = bulk_make(pair->origin.cls, HG_BULK_READWRITE, &local);
    void *from = bulk_make(pair->target.cls, HG_BULK_READ_ONLY, &exposed);

    remote = bulk_known(pair, exposed);
    COUNT("pull", on, pull(pair, remote, local));
    OK(HG_Bulk_free(remote));
    OK(HG_Bulk_free(exposed));
    OK(HG_Bulk_free(local));
    free(from);
    free(to);
}

/* Calls whose input is a struct, with generated procs. */
static void structs_count(struct pair *pair, const char *on)
{
    hg_handle_t ints = handle_of(pair, pair->origin.ints);
    hg_handle_t text = handle_of(pair, pair->origin.text);
    hg_handle_t bulk_in = handle_of(pair, pair->origin.bulk_in);
    hg_request_class_t *requests =
        hg_request_init(request_progress, request_trigger, pair);
    hg_request_t *request = hg_request_create(requests);
    ints_t two = {1, 2};
    text_t twenty = {"a text of 20 bytes."};
    bulk_in_t exposed;
    void *bytes = bulk_make(pair->origin.cls, HG_BULK_READWRITE, &exposed.bulk);

    COUNT("ints", on, call(pair, ints, ints_ended, &two));
    COUNT("ints_request", on, request_call(ints, request, &two));
    COUNT("text", on, call(pair, text, call_ended, &twenty));
    COUNT("bulk_in", on, call(pair, bulk_in, call_ended, &exposed));
    hg_request_destroy(request);
    hg_request_finalize(requests, NULL);
    OK(HG_Bulk_free(exposed.bulk));
    free(bytes);
    OK(HG_Destroy(ints));
    OK(HG_Destroy(text));
    OK(HG_Destroy(bulk_in));
}

static void pair_count(bool is_self, const char *on)
{
    struct pair pair;
    hg_handle_t null = HG_HANDLE_NULL;
    hg_handle_t one_way = HG_HANDLE_NULL;
    hg_handle_t blob = HG_HANDLE_NULL;
    hg_handle_t kib = HG_HANDLE_NULL;

    pair_open(&pair, is_self);
    null = handle_of(&pair, pair.origin.null);
    one_way = handle_of(&pair, pair.origin.one_way);
    blob = handle_of(&pair, pair.origin.blob);
    kib = handle_of(&pair, pair.origin.kib);
    COUNT("progress", on, part_reply_arrives(&pair));
    COUNT("null", on, call(&pair, null, call_ended, NULL));
    COUNT("one_way", on, call(&pair, one_way, call_ended, NULL));
    COUNT("no_handle", on, no_handle_calls(&pair, 1));
    COUNT("stream", on, no_handle_calls(&pair, STREAM));
    COUNT("blob", on, call(&pair, blob, blob_ended, &out));
    COUNT("kib", on, call(&pair, kib, blob_ended, &out));
    structs_count(&pair, on);
    pull_count(&pair, on);
    OK(HG_Destroy(null));
    OK(HG_Destroy(one_way));
    OK(HG_Destroy(blob));
    OK(HG_Destroy(kib));
    pair_close(&pair);
}

static void margo_serve(hg_handle_t handle)
{
    OK(margo_respond(handle, NULL));
    OK(margo_destroy(handle));
}
static DEFINE_MARGO_RPC_HANDLER(margo_serve)

    PART void part_margo_forward(hg_handle_t handle, void *in)
{
    OK(margo_forward(handle, in));
}

static void margo_ints_serve(hg_handle_t handle)
{
    ints_t in;
    ints_t result = {3, 4};

    OK(margo_get_input(handle, &in));
    OK(margo_free_input(handle, &in));
    OK(margo_respond(handle, &result));
    OK(margo_destroy(handle));
}
static DEFINE_MARGO_RPC_HANDLER(margo_ints_serve)

    static void margo_ints(margo_instance_id mid, hg_addr_t to, hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    ints_t in = {1, 2};
    ints_t result;

    OK(margo_create(mid, to, id, &handle));
    part_margo_forward(handle, &in);
    OK(margo_get_output(handle, &result));
    OK(margo_free_output(handle, &result));
    OK(margo_destroy(handle));
}

static void thread_empty(void *arg)
{
    (void)arg;
}

PART void part_create(ABT_pool pool, ABT_thread *thread)
{
    OK(ABT_thread_create(
        pool, thread_empty, NULL, ABT_THREAD_ATTR_NULL, thread));
}

PART void part_join(ABT_thread *thread)
{
    OK(ABT_thread_join(*thread));
    OK(ABT_thread_free(thread));
}

/* An instance that calls itself: all in one stream. */
static void margo_count(void)
{
    margo_instance_id mid = margo_init("na+sm", MARGO_SERVER_MODE, 0, 0);
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_addr_t self = HG_ADDR_NULL;
    ABT_thread thread = ABT_THREAD_NULL;
    ABT_pool pool = ABT_POOL_NULL;
    hg_id_t id = 0;
    hg_id_t ints = 0;

    if (mid == MARGO_INSTANCE_NULL)
        exit(EXIT_FAILURE);
    id = MARGO_REGISTER(mid, "margo", void, void, margo_serve);
    ints = MARGO_REGISTER(mid, "ints", ints_t, ints_t, margo_ints_serve);
    OK(margo_addr_self(mid, &self));
    OK(margo_create(mid, self, id, &handle));
    COUNT("margo_forward", "self", part_margo_forward(handle, NULL));
    COUNT("margo_ints", "self", margo_ints(mid, self, ints));
    OK(margo_destroy(handle));
    OK(margo_addr_free(mid, self));
    margo_finalize(mid);
    OK(ABT_init(0, NULL));
    OK(ABT_self_get_last_pool(&pool));
    COUNT("thread", "-", (part_create(pool, &thread), part_join(&thread)));
    COUNT("yield", "-", ABT_thread_yield());
    OK(ABT_finalize());
}
int main(void)
{
    pair_count(true, "self");
    pair_count(false, "na+sm");
    margo_count();
    return EXIT_SUCCESS;
}
