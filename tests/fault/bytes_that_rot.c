/* SPDX-License-Identifier: BSD-3-Clause */
/* With checksums a damaged message is detected, whichever byte it was, in
 * requests and replies, short and long: the call ends with HG_CHECKSUM_ERROR,
 * or decoding the arguments does. No handler or callback takes it for right. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/context.h"
#include "mercury.h"
#include "mercury_proc_string.h"
#include "rpc/handle.h"
#include "wire/header.h"

enum {
    DEADLINE_MS = 30000,
    USER_LEN = 5,
    SHORT_LEN = 20,
    LONGER_LEN = 9000, /* in a longer message */
    LONG_LEN = 300000, /* in none */
};

/* The message to damage; NOBODY: none. */
enum victim { NOBODY, REQUEST, LONG_INPUT, REPLY, LONG_OUTPUT };

static const char *doing = "opening";
static hg_class_t *cls;
static hg_context_t *context;
static hg_addr_t self;
static hg_id_t id;
static void (*arrived)(hg_context_t *, unsigned, struct amg_arrival *);
static void (*ended)(struct amg_op *op);

static enum victim victim;
static uint64_t at;       /* which byte */
static uint64_t seen_len; /* of the victim */
static char text[LONG_LEN + 1];
static size_t answer_len;
static bool was_served;
static hg_return_t input_ret;

static void fail(int line, const char *what)
{
    fprintf(stderr, "bytes_that_rot: %s, byte %llu: line %d: %s\n", doing,
        (unsigned long long)at, line, what);
    exit(EXIT_FAILURE);
}

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))

static void damage(void *bytes, uint64_t len)
{
    seen_len = len;
    if (at < len)
        ((uint8_t *)bytes)[at] ^= 0x55;
}

static void spoil_arrival(
    hg_context_t *to, unsigned route, struct amg_arrival *arrival)
{
    if (victim == REQUEST && !was_served)
        damage(arrival->data, arrival->len);
    arrived(to, route, arrival);
}

static void spoil_reply(struct amg_op *op)
{
    if (victim == REPLY && op->data != NULL)
        damage(op->data, op->len);
    ended(op);
}

static hg_return_t serve(hg_handle_t handle)
{
    hg_const_string_t in = NULL;
    char kept = text[answer_len];
    hg_const_string_t out = text;

    was_served = true;
    input_ret = HG_Get_input(handle, &in);
    if (input_ret == HG_SUCCESS) {
        CHECK(strcmp(in, text) == 0);
        CHECK(HG_Free_input(handle, &in) == HG_SUCCESS);
    }
    text[answer_len] = '\0';
    CHECK(HG_Respond(handle, NULL, NULL, &out) == HG_SUCCESS);
    text[answer_len] = kept;
    if (victim == LONG_OUTPUT)
        damage(handle->out.extra, handle->out.len);
    return HG_Destroy(handle);
}

static hg_return_t done(const struct hg_cb_info *info)
{
    *(hg_return_t *)info->arg = info->ret;
    return HG_SUCCESS;
}

/* One call; returns its result. */
static hg_return_t call(hg_handle_t handle)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(DEADLINE_MS);
    hg_return_t ret = HG_RETURN_MAX;
    hg_const_string_t in = text;

    was_served = false;
    input_ret = HG_RETURN_MAX;
    seen_len = 0;
    CHECK(HG_Forward(handle, done, &ret, &in) == HG_SUCCESS);
    ended = handle->op.step;
    handle->op.step = spoil_reply;
    if (victim == LONG_INPUT)
        damage(handle->in.extra, handle->in.len);
    while (ret == HG_RETURN_MAX) {
        CHECK(HG_Event_progress(context, NULL) == HG_SUCCESS);
        CHECK(HG_Event_trigger(context, 100, NULL) == HG_SUCCESS);
        CHECK(amg_clock_ns() < deadline_ns);
    }
    return ret;
}

static hg_return_t get_output(hg_handle_t handle)
{
    hg_const_string_t out = NULL;
    hg_return_t rc = HG_Get_output(handle, &out);

    if (rc == HG_SUCCESS) {
        CHECK(strlen(out) == answer_len);
        CHECK(strncmp(out, text, answer_len) == 0);
        CHECK(HG_Free_output(handle, &out) == HG_SUCCESS);
    }
    return rc;
}

/* The damage was detected: when the arguments are decoded, or by the call
 * itself. This includes both bytes of the header checksum: it is never 0 here.
 */
static void expect_found(hg_handle_t handle, hg_return_t ret)
{
    bool is_input = victim == REQUEST || victim == LONG_INPUT;

    if (ret != HG_SUCCESS)
        CHECK(ret == HG_CHECKSUM_ERROR && was_served == !is_input);
    else if (is_input)
        CHECK(was_served && input_ret == HG_CHECKSUM_ERROR);
    else
        CHECK(get_output(handle) == HG_CHECKSUM_ERROR);
}

static void run(const char *what, enum victim whose, size_t in_len,
    size_t out_len, uint64_t step)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned in_head = 0;

    doing = what;
    victim = whose;
    answer_len = out_len;
    memset(text, 'x', in_len);
    text[in_len] = '\0';
    CHECK(HG_Create(context, self, id, &handle) == HG_SUCCESS);
    at = 0;
    do {
        hg_return_t ret = call(handle);

        CHECK(seen_len > 0);
        expect_found(handle, ret);
        in_head += ret != HG_SUCCESS;
        at += step;
    } while (at < seen_len);
    /* Exactly the header, and in a long one all that is in the message. */
    if (whose == LONG_INPUT || whose == LONG_OUTPUT)
        CHECK(in_head == 0);
    else if (in_len == SHORT_LEN && out_len == SHORT_LEN)
        CHECK(in_head == AMG_HEADER_LEN + USER_LEN);
    else if (step == 1)
        CHECK(in_head == seen_len);
    else
        CHECK(in_head == 1); /* the first byte; the arguments have the rest */
    victim = NOBODY;
    CHECK(call(handle) == HG_SUCCESS && input_ret == HG_SUCCESS);
    CHECK(get_output(handle) == HG_SUCCESS);
    CHECK(HG_Destroy(handle) == HG_SUCCESS);
}

static void open_all(void)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    HG_Set_log_level("none");
    info.checksum_level = HG_CHECKSUM_RPC_PAYLOAD;
    cls = HG_Init_opt2("self", HG_TRUE, HG_VERSION(2, 4), &info);
    CHECK(cls != NULL);
    CHECK(HG_Class_set_input_offset(cls, USER_LEN) == HG_SUCCESS);
    CHECK(HG_Class_set_output_offset(cls, USER_LEN) == HG_SUCCESS);
    context = HG_Context_create(cls);
    CHECK(context != NULL);
    arrived = context->ops.arrived;
    context->ops.arrived = spoil_arrival;
    CHECK(HG_Addr_self(cls, &self) == HG_SUCCESS);
    id = HG_Register_name(cls, "rot", hg_proc_hg_const_string_t,
        hg_proc_hg_const_string_t, serve);
}

int main(void)
{
    open_all();
    run("short request", REQUEST, SHORT_LEN, SHORT_LEN, 1);
    run("short reply", REPLY, SHORT_LEN, SHORT_LEN, 1);
    run("longer request", REQUEST, LONGER_LEN, SHORT_LEN, 97);
    run("longer reply", REPLY, LONGER_LEN, LONGER_LEN, 97);
    run("message of a long request", REQUEST, LONG_LEN, SHORT_LEN, 1);
    run("message of a long reply", REPLY, LONG_LEN, LONG_LEN, 1);
    run("long input", LONG_INPUT, LONG_LEN, SHORT_LEN, 9973);
    run("long output", LONG_OUTPUT, LONG_LEN, LONG_LEN, 9973);
    CHECK(HG_Addr_free(cls, self) == HG_SUCCESS);
    CHECK(HG_Context_destroy(context) == HG_SUCCESS);
    CHECK(HG_Finalize(cls) == HG_SUCCESS);
    return EXIT_SUCCESS;
}
