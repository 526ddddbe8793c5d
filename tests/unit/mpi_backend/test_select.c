/* SPDX-License-Identifier: BSD-3-Clause */
/* A domain opens with the way of bulk data that its init string asks for, or
 * that measuring chose, and keeps no window that nobody uses:
 *
 *   test_select PROTOCOL [late]
 *
 * late: a rank comes later than the rest. PROTOCOL "differ": rank 0 asks for
 * something else than the others. */
#include <string.h>

#include "base/clock.h"
#include "base/mapping.h"
#include "mpi_backend/mpi_rma.h"
#include "pair.h"

enum { AREA_LEN = 8 * 1024 * 1024, LATE_NS = 200000000 };

static unsigned made; /* windows, by this rank */
static unsigned freed;
static unsigned attached;
static struct amg_mpi_domain *domain;

int MPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
    MPI_Comm comm, MPI_Win *win)
{
    made++;
    return PMPI_Win_create(base, size, disp_unit, info, comm, win);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    made++;
    return PMPI_Win_create_dynamic(info, comm, win);
}

int MPI_Win_free(MPI_Win *win)
{
    freed++;
    return PMPI_Win_free(win);
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    attached++;
    return PMPI_Win_attach(win, base, size);
}

int MPI_Win_detach(MPI_Win win, const void *base)
{
    attached--;
    return PMPI_Win_detach(win, base);
}

static bool says(const char *text)
{
    return strstr(domain->choice.reason, text) != NULL;
}

/* All ranks have the same table and reason. */
static void same_check(void)
{
    struct amg_mpi_choice first = domain->choice;

    MPI_Bcast(&first, (int)sizeof(first), MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(memcmp(first.is_window, domain->choice.is_window,
              sizeof(first.is_window)) == 0);
    CHECK(first.is_passive == domain->choice.is_passive);
    CHECK(!domain->choice.was_probed ||
          strcmp(first.reason, domain->choice.reason) == 0);
}

/* Large pulls of user memory: ten times as fast by messages on this MPI. */
static void probed_check(void)
{
    bool uses_windows = amg_mpi_choice_uses_windows(&domain->choice);

    CHECK(domain->choice.was_probed);
    CHECK(says("bulk between nodes: user memory by "));
    CHECK(says("; windows took ") && says(" ms, the probe "));
    CHECK(made == 3);
    CHECK((domain->rma != NULL) == uses_windows);
    CHECK(freed == (uses_windows ? 0 : 3));
    CHECK(attached == 0);
    CHECK(!amg_mpi_choice_is_window(
        &domain->choice, AMG_MPI_MEMORY_USER, false, 1024 * 1024));
    CHECK(!amg_mpi_choice_is_window(
        &domain->choice, AMG_MPI_MEMORY_USER, true, 1024 * 1024));
}

static void asked_check(bool is_rma)
{
    CHECK(!domain->choice.was_probed);
    CHECK(says("nothing was measured"));
    CHECK(says(is_rma ? "as mpi+rma asks for" : "as mpi+p2p asks for"));
    CHECK(made == (is_rma ? 3 : 0));
    CHECK((domain->rma != NULL) == is_rma);
    CHECK(amg_mpi_choice_uses_windows(&domain->choice) == is_rma);
}

/* The pool's memory has to be as if nobody had used it. */
static void area_check(const unsigned char *bytes)
{
    for (size_t i = 0; i < AREA_LEN; i++)
        CHECK(bytes[i] == 0);
}

static void protocol_check(const char *protocol)
{
    if (strcmp(protocol, "rma") == 0 || strcmp(protocol, "p2p") == 0) {
        asked_check(strcmp(protocol, "rma") == 0);
    } else if (domain->comm.node_size == domain->comm.size) {
        CHECK(!domain->choice.was_probed && made == 0 && domain->rma == NULL);
        CHECK(says("no rank is on another node"));
    } else {
        probed_check();
    }
}

int main(int argc, char **argv)
{
    const char *protocol = argc > 1 ? argv[1] : "auto";
    bool must_differ = strcmp(protocol, "differ") == 0;
    struct amg_open how = {.info = "", .is_listening = true, .max_contexts = 1};
    struct amg_mapping mapping;
    struct amg_area area;
    struct amg_news news;
    hg_return_t rc = HG_SUCCESS;
    int provided = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &pair_rank);
    CHECK(amg_mapping_open("test", AREA_LEN, &mapping) == HG_SUCCESS);
    area = (struct amg_area){mapping.base, mapping.len, mapping.fd};
    how.area = &area;
    how.protocol = !must_differ ? protocol : pair_rank == 0 ? "auto" : "p2p";
    if (argc > 2 && pair_rank == 1)
        amg_clock_sleep_ns(LATE_NS);
    rc = pair_t->domain.open(&how, &pair_domain);
    CHECK(rc == (must_differ ? HG_INVALID_ARG : HG_SUCCESS));
    if (!must_differ) {
        domain = amg_mpi_domain_of(pair_domain);
        if (pair_rank == 0)
            printf("%s\n", domain->choice.reason);
        same_check();
        protocol_check(protocol);
        area_check(mapping.base);
        CHECK(pair_t->ep.open(pair_domain, 0, &pair_ep) == HG_SUCCESS);
        UNTIL(pair_t->domain.quiesce(pair_domain) == HG_SUCCESS);
        amg_news_init(&news);
        pair_t->ep.close(pair_ep, &news);
        pair_t->domain.close(pair_domain);
        CHECK(freed == made);
    }
    amg_mapping_close(&mapping);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
