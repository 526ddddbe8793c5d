/* SPDX-License-Identifier: BSD-3-Clause */
/* The addresses of other nodes are stored once per node, under no name that a
 * killed rank could leave behind, and vanish with the class. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

enum { LINE_CAP = 512, NAME_CAP = 64, RECORD_MAX = 1024 };

/* A shared mapping that this process only reads. */
struct table {
    unsigned long inode;
    unsigned long len;
};

/* Number of such mappings of files in /dev/shm; returns the last one. */
static int tables_find(struct table *ret_table)
{
    char line[LINE_CAP];
    FILE *maps = fopen("/proc/self/maps", "r");
    int count = 0;

    CHECK(maps != NULL);
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long start = 0;
        unsigned long end = 0;
        unsigned long inode = 0;

        if (strstr(line, " r--s ") == NULL ||
            strstr(line, "/dev/shm/") == NULL ||
            sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode) != 3)
            continue;
        *ret_table = (struct table){.inode = inode, .len = end - start};
        count++;
    }
    fclose(maps);
    return count;
}

/* Does a file of that process remain that is no segment? */
static bool is_left(int pid)
{
    char wanted[NAME_CAP];
    DIR *folder = opendir("/dev/shm");
    struct dirent *entry = NULL;
    bool is_found = false;

    CHECK(folder != NULL);
    snprintf(wanted, sizeof(wanted), "-table-%d-", pid);
    while ((entry = readdir(folder)) != NULL)
        is_found = is_found || strstr(entry->d_name, wanted) != NULL;
    closedir(folder);
    return is_found;
}

int main(void)
{
    static struct ranks all;
    MPI_Comm node = MPI_COMM_NULL;
    struct table mine = {0, 0};
    struct table first = {0, 0};
    int node_size = 0;

    ranks_start(MPI_THREAD_MULTIPLE);
    CHECK(tables_find(&mine) == 0);
    ranks_open(&all, MPI_COMM_WORLD);
    /* Named as requested, by "ofi+PROTOCOL". */
    CHECK(strcmp(HG_Class_get_name(all.cls), "ofi") == 0);
    CHECK(strcmp(HG_Class_get_protocol(all.cls),
              getenv("AMALGAM_TRANSPORT") + strlen("ofi+")) == 0);
    MPI_Comm_split_type(
        MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_size);
    CHECK(tables_find(&mine) == (node_size > 1 ? 1 : 0));
    first = mine;
    MPI_Bcast(&first, sizeof(first), MPI_BYTE, 0, node);
    CHECK(first.inode == mine.inode && first.len == mine.len);
    CHECK(mine.len <= (unsigned long)all.size * RECORD_MAX +
                          (unsigned long)sysconf(_SC_PAGESIZE));
    CHECK(!is_left((int)getpid()));
    ranks_exchange(&all);
    ranks_meet(MPI_COMM_WORLD);
    MPI_Comm_free(&node);
    ranks_close(&all);
    CHECK(tables_find(&mine) == 0);
    return ranks_stop();
}
