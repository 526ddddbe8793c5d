/* SPDX-License-Identifier: BSD-3-Clause */
/* The file by which a service and its clients find each other.
 *
 * The file is written under another name beside its place, and renamed: on one
 * file system a rename happens at once for all hosts, so no reader finds half a
 * line. Hosts that share the file by NFS may see it some seconds later. */
#include "jobs/apps/service/address.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 50 };

/* True when `text` and the line's end are on the disk. */
static bool file_fill(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool is_written = false;

    if (file == NULL)
        return false;
    is_written = fprintf(file, "%s\n", text) > 0 && fflush(file) == 0 &&
                 fsync(fileno(file)) == 0;
    return fclose(file) == 0 && is_written;
}

bool address_write(const char *path, const char *address)
{
    char beside[PATH_MAX];
    int len = snprintf(beside, sizeof(beside), "%s.%ld", path, (long)getpid());

    if (len < 0 || (size_t)len >= sizeof(beside)) {
        fprintf(stderr, "service: %s is too long a path\n", path);
        return false;
    }
    if (file_fill(beside, address) && rename(beside, path) == 0)
        return true;
    fprintf(stderr,
        "service: cannot write %s: %s; " ADDRESS_VARIABLE
        " has to name a file on a disk that service and clients share\n",
        path, strerror(errno));
    unlink(beside);
    return false;
}

/* Reads the line without its end. False: the file cannot be opened (errno says
 * why), or, with errno 0, is not exactly one line. */
static bool file_read(const char *path, char ret_address[ADDRESS_CAP])
{
    char line[ADDRESS_CAP] = "";
    FILE *file = fopen(path, "r");
    size_t len = 0;

    if (file == NULL)
        return false;
    len = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    errno = 0;
    if (len < 2 || line[len - 1] != '\n' || strlen(line) != len ||
        strchr(line, '\n') != &line[len - 1])
        return false;
    line[len - 1] = '\0';
    memcpy(ret_address, line, len);
    return true;
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

bool address_await(
    const char *path, double patience_s, char ret_address[ADDRESS_CAP])
{
    const struct timespec look = {0, LOOK_MS * 1000000L};
    const double end_s = now_s() + patience_s;

    while (!file_read(path, ret_address)) {
        if (errno == 0) {
            fprintf(stderr,
                "service: %s is not one line with an address, so no service "
                "wrote it: is the path right?\n",
                path);
            return false;
        }
        if (errno != ENOENT && errno != ESTALE) {
            fprintf(
                stderr, "service: cannot read %s: %s\n", path, strerror(errno));
            return false;
        }
        if (now_s() > end_s) {
            fprintf(stderr,
                "service: %s did not appear within %g s: does the service "
                "run, and is this a disk that it shares?\n",
                path, patience_s);
            return false;
        }
        nanosleep(&look, NULL);
    }
    return true;
}

void address_remove(const char *path, const char *address)
{
    char found[ADDRESS_CAP];

    if (file_read(path, found) && strcmp(found, address) == 0)
        unlink(path);
}
