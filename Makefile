# SPDX-License-Identifier: GPL-2.0-only
# Every entry point of the project. `make help` explains them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SECONDEXPANSION:
MAKEFLAGS += --no-builtin-rules

LAB ?= x86
PROFILE ?= quick
export LAB
# What runs on it, and what building its kernel and QEMU needs (groups of bench/packages).
LAB_ARCH_x86 := x86_64
LAB_ARCH_loongarch := loongarch64
ARCH ?= $(LAB_ARCH_$(LAB))
LAB_SETUP_loongarch := patches

.DEFAULT_GOAL := help

include bench/build.mk
include libvirt/virt-pv-check/build.mk
include qemu-patches/lvz-tests/build.mk

##@ The two commands of the README
.PHONY: bench
bench: setup programs ## the main job: PV TLB flush off and on, on the emulated lab (PROFILE=quick|full, LAB=x86|loongarch; RESUME=1 goes on with the newest run)
	bench/run $(PROFILE) $(RESUME)

.PHONY: test
test: ## every test; ends with "N passed, N failed, N skipped"
	bench/setup bench test patches
	.ci/tests

.PHONY: ssh-guest-test
ssh-guest-test: setup-test programs ## guests that are a whole Debian, reached by ssh: off and on once (slow)
	PV_BIN=$(CURDIR)/build/native/bin ansible/tests/ssh-guest.t

##@ Set-up (each of these installs or fetches what it needs)
.PHONY: setup setup-test setup-patches
setup: ## Debian packages, the controller's Ansible (build/ansible/bin), the lab host's image
	bench/setup bench $(LAB_SETUP_$(LAB))
setup-test: ## the same, and what the tests need
	bench/setup bench test $(LAB_SETUP_$(LAB))
setup-patches: ## what the patches' trees, builds and checks need
	bench/setup bench patches

##@ The lab: a whole host under QEMU TCG
.PHONY: lab lab-ssh lab-stop lab-image
lab: setup ## boot the lab host (LAB=x86|loongarch); returns when it answers ssh
	bench/lab/pv-lab start
lab-ssh: ## a shell on it
	@bench/lab/pv-lab ssh
lab-stop: ## end it; the image is as it was
	bench/lab/pv-lab stop
lab-image: setup ## only build its disk image
	bench/lab/pv-lab image

##@ LoongArch KVM on any PC (bench/lab/lvz)
.PHONY: lvz-boot lvz-check lvz-soak lab-soak lvz-soak-control lvz-qemu-test lvz-cost kvm-selftests kvm-selftests-docs
N ?=
LVZ ?=
MINUTES ?=
CONTROL ?= gid gid-1000 invtlb-1000
PV_LVZ = bench/lab/lvz/pv-lvz
lvz-boot: setup-patches ## boot guests in the emulated LoongArch host (N=20, LVZ="--guest-smp 2 ...": pv-lvz boot --help)
	$(PV_LVZ) boot --limit 5 $(N:%=-n %) $(LVZ)
lvz-check: setup-patches ## OpenSSL, ssh and vector checksums there agree with native, in host and guest
	$(PV_LVZ) check $(LVZ)
lvz-soak: setup-patches ## an overcommitted guest in which threads look for stale translations (MINUTES=2, LVZ="--guests 2 --host-load")
	$(PV_LVZ) soak $(MINUTES:%=--minutes %) $(LVZ)
lab-soak: ## the same; so far only LAB=loongarch, on the minimal host
	@[ "$(LAB)" = loongarch ] || { echo "lab-soak: only LAB=loongarch" >&2; exit 2; }
	@$(MAKE) lvz-soak
lvz-soak-control: qemu-tree ## broken emulators: that must fail within 5 minutes (CONTROL="gid ...": bench/lab/lvz/controls)
	$(PV_LVZ) soak --minutes 5 $(CONTROL:%=--control %) $(LVZ)
lvz-qemu-test: setup-patches ## QEMU's LoongArch PV properties on real KVM
	$(PV_LVZ) qemu $(LVZ)
kvm-selftests: setup-patches ## Linux's own selftests of KVM there (REGEX=... for some, TIMES=3, LVZ="--kernel series")
	$(PV_LVZ) selftests $(TIMES:%=--times %) $(LVZ) $(REGEX)
kvm-selftests-docs: ## docs/kvm-selftests.md, out of what they said last (RESULTS=... for other files)
	$(PV_LVZ) table $(RESULTS) >docs/kvm-selftests.md.new
	mv docs/kvm-selftests.md.new docs/kvm-selftests.md
lvz-cost: setup-patches build/native/bin/pv-compare ## LoongArch boot without LVZ: our QEMU against unpatched, N=12 pairs
	$(PV_LVZ) cost $(N:%=-n %) $(LVZ)

##@ Patches (docs/patch-queue.md)
COMPONENTS := kernel qemu libvirt
.PHONY: $(COMPONENTS:%=%-tree) $(COMPONENTS:%=%-refresh) patches-check patches-test patches-docs libvirt-test \
	libvirt-loongarch-test libvirt-cost lvz-test lvz-mutate
kernel-tree qemu-tree libvirt-tree: %-tree: setup-patches ## a git tree, build/tree/..., with every patch
	kernel-patches/pv-queue tree $*
kernel-refresh qemu-refresh libvirt-refresh: %-refresh: ## write that tree's patches back into the queue
	kernel-patches/pv-queue refresh $*
patches-check: setup-patches ## headers, application to all releases, style, each prefix compiles
	kernel-patches/pv-queue check $(COMPONENTS)
patches-test: setup-patches ## QEMU's and libvirt's own tests, with the patches
	kernel-patches/pv-queue test qemu libvirt
libvirt-test: setup-test programs ## the CPU feature in libvirt on the x86 lab: all modes, migrations, refusals (half an hour)
	libvirt/tests/lab.t
	cp build/libvirt-matrix.md docs/
libvirt-loongarch-test: patches-test ## the LoongArch part with session daemons; KVM hosts are simulated
	libvirt/tests/loongarch/run
libvirt-cost: setup-test programs ## what libvirt's series cost, there, against Debian's libvirt
	libvirt/tests/cost
	bench/lab/pv-lab stop
lvz-test: setup-patches ## bare-metal tests of the emulated LVZ, one machine each (REGEX=... for some; PV_QEMU: another QEMU)
	@$(MAKE) -s build/lvz-tests/lvz.elf
	$(LVZ_TESTS)/run $(REGEX)
lvz-mutate: qemu-tree ## break the emulator in each listed way: its test must fail (REGEX=... for some)
	@$(MAKE) -s build/lvz-tests/lvz.elf
	$(LVZ_TESTS)/mutate $(REGEX)
patches-docs: ## docs/patches.md, out of the patches
	kernel-patches/pv-queue docs >docs/patches.md.new
	mv docs/patches.md.new docs/patches.md

##@ Parts
.PHONY: programs workloads guest-image libvirt loongarch-kernel loongarch-qemu tidy
programs: workloads native guest-image ## all C programs, and the guest image
workloads: $(GUEST_BINS) $(HOST_BINS) ## static programs for guests and hosts of ARCH (x86_64, aarch64, loongarch64)
guest-image: $(GUEST_IMAGE)/initramfs.cpio.gz $(GUEST_IMAGE)/vmlinuz ## the guest's kernel and initramfs
libvirt: setup ## libvirt with our series, for hosts of ARCH (build/ARCH/libvirt.tar)
	mkdir -p build/$(ARCH)
	archive=$$(libvirt/daemon/build $(ARCH)); ln -sfn "$$archive" build/$(ARCH)/libvirt.tar
	basename "$$(readlink build/$(ARCH)/libvirt.tar)" .tar >build/$(ARCH)/libvirt.tar.id
native: $(NATIVE_BINS)
loongarch-kernel: setup-patches ## LoongArch kernels for emulated hosts and guests, cached: mainline, and with the series
	kernel-patches/build mainline
	kernel-patches/build series
loongarch-qemu: setup-patches ## QEMU, cached: for this machine (with every series), for LoongArch hosts, unpatched
	qemu-patches/build lab
	qemu-patches/build product
	qemu-patches/build base
tidy: ## clang-format in place
	clang-format-19 -i $(C_FILES)

##@ Cleaning
.PHONY: clean
clean: lab-stop ## remove build/ (results too); the cache of downloads and images stays
	rm -rf build

.PHONY: help
help: ## this text
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+( [a-z-]+)*:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "Cache: \$$PV_CACHE (~/.cache/pv-tlb-flush). Debian mirror: \$$PV_MIRROR, or the one apt uses."
