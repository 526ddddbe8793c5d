/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of an instance cancels a bulk transfer with a timeout to a stopped
 * peer long before that timeout; and the instance ends. */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"
#include "processes/processes.h"
#include "slow.h"

enum {
    LEN = 1 << 20,
    PACKED_CAP = 1024,
    ALARM_S = 50 * TEST_SLOW,
    LIMIT_MS = 600000
};

/* Messages of the memory's owner. */
struct told {
    char addr[PROCESSES_TEXT_CAP];
    hg_size_t packed_len;
    char packed[PACKED_CAP];
};

static char bytes[LEN];
static hg_bulk_t local;
static unsigned ended;
static hg_return_t ended_ret;

static void transferred(void *arg, hg_return_t ret)
{
    (void)arg;
    CHECK_RC(margo_bulk_free(local), HG_SUCCESS);
    ended_ret = ret;
    ended++;
}

static hg_bulk_t bulk_make(uint8_t flags)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_size_t len = LEN;
    void *ptr = bytes;

    CHECK_RC(
        margo_bulk_create(pair.mid, 1, &ptr, &len, flags, &bulk), HG_SUCCESS);
    return bulk;
}

static void be_owner(const char *transport, int to)
{
    static struct told told;
    hg_size_t len = sizeof(told.addr);
    hg_bulk_t bulk = HG_BULK_NULL;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    pair.mid = margo_init(transport, MARGO_SERVER_MODE, 0, 0);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    bulk = bulk_make(HG_BULK_READ_ONLY);
    CHECK_RC(margo_addr_self(pair.mid, &pair.self), HG_SUCCESS);
    CHECK_RC(
        margo_addr_to_string(pair.mid, told.addr, &len, pair.self), HG_SUCCESS);
    told.packed_len = margo_bulk_get_serialize_size(bulk, 0);
    CHECK(told.packed_len <= PACKED_CAP);
    CHECK_RC(margo_bulk_serialize(told.packed, told.packed_len, 0, bulk),
        HG_SUCCESS);
    CHECK(write(to, &told, sizeof(told)) == sizeof(told));
    margo_wait_for_finalize(pair.mid);
}

int main(int argc, char **argv)
{
    static struct told told;
    const char *transport = argc > 1 ? argv[1] : "ofi+tcp";
    hg_bulk_t remote = HG_BULK_NULL;
    pid_t owner = 0;
    int pipes[2];

    alarm(ALARM_S);
    CHECK(pipe(pipes) == 0);
    owner = fork();
    CHECK(owner >= 0);
    if (owner == 0) {
        be_owner(transport, pipes[1]);
        return EXIT_FAILURE;
    }
    pair.mid = margo_init(transport, MARGO_SERVER_MODE, 0, 0);
    CHECK(pair.mid != MARGO_INSTANCE_NULL);
    CHECK(read(pipes[0], &told, sizeof(told)) == sizeof(told));
    CHECK_RC(margo_addr_lookup(pair.mid, told.addr, &pair.other), HG_SUCCESS);
    CHECK_RC(
        margo_bulk_deserialize(pair.mid, &remote, told.packed, told.packed_len),
        HG_SUCCESS);
    local = bulk_make(HG_BULK_READWRITE);
    /* A successful one, so that the two are connected. */
    CHECK_RC(margo_bulk_transfer(
                 pair.mid, HG_BULK_PULL, pair.other, remote, 0, local, 0, LEN),
        HG_SUCCESS);
    CHECK(kill(owner, SIGSTOP) == 0);
    CHECK(waitpid(owner, NULL, WUNTRACED) == owner);
    CHECK_RC(margo_bulk_ctransfer_timed(pair.mid, HG_BULK_PULL, pair.other,
                 remote, 0, local, 0, LEN, LIMIT_MS, transferred, NULL),
        HG_SUCCESS);
    CHECK_RC(margo_bulk_free(remote), HG_SUCCESS);
    CHECK_RC(margo_addr_free(pair.mid, pair.other), HG_SUCCESS);
    margo_finalize(pair.mid);
    CHECK(ended == 1);
    CHECK(ended_ret == HG_CANCELED);
    CHECK(kill(owner, SIGKILL) == 0);
    CHECK(waitpid(owner, NULL, 0) == owner);
    return EXIT_SUCCESS;
}
