#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The core, without I/O (tests/unit.c).
exec "${PV_BIN:?folder with the programs under test}/virt-pv-check-unit"
