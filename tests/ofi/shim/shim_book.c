/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of the shim, shared by all processes of a test. The low half of a key's
 * four bytes is a slot in a file that all map, the rest is random; so a key of
 * closed memory is invalid. The very first key is 0, which is a valid key.
 * Accesses are counted, so the shim detects a process that closes memory while
 * a living one still reads or writes it. */
#include "ofi/shim/shim_book.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ofi/shim/shim.h"
#include "ofi/shim/shim_breach.h"

enum { PAGES = 1 << 16, TEXT_CAP = 64 };

enum shim_page_state { PAGE_FREE, PAGE_BEING_FILLED, PAGE_VALID };

static struct book {
    atomic_uint next;
    struct shim_page pages[PAGES];
} * book;

static void fail(const char *what)
{
    fprintf(stderr, "shim: %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* Without a name; other processes open it through this one. */
static int file_make(void)
{
    char text[TEXT_CAP];
    int fd = memfd_create("shim", MFD_CLOEXEC);

    if (fd < 0)
        fail("no memory file");
    snprintf(text, sizeof(text), "/proc/%ld/fd/%d", (long)getpid(), fd);
    setenv(SHIM_ENV_BOOK, text, 1);
    return fd;
}

void shim_book_open(void)
{
    const char *path = getenv(SHIM_ENV_BOOK);
    int fd = path == NULL ? file_make()
                          : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        fail(path);
    if (ftruncate(fd, sizeof(*book)) != 0)
        fail("cannot give the book its length");
    book = mmap(NULL, sizeof(*book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (book == MAP_FAILED)
        fail("cannot map the book");
    /* The first process keeps its file open, for others to open it. */
    if (path != NULL)
        close(fd);
}

static uint64_t key_draw(unsigned place, size_t key_len)
{
    uint64_t upper = place == 0 ? 0 : shim_dice();
    uint64_t mask = key_len >= 8 ? UINT64_MAX : (1ull << 8 * key_len) - 1;

    return ((upper << 16) | place) & mask;
}

struct shim_page *shim_book_add(uint64_t base, uint64_t len, uint64_t access,
    uint64_t real_key, size_t key_len)
{
    for (unsigned i = 0; i < PAGES; i++) {
        unsigned place = atomic_fetch_add(&book->next, 1) % PAGES;
        struct shim_page *page = &book->pages[place];
        unsigned expected = PAGE_FREE;

        if (!atomic_compare_exchange_strong(
                &page->state, &expected, PAGE_BEING_FILLED))
            continue;
        page->owner = getpid();
        page->key = key_draw(place, key_len);
        page->base = base;
        page->len = len;
        page->access = access;
        page->real_key = real_key;
        atomic_store(&page->users, 0);
        atomic_store(&page->state, PAGE_VALID);
        return page;
    }
    shim_breach("mr_reg", "there are %d registrations already", PAGES);
}

void shim_book_remove(struct shim_page *page)
{
    int user = atomic_load(&page->user);

    if (atomic_load(&page->users) > 0 && kill(user, 0) == 0)
        shim_breach("close",
            "process %d still reads or writes the memory at %#llx, whose "
            "registration ends",
            user, (unsigned long long)page->base);
    atomic_store(&page->state, PAGE_FREE);
}

struct shim_page *shim_book_use(uint64_t key)
{
    struct shim_page *page = &book->pages[key % PAGES];

    atomic_store(&page->user, getpid());
    atomic_fetch_add(&page->users, 1);
    if (atomic_load(&page->state) == PAGE_VALID && page->key == key)
        return page;
    atomic_fetch_sub(&page->users, 1);
    return NULL;
}

void shim_book_drop(struct shim_page *page)
{
    atomic_fetch_sub(&page->users, 1);
}
