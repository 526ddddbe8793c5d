/* SPDX-License-Identifier: BSD-3-Clause */
/* Has numbers summed by a service_server, and compares the sums.
 *
 *   service_client [CALLS] [--wait SECONDS] [--end]
 *
 * Waits until the file that AMALGAM_SERVICE_FILE names has an address, for at
 * most SECONDS (60), makes CALLS calls (100), and with --end ends the service.
 * Any number of clients may do so at once. No MPI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jobs/apps/service/address.h"
#include "jobs/tutorial/margo_sum.h"

enum { CALLS = 100, CALLS_MAX = 1000000000, COUNT_MAX = 1000, SCHEME_CAP = 32 };

struct options {
    unsigned calls;
    unsigned wait_s;
    bool is_end;
};

static bool number_read(const char *text, unsigned *ret_number)
{
    char *end = NULL;
    unsigned long number = text == NULL ? 0 : strtoul(text, &end, 10);

    if (end == text || end == NULL || *end != '\0' || text[0] == '-' ||
        number > CALLS_MAX)
        return false;
    *ret_number = (unsigned)number;
    return true;
}

static bool options_read(struct options *options, char **argv)
{
    for (unsigned i = 1; argv[i] != NULL; i++) {
        if (strcmp(argv[i], "--end") == 0)
            options->is_end = true;
        else if (strcmp(argv[i], "--wait") == 0) {
            if (!number_read(argv[++i], &options->wait_s))
                return false;
        } else if (!number_read(argv[i], &options->calls)) {
            return false;
        }
    }
    return true;
}

/* Of main(): the file whose address has not answered yet. */
static const char *unheard;

/* At exit. */
static void unheard_tell(void)
{
    if (unheard != NULL)
        fprintf(stderr,
            "client: no answer from the address in %s; a service that was "
            "killed leaves that behind: start it again, or remove the file\n",
            unheard);
}

/* How many of the sums are wrong. */
static unsigned calls_make(
    margo_instance_id mid, hg_addr_t server, const struct options *options)
{
    hg_id_t id = sum_register(mid);
    double start = ABT_get_wtime();
    unsigned wrong = 0;
    double us = 0.0;

    for (unsigned i = 0; i < options->calls; i++) {
        uint64_t count = i % COUNT_MAX + 1;
        int64_t sum = sum_call(mid, id, server, count);

        unheard = NULL;
        wrong += sum != (int64_t)(count * (count + 1) / 2) ? 1 : 0;
    }
    us = (ABT_get_wtime() - start) * 1e6;
    if (options->calls > 0)
        printf("client: %u calls, %u sums wrong, %.1f us each\n",
            options->calls, wrong, us / options->calls);
    return wrong;
}

int main(int argc, char **argv)
{
    struct options options = {.calls = CALLS, .wait_s = 60};
    const char *path = getenv(ADDRESS_VARIABLE);
    char address[ADDRESS_CAP];
    char scheme[SCHEME_CAP];
    margo_instance_id mid = MARGO_INSTANCE_NULL;
    hg_addr_t server = HG_ADDR_NULL;
    bool is_fine = false;

    (void)argc;
    if (path == NULL || !options_read(&options, argv)) {
        fputs(ADDRESS_VARIABLE
            "=FILE service_client [CALLS] [--wait SECONDS] [--end]\n",
            stderr);
        return 2;
    }
    if (!address_await(path, options.wait_s, address))
        return EXIT_FAILURE;
    /* An address begins with the transport that leads to it. */
    snprintf(
        scheme, sizeof(scheme), "%.*s", (int)strcspn(address, ":;"), address);
    mid = margo_init(scheme, MARGO_CLIENT_MODE, 0, 0);
    if (mid == MARGO_INSTANCE_NULL)
        return EXIT_FAILURE; /* the lines above say why */
    unheard = path;
    atexit(unheard_tell);
    sum_check(margo_addr_lookup(mid, address, &server), address);
    is_fine = calls_make(mid, server, &options) == 0;
    if (options.is_end && margo_shutdown_remote_instance(mid, server) != 0)
        is_fine = false; /* the lines above say why */
    if (is_fine)
        unheard = NULL;
    sum_check(margo_addr_free(mid, server), "margo_addr_free");
    margo_finalize(mid);
    return is_fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
