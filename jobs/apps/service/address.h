/* SPDX-License-Identifier: BSD-3-Clause */
/* The file by which a service and its clients find each other: one line, the
 * address that margo_addr_to_string() has given. */
#ifndef SERVICE_ADDRESS_H
#define SERVICE_ADDRESS_H

#include <stdbool.h>

/* Names the file. */
#define ADDRESS_VARIABLE "AMALGAM_SERVICE_FILE"

enum { ADDRESS_CAP = 1024 };

/* Writes the file whole, or not at all: who finds it finds all of it. False:
 * stderr has why, and there is no file. */
bool address_write(const char *path, const char *address);

/* Waits until the file is there; false after `patience_s` seconds, or if what
 * it holds is no address: stderr has which. */
bool address_await(
    const char *path, double patience_s, char ret_address[ADDRESS_CAP]);

/* Removes the file, so that nobody calls a service that is gone; but not one
 * that another service has written meanwhile. */
void address_remove(const char *path, const char *address);

#endif
