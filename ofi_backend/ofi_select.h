/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the provider that an init string names (ofi_select.c), from
 * addresses (ofi_bind_addr.c, ofi_addrstr.c) and the environment of the job
 * (ofi_env.c). */
#ifndef AMG_OFI_BACKEND_OFI_SELECT_H
#define AMG_OFI_BACKEND_OFI_SELECT_H

#include "ofi_backend/ofi_domain.h"

enum {
    AMG_OFI_HOST_CAP = 128,
    AMG_OFI_PORT_CAP = 8,
    AMG_OFI_IP_LEN = 16, /* bytes of the longest network address */
};

/* "[iface|host|NIC][:port]", the subnet and the format of addresses, as read.
 */
struct amg_ofi_bind_addr {
    char given[AMG_OFI_HOST_CAP]; /* text of the user */
    char host[AMG_OFI_HOST_CAP];  /* address of `given`; "": any */
    char port[AMG_OFI_PORT_CAP];  /* "": any */
    bool is_any;                  /* the wildcard address was given */
    bool is_name;                 /* `given` names a host, or libfabric's NIC */
    const char *unknown;          /* error of the resolver, or NULL */
    bool has_subnet;
    int family; /* AF_UNSPEC: IPv4 or IPv6 */
    int subnet_family;
    uint8_t subnet[AMG_OFI_IP_LEN];
    unsigned subnet_bits;
};

/* HG_INVALID_ARG: the text, subnet or format is wrong, or two of them
 * contradict each other; the log says which. */
hg_return_t amg_ofi_bind_addr_read(
    const struct amg_open *how, struct amg_ofi_bind_addr *ret_bind);

/* Resolves the name of a host, which may block. An unknown name stays for the
 * provider. */
void amg_ofi_bind_addr_resolve(struct amg_ofi_bind_addr *bind);

/* Rank of a result of libfabric: 0 is best; the larger the rank, the fewer
 * hosts can reach the address; negative: not usable. */
int amg_ofi_bind_addr_rank(
    const struct amg_ofi_bind_addr *bind, const struct fi_info *info);

/* Did the user name the NIC of this result? */
bool amg_ofi_bind_addr_is_nic(
    const struct amg_ofi_bind_addr *bind, const struct fi_info *info);

/* Is this the wildcard address? */
bool amg_ofi_bind_addr_is_any(uint32_t format, const void *addr);

/* Name, interface and bus address of the NIC of a result. */
void amg_ofi_nic_read(const struct fi_info *info, struct amg_nic_id *ret_nic);

/* `first` of a list of results, or a later result that is equally good and
 * whose NIC is nearer to this process. If the user named a NIC: `first`. */
const struct fi_info *amg_ofi_nic_nearest(const struct amg_open *how,
    const struct amg_ofi_bind_addr *bind, const struct fi_info *first);

enum {
    AMG_OFI_AUTH_LEN_MAX = 256,
    AMG_OFI_DEVICE_CAP = 64,
    AMG_OFI_AUTH_TEXT_CAP = 96,
};

/* Key of a job at its network. */
struct amg_ofi_auth {
    size_t len; /* 0: the provider's default */
    uint8_t bytes[AMG_OFI_AUTH_LEN_MAX];
    char device[AMG_OFI_DEVICE_CAP]; /* NIC that the key is for; "": any */
};

/* `how->nic.auth_key`, or on Slingshot the key of the job's list that
 * AMALGAM_SLINGSHOT_VNI chooses. `device`: the NIC that the user named, or "".
 * HG_INVALID_ARG; the log says why. */
hg_return_t amg_ofi_auth_read(const struct amg_open *how, const char *device,
    struct amg_ofi_auth *ret_key);

/* For log lines: ", VNI 5 of service 2" if the provider has such a key, or "".
 * `ret_text`, which is returned, has AMG_OFI_AUTH_TEXT_CAP bytes. */
const char *amg_ofi_auth_text(const struct fi_info *info, char *ret_text);

/* fi_getinfo(). Libfabric reads its environment in the first fi_getinfo() of a
 * process; before that, sets variables that the user has not set. */
int amg_ofi_env_getinfo(uint32_t version, const char *node, const char *service,
    const struct fi_info *hints, struct fi_info **ret_info);

/* Peers that the queues have room for: set by the user, or the job's size. */
unsigned amg_ofi_env_universe(void);

/* For tests: the next fi_getinfo() counts as the first one. */
void amg_ofi_env_forget(void);

/* "ofi+STACK://" and the address; see the table in ofi_addrstr.c. */
void amg_ofi_addrstr_write(const struct amg_ofi_facts *facts, const void *addr,
    size_t len, char *ret_text);

/* Address in `text`, at most AMG_OFI_ADDR_MAX bytes. HG_INVALID_ARG: no
 * address; HG_ADDRNOTAVAIL: another stack, or an unknown host; the log says
 * why. */
hg_return_t amg_ofi_addrstr_read(const struct amg_ofi_facts *facts,
    const char *text, void *ret_addr, uint16_t *ret_len);

/* Are these bytes, which a peer sent, an address? `own_len`: the length of our
 * own address. */
bool amg_ofi_addrstr_is_addr(const struct amg_ofi_facts *facts,
    const void *addr, size_t len, size_t own_len);

/* Chooses by `how` (protocol, info, ip_subnet, addr_format, auth_key). The
 * caller frees the result by freeinfo. HG_INVALID_ARG: no such host, port or
 * interface; HG_OPNOTSUPPORTED: no such provider here; the log says more. */
hg_return_t amg_ofi_select(const struct amg_open *how,
    struct fi_info **ret_info, struct amg_ofi_facts *ret_facts);

/* All results of libfabric for this driver, for freeinfo; NULL: none. */
struct fi_info *amg_ofi_select_all(void);

#endif
