/* SPDX-License-Identifier: BSD-3-Clause */
/* Two processes with an instance of Margo each, which run the same test. */
#include "pair.h"

#include <unistd.h>

#include "amalgam_state.h"
#include "processes/processes.h"
#include "slow.h"

enum {
    ALARM_S = 50 * TEST_SLOW,  /* below the limit of a test */
    SETTLE_S = 30 * TEST_SLOW, /* and of that */
};

struct pair pair;

void pair_barrier(void)
{
    processes_barrier_begin();
    while (!processes_is_done())
        ABT_thread_yield();
}

hg_handle_t pair_handle(hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK_RC(margo_create(pair.mid, pair.other, id, &handle), HG_SUCCESS);
    return handle;
}

static void meet(void)
{
    char text[PROCESSES_TEXT_CAP];
    hg_size_t len = sizeof(text);

    CHECK_RC(margo_addr_self(pair.mid, &pair.self), HG_SUCCESS);
    CHECK_RC(margo_addr_to_string(pair.mid, text, &len, pair.self), HG_SUCCESS);
    processes_show(text);
    CHECK_RC(margo_addr_lookup(
                 pair.mid, processes_shown(1 - pair.rank), &pair.other),
        HG_SUCCESS);
    pair_barrier();
}

void pair_settle(void)
{
    double end_s = ABT_get_wtime() + SETTLE_S;
    hg_class_t *cls = margo_get_class(pair.mid);

    while (amalgam_write_state(cls, NULL) > 0 && ABT_get_wtime() < end_s)
        ABT_thread_yield();
    if (amalgam_write_state(cls, NULL) > 0)
        (void)amalgam_write_state(cls, stderr);
    CHECK(amalgam_write_state(cls, NULL) == 0);
}

int pair_main(int argc, char **argv, void (*enrol)(void), void (*test)(void))
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;
    int size = 0;

    processes_start(&pair.rank, &size);
    alarm(ALARM_S);
    info.json_config = argc > 2 ? argv[2] : NULL;
    pair.mid =
        margo_init_ext(argc > 1 ? argv[1] : "na+sm", MARGO_SERVER_MODE, &info);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    enrol();
    meet();
    test();
    pair_barrier();
    pair_settle();
    pair_barrier();
    CHECK_RC(margo_addr_free(pair.mid, pair.other), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    margo_finalize(pair.mid);
    processes_stop();
    return 0;
}
