/* SPDX-License-Identifier: BSD-3-Clause */
/* A service that sums numbers of other processes until it is told to end.
 *
 *   service_server [TRANSPORT]
 *
 * Writes its address to the file that AMALGAM_SERVICE_FILE names, for
 * service_client, and removes that file at its end: at SIGTERM, SIGINT or
 * SIGHUP, or when a client ends the service. Calls that are being served at
 * that time are answered first. TRANSPORT is an init string of HG_Init();
 * default: the value of AMALGAM_TRANSPORT, or "tcp". No MPI. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "jobs/apps/service/address.h"
#include "jobs/tutorial/margo_sum.h"

/* Of main(). */
struct service {
    margo_instance_id mid;
    struct sum_server sum;
    const char *path;
    char address[ADDRESS_CAP];
    sigset_t signals; /* that end the service; blocked in all threads */
    pthread_t listener;
    atomic_int by; /* the signal that ended the service; 0: a client did */
    atomic_bool is_over;
};

/* Ends the instance at the first signal; from then on the next SIGINT or SIGHUP
 * ends the process, as usual. SIGTERM stays blocked: Slurm and timeout send it
 * more than once, and send SIGKILL when they have waited enough. service_run()
 * holds a reference to the instance until it has joined this thread. */
static void *signals_await(void *arg)
{
    struct service *service = arg;
    int number = 0;

    sigwait(&service->signals, &number);
    /* Dekker, seq_cst: this thread stores `by` and then reads `is_over`; main()
     * stores `is_over` and then reads `by`. So one sees the other's store. */
    atomic_store(&service->by, number);
    if (atomic_load(&service->is_over))
        return NULL;
    sigdelset(&service->signals, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &service->signals, NULL);
    margo_finalize(service->mid);
    return NULL;
}

/* Called before other threads exist, so that none of them takes a signal. */
static void signals_block(struct service *service)
{
    sigemptyset(&service->signals);
    sigaddset(&service->signals, SIGTERM);
    sigaddset(&service->signals, SIGINT);
    sigaddset(&service->signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &service->signals, NULL);
}

static void address_ask(struct service *service)
{
    hg_size_t len = sizeof(service->address);
    hg_addr_t self = HG_ADDR_NULL;

    sum_check(margo_addr_self(service->mid, &self), "margo_addr_self");
    sum_check(margo_addr_to_string(service->mid, service->address, &len, self),
        "margo_addr_to_string");
    sum_check(margo_addr_free(service->mid, self), "margo_addr_free");
}

/* Returns when the instance has ended, and then says so. */
static bool service_run(struct service *service)
{
    bool is_by_signal = false;

    address_ask(service);
    if (!address_write(service->path, service->address)) {
        margo_finalize_and_wait(service->mid);
        return false;
    }
    sum_check(margo_instance_ref_incr(service->mid), "margo_instance_ref_incr");
    if (pthread_create(&service->listener, NULL, signals_await, service) != 0) {
        fputs("service: no thread to wait for signals\n", stderr);
        address_remove(service->path, service->address);
        exit(EXIT_FAILURE);
    }
    printf("service: serves at %s\n", service->address);
    fflush(stdout);
    /* This thread sleeps, and its stream serves. */
    margo_wait_for_finalize(service->mid);
    address_remove(service->path, service->address);
    atomic_store(&service->is_over, true);
    if (atomic_load(&service->by) == 0)
        pthread_kill(service->listener, SIGTERM);
    else
        is_by_signal = true;
    pthread_join(service->listener, NULL);
    margo_instance_release(service->mid);
    if (is_by_signal)
        printf("service: ended by signal %d\n", atomic_load(&service->by));
    else
        printf("service: ended by a client\n");
    return true;
}

int main(int argc, char **argv)
{
    static struct service service;
    const char *transport = argc > 1 ? argv[1] : getenv("AMALGAM_TRANSPORT");
    bool is_fine = false;

    service.path = getenv(ADDRESS_VARIABLE);
    if (service.path == NULL || argc > 2) {
        fputs(ADDRESS_VARIABLE "=FILE service_server [TRANSPORT]\n", stderr);
        return 2;
    }
    signals_block(&service);
    service.mid = margo_init(
        transport != NULL ? transport : "tcp", MARGO_SERVER_MODE, 0, 0);
    if (service.mid == MARGO_INSTANCE_NULL)
        return EXIT_FAILURE; /* the lines above say why */
    ABT_init(0, NULL);       /* the lock outlives the instance */
    ABT_mutex_create(&service.sum.lock);
    sum_serve(service.mid, &service.sum);
    margo_enable_remote_shutdown(service.mid);
    is_fine = service_run(&service);
    ABT_mutex_free(&service.sum.lock);
    ABT_finalize();
    return is_fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
