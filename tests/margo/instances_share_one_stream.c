/* SPDX-License-Identifier: BSD-3-Clause */
/* Instances whose loops share the stream of main(): all serve, in any order of
 * their ends, and idle ones use no CPU, although none of them is woken by its
 * upper bound. */
#include <sys/resource.h>
#include <unistd.h>

#include "one.h"

#include "slow.h"

enum {
    INSTANCES = 4,
    CALLS = 50,
    ALARM_S = 50 * TEST_SLOW,
    IDLE_MS = 500,
    A_DAY_MS = 86400000
};

struct served {
    margo_instance_id mid;
    hg_id_t id;
    hg_addr_t addrs[INSTANCES]; /* of all instances, in this one's class */
};

static void answer(hg_handle_t handle)
{
    CHECK_RC(margo_respond(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
DECLARE_MARGO_RPC_HANDLER(answer)
DEFINE_MARGO_RPC_HANDLER(answer)

static void open_all(struct served *all)
{
    char text[256];

    for (unsigned i = 0; i < INSTANCES; i++) {
        all[i].mid = margo_init("na+sm", MARGO_SERVER_MODE, 0, 0);
        CHECK(all[i].mid != MARGO_INSTANCE_NULL);
        CHECK(margo_set_progress_timeout_ub_msec(all[i].mid, A_DAY_MS) == 0);
        all[i].id = MARGO_REGISTER(all[i].mid, "answer", void, void, answer);
    }
    for (unsigned i = 0; i < INSTANCES; i++) {
        hg_addr_t self = HG_ADDR_NULL;
        hg_size_t size = sizeof(text);

        CHECK_RC(margo_addr_self(all[i].mid, &self), HG_SUCCESS);
        CHECK_RC(
            margo_addr_to_string(all[i].mid, text, &size, self), HG_SUCCESS);
        CHECK_RC(margo_addr_free(all[i].mid, self), HG_SUCCESS);
        for (unsigned j = 0; j < INSTANCES; j++)
            CHECK_RC(margo_addr_lookup(all[j].mid, text, &all[j].addrs[i]),
                HG_SUCCESS);
    }
}

static void call(struct served *from, unsigned to)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK_RC(margo_create(from->mid, from->addrs[to], from->id, &handle),
        HG_SUCCESS);
    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}

static double cpu_s(void)
{
    struct rusage used;

    CHECK(getrusage(RUSAGE_SELF, &used) == 0);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* They would use a whole core if they kept each other awake. */
static void idle(struct served *all, unsigned i)
{
    double before = cpu_s();

    margo_thread_sleep(all[i].mid, IDLE_MS);
    CHECK(cpu_s() - before < 0.2e-3 * IDLE_MS);
}

int main(void)
{
    struct served all[INSTANCES];

    alarm(ALARM_S);
    open_all(all);
    for (unsigned i = 0; i < INSTANCES; i++) {
        for (unsigned n = 0; n < CALLS; n++)
            call(&all[i], n % INSTANCES);
        idle(all, i);
        for (unsigned j = 0; j < INSTANCES; j++)
            call(&all[j], i);
    }
    for (unsigned i = 0; i < INSTANCES; i++) {
        for (unsigned j = 0; j < INSTANCES; j++)
            CHECK_RC(margo_addr_free(all[j].mid, all[j].addrs[i]), HG_SUCCESS);
    }
    for (unsigned i = 0; i < INSTANCES; i++)
        margo_finalize(all[(i + 1) % INSTANCES].mid);
    return 0;
}
