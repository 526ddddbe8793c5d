/* SPDX-License-Identifier: BSD-3-Clause */
/* Address that a domain binds to, and the NIC that has it. */
#ifndef AMG_OFI_BACKEND_OFI_BIND_ADDR_H
#define AMG_OFI_BACKEND_OFI_BIND_ADDR_H

#include "ofi_backend/ofi_call.h"
#include "transport/transport.h"

enum {
    AMG_OFI_HOST_CAP = 128,
    AMG_OFI_PORT_CAP = 8,
    AMG_OFI_IP_LEN = 16, /* bytes of the longest network address */
};

/* "[iface|host|NIC][:port]", the subnet and the format of addresses, as read.
 */
struct amg_ofi_bind_addr {
    char given[AMG_OFI_HOST_CAP]; /* as the user wrote it */
    char host[AMG_OFI_HOST_CAP];  /* its address; "": anywhere */
    char port[AMG_OFI_PORT_CAP];  /* "": any */
    bool is_any;                  /* what was given is the address of all */
    bool is_name;                 /* a host, or what libfabric calls a NIC */
    const char *unknown;          /* why no such host was found; or NULL */
    bool has_subnet;
    int family; /* that is asked for; AF_UNSPEC: either */
    int subnet_family;
    uint8_t subnet[AMG_OFI_IP_LEN];
    unsigned subnet_bits;
};

/* HG_INVALID_ARG: the text, subnet or format is none, or they contradict each
 * other; the log says which. */
hg_return_t amg_ofi_bind_addr_read(
    const struct amg_open *how, struct amg_ofi_bind_addr *ret_bind);

/* Asks for the address of the host that was named; may block as long as the
 * resolver does. If there is none, the name stays for the provider to read. */
void amg_ofi_bind_addr_resolve(struct amg_ofi_bind_addr *bind);

/* How well a result of libfabric fits: 0 best, then addresses that few can
 * reach; negative: not at all. */
int amg_ofi_bind_addr_rank(
    const struct amg_ofi_bind_addr *bind, const struct fi_info *info);

/* Is the NIC of this result the one that the user named? */
bool amg_ofi_bind_addr_is_nic(
    const struct amg_ofi_bind_addr *bind, const struct fi_info *info);

/* Does this address of a provider stand for all of its machine? */
bool amg_ofi_bind_addr_is_any(uint32_t format, const void *addr);

/* Name, interface and bus address of the NIC of a result. */
void amg_ofi_nic_read(const struct fi_info *info, struct amg_nic_id *ret_nic);

/* `first` of a list of results, or one behind it that is as good, and of a NIC
 * that is nearer to this process. `first`, where the user named one. */
const struct fi_info *amg_ofi_nic_nearest(const struct amg_open *how,
    const struct amg_ofi_bind_addr *bind, const struct fi_info *first);

#endif
