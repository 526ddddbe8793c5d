/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of the shim, shared by all processes of a test. */
#ifndef TESTS_OFI_SHIM_SHIM_BOOK_H
#define TESTS_OFI_SHIM_SHIM_BOOK_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

/* A registration of memory that others may access. */
struct shim_page {
    atomic_uint state; /* of enum shim_page_state; publishes the fields below */
    atomic_uint users; /* reads and writes in flight, of all processes */
    atomic_int user;   /* the process of the last access */
    pid_t owner;
    uint64_t key; /* as handed out */
    uint64_t base;
    uint64_t len;
    uint64_t access;
    uint64_t real_key;
};

/* Opens the file that the environment names, or creates one and names it. */
void shim_book_open(void);

/* Adds memory under a new key of `key_len` bytes. */
struct shim_page *shim_book_add(uint64_t base, uint64_t len, uint64_t access,
    uint64_t real_key, size_t key_len);
void shim_book_remove(struct shim_page *page);

/* The memory that a key names, used until shim_book_drop(); NULL: none. */
struct shim_page *shim_book_use(uint64_t key);
void shim_book_drop(struct shim_page *page);

#endif
