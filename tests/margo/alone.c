/* SPDX-License-Identifier: BSD-3-Clause */
/* One process with an instance of Margo that calls itself. */
#include "alone.h"
#include "slow.h"

#include <sched.h>
#include <unistd.h>

enum { ALARM_S = 50 * TEST_SLOW }; /* below the limit of a test */

void alone_take_core(void)
{
    cpu_set_t set;
    int core = 0;

    CHECK(sched_getaffinity(0, sizeof(set), &set) == 0);
    while (!CPU_ISSET(core, &set))
        core++;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

void alone_open(const char *json, const struct margo_monitor *monitor)
{
    struct margo_init_info info = MARGO_INIT_INFO_INITIALIZER;

    alarm(ALARM_S);
    info.json_config = json;
    info.monitor = monitor;
    pair.mid = margo_init_ext("na+sm", MARGO_SERVER_MODE, &info);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    CHECK_RC(margo_addr_self(pair.mid, &pair.self), HG_SUCCESS);
}

void alone_close(void)
{
    pair_settle();
    CHECK_RC(margo_addr_free(pair.mid, pair.self), HG_SUCCESS);
    margo_finalize(pair.mid);
}

hg_handle_t alone_handle(hg_id_t id)
{
    hg_handle_t handle = HG_HANDLE_NULL;

    CHECK_RC(margo_create(pair.mid, pair.self, id, &handle), HG_SUCCESS);
    return handle;
}

void alone_call(hg_id_t id)
{
    hg_handle_t handle = alone_handle(id);

    CHECK_RC(margo_forward(handle, NULL), HG_SUCCESS);
    CHECK_RC(margo_destroy(handle), HG_SUCCESS);
}
