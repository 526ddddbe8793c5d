/* SPDX-License-Identifier: BSD-3-Clause */
/* The file by which a service and its clients find each other: one line, the
 * address that margo_addr_to_string() has given. */
#ifndef SERVICE_ADDRESS_H
#define SERVICE_ADDRESS_H

#include <stdbool.h>

/* Environment variable with the path of the file. */
#define ADDRESS_VARIABLE "AMALGAM_SERVICE_FILE"

enum { ADDRESS_CAP = 1024 };

/* Writes the file completely, or not at all: a reader never finds a part of it.
 * False: stderr has why; a file that was there stays. */
bool address_write(const char *path, const char *address);

/* Waits until the file is there. False: not after `patience_s` seconds, not
 * readable, or no address in it; stderr has which. */
bool address_await(
    const char *path, double patience_s, char ret_address[ADDRESS_CAP]);

/* Removes the file, so that no client calls a service that is gone; but not a
 * file that another service has written meanwhile. */
void address_remove(const char *path, const char *address);

#endif
