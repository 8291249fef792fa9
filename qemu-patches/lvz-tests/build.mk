# SPDX-License-Identifier: GPL-2.0-only
# The image of the bare-metal tests: freestanding, soft-float C; the assembly uses all units.
LVZ_TESTS := qemu-patches/lvz-tests
LVZ_OBJS := $(patsubst $(LVZ_TESTS)/%,build/lvz-tests/%.o,$(sort $(wildcard $(LVZ_TESTS)/*.c $(LVZ_TESTS)/*.S)))
LVZ_CC := clang-19 --target=loongarch64-unknown-none -march=loongarch64 -mabi=lp64s -mno-lsx -msoft-float -std=gnu11 -Os \
	-Wall -Wextra -Werror -ffreestanding -fno-builtin -fno-pic -fdirect-access-external-data -fno-jump-tables \
	-fno-stack-protector -fno-asynchronous-unwind-tables -ffile-prefix-map=$(LVZ_TESTS)/=

build/lvz-tests/%.o: $(LVZ_TESTS)/% $(LVZ_TESTS)/lvz.h $(LVZ_TESTS)/build.mk
	@mkdir -p $(@D)
	$(LVZ_CC) -c $< -o $@
build/lvz-tests/lvz.elf: $(LVZ_OBJS) $(LVZ_TESTS)/lvz.lds
	ld.lld-19 -T $(LVZ_TESTS)/lvz.lds --fatal-warnings -o $@ $(LVZ_OBJS)
