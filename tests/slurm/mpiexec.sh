#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs ranks by mpiexec within an allocation: mpiexec.sh HOW MPIEXEC NODES RANKS
# PROGRAM [ARG...]
#
# HOW is salloc, which runs mpiexec here, or sbatch, which does so on the first
# node. Either way mpiexec itself detects its nodes. Ranks of one node then
# inherit the same SLURM_PROCID, on which nothing may rely.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"
how=$1 mpiexec=$2 nodes=$3 ranks=$4
shift 4

"$mpiexec" --version 2>/dev/null | grep -q HYDRA ||
    skip "this mpiexec is not hydra's, and may not know Slurm"
box_enter
if [ "$how" = salloc ]; then
    exec timeout 150 salloc -N "$nodes" -n "$ranks" \
        "$mpiexec" -n "$ranks" "$@" </dev/null
fi
work_make
printf '#!/bin/bash\nexec %s\n' "$(printf '%q ' "$mpiexec" -n "$ranks" "$@")" \
    >"$work/job"
id=$(sbatch --parsable -N "$nodes" -n "$ranks" -o "$work/out" "$work/job") ||
    fail "sbatch refuses the job"
until_true 100 job_over "$id" || scancel "$id"
cat "$work/out"
job_is "$id" 'COMPLETED *' ||
    fail "the job ended as $(squeue -h -t all -j "$id" -o '%T %r')"
