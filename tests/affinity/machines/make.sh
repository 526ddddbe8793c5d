#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Makes the machines of this folder anew, by hwloc's lstopo-no-graphics (Debian:
# hwloc-nox). kvm_two_cores.xml is a recorded one: it is not made here.
set -eu
cd "$(dirname "$0")"

# synthetic DESCRIPTION: the machine as XML, without unused attributes.
synthetic() {
    lstopo-no-graphics -i "$1" --of xml -f - | grep -v -e '<info ' -e page_type |
        sed -E 's/ (local_memory|subkind)="[^"]*"//g'
}

# nic NODESET BUS NETWORK FABRIC: adds a NIC to the end of the first package or
# group of NUMA nodes with these nodes.
nic() {
    awk -v nodes="nodeset=\"$1\"" -v bus="$2" -v net="$3" -v fabric="$4" '
        function nic_print() {
            id = 9000 + 4 * NR
            printf "%s  <object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"0000:[%s-%s]\">\n", indent, id, substr(bus, 6, 2), substr(bus, 6, 2)
            printf "%s    <object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"%s\" pci_type=\"0207 [15b3:101b] [15b3:0007] 00\" pci_link_speed=\"31.5\">\n", indent, id + 1, bus
            printf "%s      <object type=\"OSDev\" gp_index=\"%d\" name=\"%s\" osdev_type=\"2\"/>\n", indent, id + 2, net
            printf "%s      <object type=\"OSDev\" gp_index=\"%d\" name=\"%s\" osdev_type=\"3\"/>\n", indent, id + 3, fabric
            printf "%s    </object>\n%s  </object>\n", indent, indent
        }
        !done && !open && /type="(Package|Group)"/ && index($0, nodes) {
            open = 1
            indent = $0
            sub(/<.*/, "", indent)
        }
        open && $0 == indent "</object>" {
            nic_print()
            open = 0
            done = 1
        }
        { print }'
}

synthetic "pack:2 numa:2 core:4 pu:1" |
    nic 0x00000002 0000:41:00.0 hsn0 mlx5_0 >numa4_nic1.xml
synthetic "pack:2 [numa] core:4 pu:2(indexes=2*8:1*2)" |
    nic 0x00000001 0000:21:00.0 hsn0 mlx5_0 |
    nic 0x00000002 0000:a1:00.0 hsn1 mlx5_1 >smt_two_nics.xml
synthetic "pack:1 core:8 pu:1" |
    sed 's/allowed_cpuset="[^"]*"/allowed_cpuset="0x0000003c"/' >cgroup.xml
