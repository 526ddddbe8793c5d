/* SPDX-License-Identifier: BSD-3-Clause */
/* A file that is being read, and must stay as it is meanwhile.
 *
 * It is read by calls and not mapped: behind the end of a file that shrinks, a
 * mapping ends the process by a signal, and a read just ends. */
#include "jobs/apps/checkpoint/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "jobs/apps/checkpoint/report.h"

static bool source_open_file(struct source *source)
{
    const struct entry *entry = source->entry;

    /* Not to wait if a pipe has taken the file's place. */
    source->fd = open(entry->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (source->fd < 0 && errno == ENOENT) {
        report_error("%s: has vanished since it was listed", entry->path);
        return false;
    }
    if (source->fd < 0 || fstat(source->fd, &source->status) != 0) {
        report_error("%s: cannot open: %s", entry->path, strerror(errno));
        return false;
    }
    if (!S_ISREG(source->status.st_mode)) {
        report_error("%s: is no file any more", entry->path);
        return false;
    }
    return true;
}

bool source_open(struct source *source, const struct entry *entry)
{
    source->entry = entry;
    source->fd = -1;
    source->offset = 0;
    memset(&source->status, 0, sizeof(source->status));
    source->status.st_mode = entry->mode;
    if (source->hash == NULL)
        source->hash = XXH3_createState();
    if (source->hash == NULL || XXH3_64bits_reset(source->hash) == XXH_ERROR) {
        report_error("%s: no memory for its checksum", entry->path);
        return false;
    }
    if (S_ISDIR(entry->mode) || source_open_file(source))
        return true;
    source_close(source);
    return false;
}

uint64_t source_size(const struct source *source)
{
    return (uint64_t)source->status.st_size;
}

/* As many as there are, up to `len`; -1: reported. */
static int64_t read_all(struct source *source, char *ret_bytes, uint64_t len)
{
    uint64_t done = 0;

    while (done < len) {
        ssize_t now = pread(source->fd, ret_bytes + done, len - done,
            (off_t)(source->offset + done));

        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0) {
            report_error("%s: cannot read at %" PRIu64 ": %s",
                source->entry->path, source->offset + done, strerror(errno));
            return -1;
        }
        if (now == 0)
            break;
        done += (uint64_t)now;
    }
    return (int64_t)done;
}

/* At its end: neither longer nor written to since it was opened. */
static bool is_unchanged(struct source *source)
{
    struct stat now;
    char beyond = 0;
    int64_t more = read_all(source, &beyond, 1);

    if (more < 0)
        return false;
    if (more > 0) {
        report_error("%s: grew beyond its %" PRIu64 " bytes while it was read",
            source->entry->path, source_size(source));
        return false;
    }
    if (fstat(source->fd, &now) != 0 ||
        now.st_mtim.tv_sec != source->status.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != source->status.st_mtim.tv_nsec) {
        report_error("%s: was changed while it was read", source->entry->path);
        return false;
    }
    return true;
}

bool source_read(struct source *source, void *ret_bytes, uint64_t len)
{
    int64_t done = 0;

    if (source->fd < 0)
        return true; /* a directory: nothing to read */
    done = read_all(source, ret_bytes, len);
    if (done < 0)
        return false;
    source->offset += (uint64_t)done;
    if ((uint64_t)done < len) {
        report_error("%s: shrank from %" PRIu64 " to %" PRIu64
                     " bytes while it was read",
            source->entry->path, source_size(source), source->offset);
        return false;
    }
    XXH3_64bits_update(source->hash, ret_bytes, len);
    return source->offset < source_size(source) || is_unchanged(source);
}

uint64_t source_hash(const struct source *source)
{
    return XXH3_64bits_digest(source->hash);
}

void source_close(struct source *source)
{
    if (source->fd >= 0)
        close(source->fd);
    source->fd = -1;
}

void source_fini(struct source *source)
{
    XXH3_freeState(source->hash);
    source->hash = NULL;
}
