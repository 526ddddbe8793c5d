/* SPDX-License-Identifier: BSD-3-Clause */
/* Each rank is called over the expected route: calls_take_expected_route
 * SEGMENTS [LINE], or the class named by AMALGAM_TRANSPORT is refused: "refused
 * LINE"; or it opens, and rank 0 warns: "warned LINE". The open maps no segment
 * of another rank; a call to a rank maps its segment here, the caller's segment
 * there, and no other; at the end that many are mapped, or any number. While
 * the class is open no file of it has a name, unless a rank needs that
 * (unmappable_rank.c), and none is left afterwards. The log has LINE; over any
 * route, the origin of a call is the right rank. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

enum { TEXT_CAP = 128, SEGMENTS_MAX = 64, LINE_CAP = 512, ANY = -1 };

MERCURY_GEN_PROC(who_t, ((int32_t)(rank)))

static struct ranks all;

/* Number of different segments mapped, by inode: the own one, and those of
 * others. A file was opened before it had its name, or after it lost it. */
static int segments_count(void)
{
    static unsigned long seen[SEGMENTS_MAX];
    char line[LINE_CAP];
    FILE *maps = fopen("/proc/self/maps", "r");
    int count = 0;

    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long inode = 0;
        int i = 0;

        if (strstr(line, "/dev/shm/amalgam-") == NULL &&
            strstr(line, "/dev/shm/#") == NULL)
            continue;
        CHECK(sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1);
        while (i < count && seen[i] != inode)
            i++;
        CHECK(i < SEGMENTS_MAX);
        if (i == count)
            seen[count++] = inode;
    }
    fclose(maps);
    return count;
}

/* Number of files in /dev/shm that have this process in their names. */
static int files_count(void)
{
    DIR *folder = opendir("/dev/shm");
    struct dirent *file = NULL;
    char pid[TEXT_CAP];
    int count = 0;

    CHECK(folder != NULL);
    snprintf(pid, sizeof(pid), "-%d-", (int)getpid());
    while ((file = readdir(folder)) != NULL)
        count += strncmp(file->d_name, "amalgam-", 8) == 0 &&
                 strstr(file->d_name, pid) != NULL;
    closedir(folder);
    return count;
}

static void text_get(hg_addr_t addr, char *ret_text)
{
    hg_size_t len = TEXT_CAP;

    OK(HG_Addr_to_string(all.cls, ret_text, &len, addr));
}

/* The origin of a request and the address of its rank are the same. */
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

/* Rank 0 calls one rank after the other, while no other rank calls. The
 * class has its own segment if it has `near` neighbours with which it shares
 * memory. */
static void first_contacts_check(hg_id_t id, int near)
{
    int own = near > 0;
    int met = 0;

    CHECK((files_count() > 0) == (own && getenv("NO_PROC_RANK") != NULL));
    CHECK(segments_count() == own);
    for (int rank = 1; rank < all.size; rank++) {
        int before = segments_count();

        ranks_meet(MPI_COMM_WORLD);
        if (all.rank == 0) {
            who_ask(id, rank);
            CHECK(segments_count() - before <= 1);
            met += segments_count() - before;
            who_ask(id, rank);
        }
        ranks_meet(MPI_COMM_WORLD);
        CHECK(segments_count() - before <= (all.rank == 0 || all.rank == rank));
    }
    CHECK(all.rank != 0 || met == near);
    CHECK(all.rank == 0 || segments_count() <= own + 1);
}

static void refusal_check(const char *line)
{
    FILE *log = ranks_log_catch("error");

    CHECK(amalgam_init(MPI_COMM_WORLD, NULL, NULL) == NULL);
    CHECK(ranks_log_has(log, line));
    fclose(log);
}

static void warning_check(const char *line)
{
    FILE *log = ranks_log_catch("warning");

    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(ranks_log_has(log, line) == (all.rank == 0));
    ranks_close(&all);
    fclose(log);
}

int main(int argc, char **argv)
{
    FILE *log = NULL;
    hg_id_t id = 0;
    int near = ANY;

    ranks_start(MPI_THREAD_MULTIPLE);
    if (argc == 3 && strcmp(argv[1], "refused") == 0) {
        refusal_check(argv[2]);
        return ranks_stop();
    }
    if (argc == 3 && strcmp(argv[1], "warned") == 0) {
        warning_check(argv[2]);
        return ranks_stop();
    }
    log = ranks_log_catch("info");
    ranks_open(&all, MPI_COMM_WORLD);
    CHECK(argc >= 2);
    if (strcmp(argv[1], "any") != 0)
        near = atoi(argv[1]);
    CHECK(argc < 3 || ranks_log_has(log, argv[2]));
    HG_Set_log_stream("info", NULL);
    HG_Set_log_level("warning");
    fclose(log);
    id = MERCURY_REGISTER(all.cls, "who", who_t, who_t, who_serve);
    ranks_meet(MPI_COMM_WORLD);
    if (near != ANY)
        first_contacts_check(id, near);
    ranks_meet(MPI_COMM_WORLD);
    for (int i = 0; i < all.size; i++)
        who_ask(id, (all.rank + i) % all.size);
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    CHECK(near == ANY || segments_count() == near + (near > 0));
    ranks_close(&all);
    CHECK(segments_count() == 0 && files_count() == 0);
    return ranks_stop();
}
