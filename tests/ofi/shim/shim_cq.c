/* SPDX-License-Identifier: BSD-3-Clause */
/* Completions: late, in batches, in another order, and descriptors that become
 * ready without a completion. Received messages keep their order, since the
 * driver asked for it (FI_ORDER_SAS); sends, reads and writes come in any order
 * if the profile says so, also before or after received messages. Completions
 * come only when the queue is read, delayed ones some reads later. */
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ofi/shim/shim_flight.h"

enum { REAL_BATCH = 16 };

static struct fid_cq *cq_real(const struct shim_cq *cq)
{
    return (struct fid_cq *)(void *)cq->object.real;
}

int shim_cq_open(struct fid_domain *domain_fid, struct fi_cq_attr *attr,
    struct fid_cq **ret_cq)
{
    struct shim_domain *domain = SHIM_OF(domain_fid, domain, "cq_open");
    bool wants_fd = attr->wait_obj == FI_WAIT_FD;
    struct shim_cq *cq = NULL;
    struct fid_cq *real = NULL;
    int code = 0;

    if (attr->format != FI_CQ_FORMAT_DATA)
        shim_breach("cq_open", "the shim knows FI_CQ_FORMAT_DATA only");
    if (wants_fd && shim_profile->wait == SHIM_WAIT_REFUSED)
        return -FI_ENOSYS;
    code = fi_cq_open(
        (struct fid_domain *)(void *)domain->object.real, attr, &real, NULL);
    if (code != 0)
        return code;
    cq = shim_alloc(sizeof(*cq));
    cq->can_wait = wants_fd;
    cq->wait_fd = -1;
    cq->alarm = -1;
    shim_object_init(
        &cq->public.fid, &cq->object, "cq", &real->fid, &domain->object);
    cq->object.domain = domain;
    *ret_cq = &cq->public;
    return 0;
}

static void done_append(struct shim_done **list, struct shim_done *done)
{
    while (*list != NULL)
        list = &(*list)->next;
    *list = done;
}

static void done_add(struct shim_cq *cq, struct shim_flight *flight,
    const struct fi_cq_data_entry *entry, int error, bool is_last)
{
    struct shim_done *done = shim_alloc(sizeof(*done));

    if (entry != NULL)
        done->entry = *entry;
    done->entry.op_context = flight->user;
    done->flight = flight;
    done->error = error;
    done->is_last = is_last;
    done->due = cq->reads + shim_dice() % (shim_profile->delay + 1);
    done_append(flight->way == SHIM_RECV ? &cq->received : &cq->ended, done);
}

void shim_cq_push(struct shim_cq *cq, struct shim_flight *flight,
    const struct fi_cq_data_entry *real, int error)
{
    struct fi_cq_data_entry entry = {.flags = FI_RMA};
    bool is_alone =
        shim_profile->release == SHIM_RELEASE_ALONE ||
        (shim_profile->release == SHIM_RELEASE_EITHER && shim_dice_is(128));
    bool is_back = false;

    if (real != NULL)
        entry = *real;
    if (flight->way != SHIM_RECV) {
        done_add(cq, flight, &entry, error, true);
        return;
    }
    /* Only buffers of many messages report it (fi_cq.3). */
    if (!flight->is_multi)
        entry.buf = NULL;
    is_back = !flight->is_multi || (entry.flags & FI_MULTI_RECV) != 0 ||
              error == FI_ECANCELED;
    if (is_back)
        cq->object.domain->receives--;
    if (error == 0 && is_alone && (entry.flags & FI_MULTI_RECV) != 0 &&
        entry.len > 0) {
        entry.flags &= ~FI_MULTI_RECV;
        done_add(cq, flight, &entry, 0, false);
        entry = (struct fi_cq_data_entry){
            .flags = FI_MSG | FI_RECV | FI_MULTI_RECV};
    }
    done_add(cq, flight, &entry, error, is_back);
}

static void real_error_take(struct shim_cq *cq)
{
    struct fi_cq_err_entry error = {.op_context = NULL};
    struct fi_cq_data_entry entry = {.op_context = NULL};

    if (fi_cq_readerr(cq_real(cq), &error, 0) != 1 || error.op_context == NULL)
        return;
    entry.flags = error.flags;
    entry.data = (uint64_t)error.prov_errno;
    shim_cq_push(cq, error.op_context, &entry, error.err);
}

/* Takes all completions that the real provider has. */
static void real_take(struct shim_cq *cq)
{
    struct fi_cq_data_entry entries[REAL_BATCH];
    ssize_t count = 0;

    do {
        count = fi_cq_read(cq_real(cq), entries, REAL_BATCH);
        if (count == -FI_EAVAIL)
            real_error_take(cq);
        for (ssize_t i = 0; i < count; i++)
            shim_cq_push(cq, entries[i].op_context, &entries[i], 0);
    } while (count == REAL_BATCH || count == -FI_EAVAIL);
}

/* Removes the next one of a list that is due. */
static struct shim_done *done_pick(
    const struct shim_cq *cq, struct shim_done **list, bool reorders)
{
    struct shim_done *done = NULL;

    while (*list != NULL) {
        if ((*list)->due <= cq->reads && (!reorders || shim_dice_is(128)))
            break;
        if (!reorders)
            return NULL;
        list = &(*list)->next;
    }
    done = *list;
    if (done != NULL)
        *list = done->next;
    return done;
}

static struct shim_done *done_next(struct shim_cq *cq)
{
    struct shim_done *done = NULL;
    bool begins_here = shim_dice_is(128);

    if (begins_here)
        done = done_pick(cq, &cq->received, false);
    if (done == NULL)
        done = done_pick(cq, &cq->ended, shim_profile->reorders);
    if (done == NULL && !begins_here)
        done = done_pick(cq, &cq->received, false);
    return done;
}

static void alarm_silence(const struct shim_cq *cq)
{
    uint64_t rung = 0;

    if (cq->alarm >= 0)
        (void)!read(cq->alarm, &rung, sizeof(rung));
}

static ssize_t cq_take(
    struct shim_cq *cq, struct fi_cq_data_entry *entries, size_t count)
{
    size_t taken = 0;

    if (cq->failed != NULL)
        return -FI_EAVAIL;
    alarm_silence(cq);
    /* While all buffers are here, unread, there is no room for further
     * messages; shm puts them into those of the posts (1.17), and then takes
     * none any more. */
    if (cq->received == NULL || cq->object.domain->receives > 0)
        real_take(cq);
    cq->reads++;
    while (taken < count) {
        struct shim_done *done = done_next(cq);

        if (done == NULL)
            break;
        if (done->error != 0) {
            cq->failed = done;
            break;
        }
        entries[taken++] = done->entry;
        if (done->is_last)
            shim_flight_end(done->flight);
        free(done);
    }
    if (taken > 0)
        return (ssize_t)taken;
    return cq->failed != NULL ? -FI_EAVAIL : -FI_EAGAIN;
}

ssize_t shim_cq_read(struct fid_cq *fid, void *entries, size_t count)
{
    struct shim_cq *cq = SHIM_OF(fid, cq, "cq_read");
    ssize_t code = 0;

    shim_enter(cq->object.domain, "cq_read");
    code = cq_take(cq, entries, count);
    shim_leave(cq->object.domain);
    return code;
}

ssize_t shim_cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry)
{
    struct shim_cq *cq = SHIM_OF(fid, cq, "cq_readerr");
    struct shim_done *done = NULL;

    shim_enter(cq->object.domain, "cq_readerr");
    done = cq->failed;
    cq->failed = NULL;
    if (done != NULL) {
        *entry = (struct fi_cq_err_entry){
            .op_context = done->entry.op_context,
            .flags = done->entry.flags,
            .err = done->error,
            .prov_errno = (int)done->entry.data,
        };
        if (done->is_last)
            shim_flight_end(done->flight);
        free(done);
    }
    shim_leave(cq->object.domain);
    return done != NULL ? 1 : -FI_EAGAIN;
}

static int fd_join(int all, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(all, EPOLL_CTL_ADD, fd, &event);
}

int shim_cq_wait_fd(struct fid_cq *fid, int *ret_fd)
{
    struct shim_cq *cq = SHIM_OF(fid, cq, "cq_wait_fd");
    int real_fd = -1;
    int code = 0;

    if (!cq->can_wait)
        shim_breach("cq_wait_fd", "the queue was opened without a descriptor");
    if (shim_profile->wait == SHIM_WAIT_LATE)
        return -FI_ENOSYS;
    code = fi_control(&cq_real(cq)->fid, FI_GETWAIT, &real_fd);
    if (code != 0)
        return code;
    cq->alarm = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    cq->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    if (cq->alarm < 0 || cq->wait_fd < 0 ||
        fd_join(cq->wait_fd, real_fd) != 0 ||
        fd_join(cq->wait_fd, cq->alarm) != 0)
        return -FI_EMFILE;
    *ret_fd = cq->wait_fd;
    return 0;
}

static int wait_try(const struct shim_cq *cq, struct fid_fabric *fabric)
{
    struct fid *fids[] = {&cq_real(cq)->fid};
    uint64_t one = 1;

    if (cq->received != NULL || cq->ended != NULL || cq->failed != NULL ||
        shim_dice_is(shim_profile->alarms))
        return -FI_EAGAIN;
    if (shim_dice_is(shim_profile->alarms))
        (void)!write(cq->alarm, &one, sizeof(one));
    return fi_trywait(fabric, fids, 1);
}

int shim_cq_trywait(struct fid_fabric *fabric_fid, struct fid_cq *fid)
{
    struct shim_fabric *fabric = SHIM_OF(fabric_fid, fabric, "cq_trywait");
    struct shim_cq *cq = SHIM_OF(fid, cq, "cq_trywait");
    int code = 0;

    if (cq->wait_fd < 0)
        shim_breach("cq_trywait", "the queue has nothing to wait for");
    shim_enter(cq->object.domain, "cq_trywait");
    code = wait_try(cq, (struct fid_fabric *)(void *)fabric->object.real);
    shim_leave(cq->object.domain);
    return code;
}

static void list_free(struct shim_done *done)
{
    while (done != NULL) {
        struct shim_done *next = done->next;

        free(done);
        done = next;
    }
}

void shim_cq_closed(struct shim_cq *cq)
{
    list_free(cq->received);
    list_free(cq->ended);
    list_free(cq->failed);
    cq->received = NULL;
    cq->ended = NULL;
    cq->failed = NULL;
    if (cq->wait_fd >= 0)
        close(cq->wait_fd);
    if (cq->alarm >= 0)
        close(cq->alarm);
}
