#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every combination of what a guest asks for and what hosts offer, against the table in docs/virt-pv-check.md.
# shellcheck source=SCRIPTDIR/../../../bench/common/tap.sh
. "$(dirname "$0")/../../../bench/common/tap.sh"
# shellcheck source=SCRIPTDIR/lib.sh
. "$(dirname "$0")/lib.sh"
"$PYTHON" "$here/matrix.py" "$check" "$top/docs/virt-pv-check.md"
