/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves that each rank is called the way it should be: routes SEGMENTS [LINE],
 * or that the class named by AMALGAM_TRANSPORT is refused: routes refused LINE.
 * So many segments of others are mapped, or any number; the log says LINE; and
 * whichever way a call came, its origin is the rank it is. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

enum { TEXT_CAP = 128, SEGMENTS_MAX = 64, LINE_CAP = 512 };

MERCURY_GEN_PROC(who_t, ((int32_t)(rank)))

static struct ranks all;

/* How many different segments of others are mapped; the own one was mapped
 * before it had a name. */
static int segments_count(void)
{
    static char seen[SEGMENTS_MAX][TEXT_CAP];
    char line[LINE_CAP];
    FILE *maps = fopen("/proc/self/maps", "r");
    int count = 0;

    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL) {
        char *path = strstr(line, "/dev/shm/amalgam-");
        int i = 0;

        if (path == NULL)
            continue;
        while (i < count && strncmp(seen[i], path, TEXT_CAP - 1) != 0)
            i++;
        CHECK(i < SEGMENTS_MAX);
        if (i == count)
            strncpy(seen[count++], path, TEXT_CAP - 1);
    }
    fclose(maps);
    return count;
}

static void text_get(hg_addr_t addr, char *ret_text)
{
    hg_size_t len = TEXT_CAP;

    OK(HG_Addr_to_string(all.cls, ret_text, &len, addr));
}

/* The address of an arrival, and the one made from its rank, are the same. */
static void origin_check(hg_addr_t from, int rank)
{
    hg_addr_t named = HG_ADDR_NULL;
    hg_addr_t read = HG_ADDR_NULL;
    char from_text[TEXT_CAP];
    char named_text[TEXT_CAP];
    int from_rank = -1;

    OK(amalgam_addr_get_rank(all.cls, from, &from_rank));
    CHECK(from_rank == rank);
    OK(amalgam_addr_rank(all.cls, rank, &named));
    CHECK(HG_Addr_cmp(all.cls, from, named));
    CHECK(HG_Addr_cmp(all.cls, named, from));
    text_get(from, from_text);
    text_get(named, named_text);
    CHECK(strcmp(from_text, named_text) == 0);
    CHECK(strncmp(from_text, "mpi://", 6) == 0);
    OK(HG_Addr_lookup2(all.cls, from_text, &read));
    CHECK(HG_Addr_cmp(all.cls, read, from));
    OK(HG_Addr_free(all.cls, read));
    OK(HG_Addr_free(all.cls, named));
}

static hg_return_t who_serve(hg_handle_t handle)
{
    who_t in;
    who_t out = {all.rank};

    OK(HG_Get_input(handle, &in));
    origin_check(HG_Get_info(handle)->addr, in.rank);
    OK(HG_Free_input(handle, &in));
    OK(HG_Respond(handle, NULL, NULL, &out));
    OK(HG_Destroy(handle));
    return HG_SUCCESS;
}

static void who_ask(hg_id_t id, int rank)
{
    who_t in = {all.rank};
    who_t out = {-1};
    struct ranks_call call;

    OK(ranks_begin(&all, &call, rank, id, &in));
    OK(ranks_wait(&call));
    OK(HG_Get_output(call.handle, &out));
    CHECK(out.rank == rank);
    OK(HG_Free_output(call.handle, &out));
    ranks_end(&call);
}

static void refusal_check(const char *line)
{
    FILE *log = ranks_log_catch("error");

    CHECK(amalgam_init(MPI_COMM_WORLD, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, line));
    fclose(log);
}

int main(int argc, char **argv)
{
    FILE *log = NULL;
    hg_id_t id = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    if (argc == 3 && strcmp(argv[1], "refused") == 0) {
        refusal_check(argv[2]);
        return ranks_stop();
    }
    log = ranks_log_catch("info");
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(argc >= 2);
    CHECK(strcmp(argv[1], "any") == 0 || segments_count() == atoi(argv[1]));
    CHECK(argc < 3 || ranks_log_has(log, argv[2]));
    HG_Set_log_stream("info", NULL);
    HG_Set_log_level("warning");
    fclose(log);
    id = MERCURY_REGISTER(all.cls, "who", who_t, who_t, who_serve);
    ranks_meet(MPI_COMM_WORLD);
    for (int i = 0; i < all.size; i++)
        who_ask(id, (all.rank + i) % all.size);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    ranks_close(&all);
    CHECK(segments_count() == 0);
    return ranks_stop();
}
