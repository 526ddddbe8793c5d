/* SPDX-License-Identifier: BSD-3-Clause */
/* Every call ends once at its origin, and every reply once at its target, when
 * the other process is killed: before or after the reply, or after the call was
 * cancelled; and whether the survivor waits, cancels or closes its context
 * then; with short and long arguments and replies. Rounds are an argument, and
 * so is "all": also operations of a transport that takes seconds to notice. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mercury.h"
#include "mercury_proc.h"
#include "slow.h"

enum {
    SHORT = 10,
    LONG = 100000,
    PAIRS = 4,
    TEXT_CAP = 256,
    DEADLINE_S = 50 * TEST_SLOW
};

/* State of the other process when it is killed. */
enum victim {
    ASKED,    /* its calls are held here, and are answered now */
    GAVE_UP,  /* it has cancelled them before */
    TO_PULL,  /* its calls were answered */
    SERVES,   /* it holds calls of this process */
    ANSWERED, /* it has answered them */
    VICTIMS
};

/* Reaction of this process. */
enum then { WAITS, CANCELS, CLOSES, THENS };

typedef struct {
    uint64_t len;
    uint64_t answer_len;
} blob_t;

struct call {
    hg_handle_t handle;
    unsigned done;
    hg_return_t ret;
};

static enum victim the_victim;
static enum then the_then;
static const char *transport;
static char bytes[LONG];
static hg_class_t *cls;
static hg_context_t *context;
static hg_id_t rpc;
static struct call calls[PAIRS]; /* made here, or served */
static unsigned count;

/* Pipes to the other process, and its id. */
static int to = STDOUT_FILENO;
static int from = STDIN_FILENO;
static pid_t other;

static void fail(int line, const char *what)
{
    fprintf(stderr, "lost_peer_ends_once: %d, then %d: line %d: %s\n",
        (int)the_victim, (int)the_then, line, what);
    exit(EXIT_FAILURE);
}

#define CHECK(expr) ((expr) ? (void)0 : fail(__LINE__, #expr))
#define OK(expr)    CHECK((expr) == HG_SUCCESS)

static hg_return_t hg_proc_blob(hg_proc_t proc, void *data)
{
    blob_t *blob = data;
    hg_return_t rc = hg_proc_uint64_t(proc, &blob->len);

    if (rc == HG_SUCCESS)
        rc = hg_proc_uint64_t(proc, &blob->answer_len);
    if (rc != HG_SUCCESS || hg_proc_get_op(proc) == HG_FREE)
        return rc;
    return blob->len > LONG ? HG_OVERFLOW : hg_proc_raw(proc, bytes, blob->len);
}

static hg_return_t call_ended(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->done++;
    call->ret = info->ret;
    return HG_SUCCESS;
}

static hg_return_t serve(hg_handle_t handle)
{
    CHECK(count < PAIRS);
    calls[count++].handle = handle;
    return HG_SUCCESS;
}

static void turn(void)
{
    (void)HG_Progress(context, 0);
    (void)HG_Trigger(context, 0, 10, NULL);
}

/* Makes progress until `expr` holds. */
#define UNTIL(expr)                                                            \
    do {                                                                       \
        time_t deadline = time(NULL) + DEADLINE_S;                             \
        while (!(expr)) {                                                      \
            CHECK(time(NULL) < deadline);                                      \
            turn();                                                            \
        }                                                                      \
    } while (0)

static void calls_make(const char *address)
{
    hg_addr_t addr = HG_ADDR_NULL;

    OK(HG_Addr_lookup2(cls, address, &addr));
    for (unsigned i = 0; i < PAIRS; i++) {
        blob_t in = {i % 2 == 0 ? SHORT : LONG, i / 2 == 0 ? SHORT : LONG};

        OK(HG_Create(context, addr, rpc, &calls[i].handle));
        OK(HG_Forward(calls[i].handle, call_ended, &calls[i], &in));
    }
    OK(HG_Addr_free(cls, addr));
}

static void calls_answer(void)
{
    for (unsigned i = 0; i < PAIRS; i++) {
        blob_t in;
        blob_t out = {0, 0};

        OK(HG_Get_input(calls[i].handle, &in));
        out.len = in.answer_len;
        OK(HG_Free_input(calls[i].handle, &in));
        OK(HG_Respond(calls[i].handle, call_ended, &calls[i], &out));
    }
}

static unsigned calls_done(void)
{
    unsigned done = 0;

    for (unsigned i = 0; i < PAIRS; i++) {
        CHECK(calls[i].done <= 1);
        done += calls[i].done;
    }
    return done;
}

static void calls_cancel(void)
{
    for (unsigned i = 0; i < PAIRS; i++)
        OK(HG_Cancel(calls[i].handle));
}

static void calls_drop(void)
{
    for (unsigned i = 0; i < PAIRS; i++)
        OK(HG_Destroy(calls[i].handle));
    count = 0;
}

static void class_open(bool is_listening)
{
    cls = HG_Init(transport, is_listening);
    if (cls == NULL)
        exit(77);
    context = HG_Context_create(cls);
    CHECK(context != NULL);
    rpc = HG_Register_name(cls, "blob", hg_proc_blob, hg_proc_blob, serve);
}

static void address_of(char text[TEXT_CAP])
{
    hg_size_t len = TEXT_CAP;
    hg_addr_t self = HG_ADDR_NULL;

    memset(text, 0, TEXT_CAP);
    OK(HG_Addr_self(cls, &self));
    OK(HG_Addr_to_string(cls, text, &len, self));
    OK(HG_Addr_free(cls, self));
}

/* Both go on together; messages move meanwhile. */
static void tell(void)
{
    CHECK(write(to, "", 1) == 1);
}

static bool is_told(void)
{
    char byte;
    ssize_t got = read(from, &byte, 1);

    CHECK(got != 0); /* it has failed */
    return got == 1;
}

/* The other process, until it is killed. */
static void be_victim(enum victim victim, const char *address)
{
    char text[TEXT_CAP];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    class_open(true);
    address_of(text);
    CHECK(write(to, text, TEXT_CAP) == TEXT_CAP);
    CHECK(fcntl(from, F_SETFL, O_NONBLOCK) == 0);
    if (victim < SERVES)
        calls_make(address);
    if (victim < SERVES)
        UNTIL(is_told());
    else
        UNTIL(count == PAIRS);
    if (victim == GAVE_UP) {
        calls_cancel();
        UNTIL(calls_done() == PAIRS);
    }
    if (victim == ANSWERED) {
        tell();
        while (!is_told())
            (void)usleep(1000);
        calls_answer();
        for (int i = 0; i < 100; i++) /* they are sent, as far as possible */
            turn();
    }
    tell();
    for (;;)
        if (victim == GAVE_UP || victim == SERVES)
            turn();
        else
            (void)pause(); /* it pulls nothing */
}

static void victim_start(enum victim victim)
{
    char text[TEXT_CAP];
    char number[16];
    int there[2];
    int back[2];

    CHECK(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
    address_of(text);
    snprintf(number, sizeof(number), "%d", (int)victim);
    other = fork();
    CHECK(other >= 0);
    if (other == 0) {
        CHECK(dup2(there[0], STDIN_FILENO) >= 0);
        CHECK(dup2(back[1], STDOUT_FILENO) >= 0);
        execl("/proc/self/exe", "lost_peer_ends_once", transport, "victim",
            number, text, NULL);
        _exit(EXIT_FAILURE);
    }
    (void)close(there[0]);
    (void)close(back[1]);
    to = there[1];
    from = back[0];
    CHECK(read(from, text, TEXT_CAP) == TEXT_CAP);
    CHECK(fcntl(from, F_SETFL, O_NONBLOCK) == 0);
    if (victim >= SERVES)
        calls_make(text);
}

static void victim_kill(void)
{
    CHECK(kill(other, SIGKILL) == 0);
    CHECK(waitpid(other, NULL, 0) == other);
    (void)close(to);
    (void)close(from);
}

/* Until the other process is in the state to be killed in. */
static void victim_bring(enum victim victim)
{
    if (victim < SERVES) {
        UNTIL(count == PAIRS);
        tell();
    }
    UNTIL(is_told());
    if (victim == ANSWERED) {
        tell();
        while (!is_told()) /* the replies arrive, and are not read */
            (void)usleep(1000);
    }
    if (victim == TO_PULL)
        calls_answer();
}

static void play(enum victim victim, enum then then)
{
    the_victim = victim;
    the_then = then;
    victim_start(victim);
    victim_bring(victim);
    victim_kill();
    if (victim == ASKED || victim == GAVE_UP)
        calls_answer();
    if (then == CANCELS)
        calls_cancel();
    if (then != CLOSES)
        UNTIL(calls_done() == PAIRS);
    for (unsigned i = 0; i < PAIRS && then != CLOSES; i++) {
        hg_return_t ret = calls[i].ret;

        CHECK(ret != HG_CANCELED || then == CANCELS);
        CHECK(victim != SERVES || ret != HG_SUCCESS);
    }
    calls_drop();
    UNTIL(HG_Context_destroy(context) != HG_BUSY);
    CHECK(calls_done() == PAIRS);
    memset(calls, 0, sizeof(calls));
    context = HG_Context_create(cls);
    CHECK(context != NULL);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    bool is_all = argc > 3 && strcmp(argv[3], "all") == 0;

    transport = argc > 1 ? argv[1] : "na+sm";
    if (argc > 4 && strcmp(argv[2], "victim") == 0)
        be_victim((enum victim)atoi(argv[3]), argv[4]);
    class_open(true);
    HG_Set_log_level(
        "none"); /* warnings that name the dead process are right */
    for (unsigned i = 0; i < rounds; i++)
        for (unsigned victim = 0; victim < VICTIMS; victim++)
            for (unsigned then = 0; then < THENS; then++)
                if (is_all || then == CANCELS)
                    play((enum victim)victim, (enum then)then);
    OK(HG_Context_destroy(context));
    OK(HG_Finalize(cls));
    return EXIT_SUCCESS;
}
