/* SPDX-License-Identifier: BSD-3-Clause */
/* Address strings: addresses of providers as text, and back. */
#ifndef AMG_OFI_BACKEND_OFI_ADDRSTR_H
#define AMG_OFI_BACKEND_OFI_ADDRSTR_H

#include "ofi_backend/ofi_domain.h"

/* "ofi+STACK://" and the address; see the table in ofi_addrstr.c. */
void amg_ofi_addrstr_write(const struct amg_ofi_facts *facts, const void *addr,
    size_t len, char *ret_text);

/* The bytes of such a text; at most AMG_OFI_ADDR_MAX. HG_INVALID_ARG: it is
 * none; HG_ADDRNOTAVAIL: of another stack. The log says why. */
hg_return_t amg_ofi_addrstr_read(const struct amg_ofi_facts *facts,
    const char *text, void *ret_addr, uint16_t *ret_len);

/* May a peer be reached at these bytes, which somebody sent? `own_len`: how
 * long our own address is. */
bool amg_ofi_addrstr_is_addr(const struct amg_ofi_facts *facts,
    const void *addr, size_t len, size_t own_len);

#endif
