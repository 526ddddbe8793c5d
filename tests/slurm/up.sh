#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Starts and ends the box that the tests under Slurm share: up.sh up NODES |
# up.sh down
#
# It ends with the ctest that started it, if that does not reach slurm.down. A
# machine that cannot start Slurm logs that, and skips; but not CI, which has
# all that is needed.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/slurm/slurm.sh
. "$here/slurm.sh"

slurm_needed
rm -f "$AMALGAM_BOX_DIR.why"
if [ "$1" = down ]; then
    exec timeout 50 "$box" down
fi
timeout 50 "$box" down # of a ctest that was killed
timeout 100 "$box" up "$2" -w $PPID && exit 0
[ "${CI:-}" != true ] || fail "Slurm cannot be started"
echo "Slurm cannot be started here: see slurm.up" >"$AMALGAM_BOX_DIR.why"
skip "Slurm cannot be started here"
