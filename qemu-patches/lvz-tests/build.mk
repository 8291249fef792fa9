# SPDX-License-Identifier: GPL-2.0-only
# The image of the bare-metal tests: freestanding, soft-float C; the assembly uses all units.
LVZ := qemu-patches/lvz-tests
LVZ_OBJS := $(patsubst $(LVZ)/%,build/lvz-tests/%.o,$(sort $(wildcard $(LVZ)/*.c $(LVZ)/*.S)))
LVZ_CC := clang-19 --target=loongarch64-unknown-none -march=loongarch64 -mabi=lp64s -std=gnu11 -Os -Wall -Wextra -Werror \
	-mno-lsx -msoft-float -fdirect-access-external-data -ffreestanding -fno-builtin -fno-pic -fno-jump-tables -fno-stack-protector -fno-asynchronous-unwind-tables -ffile-prefix-map=$(LVZ)/=

build/lvz-tests/%.o: $(LVZ)/% $(LVZ)/lvz.h $(LVZ)/build.mk
	@mkdir -p $(@D)
	$(LVZ_CC) -c $< -o $@
build/lvz-tests/lvz.elf: $(LVZ_OBJS) $(LVZ)/lvz.lds
	ld.lld-19 -T $(LVZ)/lvz.lds --fatal-warnings -o $@ $(LVZ_OBJS)
