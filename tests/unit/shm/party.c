/* SPDX-License-Identifier: BSD-3-Clause */
/* Domain with one endpoint, in this process or in a child that serves. */
#include "unit/shm/party.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/shm_transport.h"

enum { POLL_MAX = 16 };

static const struct amg_transport *const shm = &amg_shm_transport;

/* Not cmocka's: children use it, too. */
#define MUST(expr) ((expr) ? (void)0 : must_fail(__LINE__, #expr))

static void must_fail(int line, const char *what)
{
    fprintf(stderr, "party.c:%d: %s\n", line, what);
    abort();
}

static void open_party(
    struct party *party, const char *name, uint32_t credits, bool loses_name)
{
    const struct amg_open how = {.info = name,
        .is_listening = true,
        .is_joined = loses_name,
        .max_contexts = 1,
        .credits = credits};

    *party = (struct party){0};
    MUST(shm->domain.open(&how, &party->domain) == HG_SUCCESS);
    if (loses_name)
        amg_shm_node_unname(party->domain);
    MUST(shm->ep.open(party->domain, 0, &party->ep) == HG_SUCCESS);
}

void party_open(struct party *party, const char *name, uint32_t credits)
{
    open_party(party, name, credits, false);
}

void party_close(struct party *party)
{
    struct amg_events events;

    while (shm->domain.quiesce(party->domain) == HG_AGAIN)
        party_poll(party);
    amg_events_init(&events);
    shm->ep.close(party->ep, &events);
    shm->domain.close(party->domain);
}

/* A buffer for `len` bytes to `peer`. */
static struct amg_buf *buf_get(
    struct party *party, struct amg_peer *peer, uint32_t len)
{
    struct amg_buf *buf = NULL;

    MUST(shm->msg.get_buf(party->ep, peer, &buf) == HG_SUCCESS);
    if (len <= buf->cap)
        return buf;
    shm->msg.put_buf(party->ep, buf);
    MUST(shm->msg.get_long_buf(party->ep, peer, len, &buf) == HG_SUCCESS);
    return buf;
}

static void answer(struct party *party, struct amg_arrival *arrival)
{
    struct amg_buf *buf = buf_get(party, arrival->from, arrival->len);

    party->served++;
    memcpy(&party->heard, arrival->data, sizeof(party->heard));
    memcpy(buf->data, arrival->data, arrival->len);
    MUST(shm->msg.send_reply(party->ep, arrival, buf, arrival->len, NULL) ==
         HG_SUCCESS);
    shm->msg.release(party->ep, arrival);
}

static unsigned poll_once(struct party *party, bool answers)
{
    struct amg_events events;
    struct amg_link *link = NULL;
    unsigned count = 0;

    amg_events_init(&events);
    count = shm->ep.poll(party->ep, POLL_MAX, &events);
    while ((link = amg_list_pop(&events.done)) != NULL) {
        struct amg_op *op = amg_container_of(link, struct amg_op, link);

        op->step(op);
    }
    while ((link = amg_list_pop(&events.arrived)) != NULL)
        if (answers)
            answer(party, amg_container_of(link, struct amg_arrival, link));
    return count;
}

unsigned party_poll(struct party *party)
{
    return poll_once(party, true);
}

void party_sleep(struct party *party)
{
    struct pollfd fd = {.fd = shm->ep.wait_fd(party->ep), .events = POLLIN};

    if (shm->ep.arm(party->ep))
        MUST(poll(&fd, 1, PARTY_ENOUGH_MS) == 1);
}

/* Has the parent told it to end, or ended itself? */
static bool is_told(int in)
{
    struct pollfd fd = {.fd = in, .events = POLLIN};

    return poll(&fd, 1, 0) != 0;
}

/* As party_sleep(); a byte from the parent also wakes it. */
static void child_sleep(struct party *party, int in)
{
    struct pollfd fds[] = {
        {.fd = shm->ep.wait_fd(party->ep), .events = POLLIN},
        {.fd = in, .events = POLLIN},
    };

    if (shm->ep.arm(party->ep))
        MUST(poll(fds, 2, PARTY_ENOUGH_MS) > 0);
}

static void child_main(enum party_role role, const char *name, int in, int out)
{
    struct party party;
    char text[PARTY_TEXT_CAP] = "";
    size_t len = sizeof(text);
    struct amg_peer *self = NULL;
    bool sleeps = role == PARTY_SLEEPER || role == PARTY_NAMELESS;
    unsigned empty = 0;
    char byte = 0;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_party(&party, name, 0, role == PARTY_NAMELESS);
    self = shm->addr.self(party.domain);
    MUST(shm->addr.format(party.domain, self, text, &len) == HG_SUCCESS);
    shm->addr.unref(party.domain, self);
    MUST(write(out, text, sizeof(text)) == (ssize_t)sizeof(text));
    close(out);
    if (role == PARTY_DEAF)
        MUST(read(in, &byte, 1) >= 0);
    while (role != PARTY_DEAF) {
        if (poll_once(&party, role != PARTY_KEEPER) > 0) {
            if (role == PARTY_LEAVER && party.heard == PARTY_BYE)
                break;
            if (role == PARTY_QUITTER && party.heard == PARTY_BYE)
                _exit(EXIT_SUCCESS);
            empty = 0;
            continue;
        }
        empty++;
        if (sleeps)
            child_sleep(&party, in);
        else
            sched_yield();
        if ((sleeps || empty % 64 == 0) && is_told(in))
            break;
    }
    party_close(&party);
    _exit(EXIT_SUCCESS);
}

void party_child_start(
    struct party_child *child, enum party_role role, const char *name)
{
    int in[2];
    int out[2];

    MUST(pipe(in) == 0 && pipe(out) == 0);
    child->pid = fork();
    MUST(child->pid >= 0);
    if (child->pid == 0) {
        close(in[1]);
        close(out[0]);
        child_main(role, name, in[0], out[1]);
    }
    close(in[0]);
    close(out[1]);
    MUST(read(out[0], child->address, sizeof(child->address)) ==
         (ssize_t)sizeof(child->address));
    close(out[0]);
    child->in = in[1];
}

void party_child_end(struct party_child *child)
{
    int status = 0;

    /* A byte, because children started later have this end of the pipe, too. */
    MUST(write(child->in, "", 1) == 1);
    close(child->in);
    MUST(waitpid(child->pid, &status, 0) == child->pid);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

void party_child_join(struct party_child *child)
{
    int status = 0;

    MUST(waitpid(child->pid, &status, 0) == child->pid);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    close(child->in);
}

void party_child_kill(struct party_child *child)
{
    kill(child->pid, SIGKILL);
    MUST(waitpid(child->pid, NULL, 0) == child->pid);
    close(child->in);
}

static void call_step(struct amg_op *op)
{
    amg_container_of(op, struct party_call, op)->done++;
}

void party_ask(struct party *party, struct amg_peer *peer,
    struct party_call *call, uint32_t number, uint32_t len)
{
    struct amg_buf *buf = buf_get(party, peer, len);

    memset(call, 0, sizeof(*call));
    call->op.step = call_step;
    memset(buf->data, 0, len);
    memcpy(buf->data, &number, sizeof(number));
    MUST(shm->msg.send_request(party->ep, (struct amg_target){peer, 0}, buf,
             len, true, &call->op) == HG_SUCCESS);
}

hg_return_t party_wait(struct party *party, struct party_call *call)
{
    uint64_t deadline_ns = amg_clock_deadline_ns(PARTY_ENOUGH_MS);

    while (call->done == 0) {
        MUST(amg_clock_ns() < deadline_ns);
        if (party_poll(party) == 0)
            sched_yield();
    }
    return call->op.ret;
}

hg_return_t party_wait_asleep(struct party *party, struct party_call *call)
{
    while (call->done == 0)
        if (party_poll(party) == 0)
            party_sleep(party);
    return call->op.ret;
}

bool party_answer_is(
    struct party *party, struct party_call *call, uint32_t number)
{
    bool is_right = call->done == 1 && call->op.ret == HG_SUCCESS &&
                    memcmp(call->op.data, &number, sizeof(number)) == 0;

    shm->msg.release_reply(party->ep, &call->op);
    return is_right;
}

struct amg_peer *party_find(struct party *party, const char *address)
{
    struct amg_peer *peer = NULL;

    MUST(shm->addr.parse(party->domain, address, &peer) == HG_SUCCESS);
    return peer;
}
