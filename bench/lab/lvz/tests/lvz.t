#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The witnesses find what is wrong, pv-lvz reports who fails, ends early or hangs: all without an emulated host.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../../.." && pwd)
# shellcheck source=bench/common/tap.sh
. "$top/bench/common/tap.sh"
dir=$top/bench/lab/lvz

# The vector checksum: each variant as here, one changed sum is found.
fetch=$top/bench/lab/fetch/pv-fetch
emulate=$("$fetch" get "$top/bench/sysroot/qemu-user.base")/usr/bin/qemu-loongarch64
sysroot=$("$fetch" get "$top/bench/sysroot/loongarch64.base")
flags=(-std=gnu11 -O2 -pthread -ffp-contract=off -fuse-ld=lld "$dir/pv-vsum.c" -lm)
clang-19 "${flags[@]}" -o "$TMP/native"
"$TMP/native" 4 >"$TMP/sums"
is "$(sort -u -k2 "$TMP/sums" | wc -l)" 4 "pv-vsum: each thread has its own sum"
for variant in lasx lsx no-lsx; do
	more=("-m$variant")
	[ $variant != lsx ] || more+=(-mno-lasx)
	clang-19 --target=loongarch64-linux-gnu --sysroot="$sysroot" -static "${more[@]}" "${flags[@]}" -o "$TMP/vsum"
	is "$("$emulate" "$TMP/vsum" 4)" "$(cat "$TMP/sums")" "pv-vsum: $variant as here"
done
run "$TMP/native" 2 0.2 "$TMP/sums"
is "$status" 0 "pv-vsum: its own sums are right"
like "$out" '^2 threads, [0-9]+ sums, 0 wrong' "pv-vsum: ... and counted"
sed '2s/.$/z/;2s/0z/1/;2s/z/0/' "$TMP/sums" >"$TMP/wrong"
run "$TMP/native" 2 0.2 "$TMP/wrong"
is "$status" 1 "pv-vsum: a wrong one is found"
like "$out" '^thread 1: [0-9]+ of [0-9]+ sums wrong' "pv-vsum: ... with its thread"

# Known answers: the same twice, others for one changed byte, none without a key.
mkdir "$TMP/kat"
"$dir/kat" "$TMP/kat" make
"$dir/kat" "$TMP/kat" >"$TMP/answers"
is "$("$dir/kat" "$TMP/kat")" "$(cat "$TMP/answers")" "kat: the same answers again"
like "$(cat "$TMP/answers")" '^p521 native: Verified OK$' "kat: signatures verify"
printf x | dd of="$TMP/kat/input" bs=1 seek=1000000 conv=notrunc status=none
"$dir/kat" "$TMP/kat" >"$TMP/other"
is "$(comm -12 <(sort "$TMP/answers") <(sort "$TMP/other") | grep -c ' [0-9a-f]\{32,\}$')" 2 \
	"kat: one byte changes every answer that depends on the input (not the key agreement, not the short signature)"
like "$(cat "$TMP/other")" '^p521 native: Verification failure$' "kat: ... and signatures do not verify"
rm "$TMP/kat/rsa.pem"
run "$dir/kat" "$TMP/kat"
is "$((status != 0))" 1 "kat: fails without a key"

# pv-lvz, with a program in the place of the emulator, which writes what the host would.
mkdir -p "$TMP/product/functional"
touch "$TMP/product/qemu-system-loongarch64" "$TMP/kernel"
cat >"$TMP/emulator" <<'SH'
#!/usr/bin/env bash
for arg; do
	[[ $arg != file,id=results,path=* ]] || results=${arg#*path=}
	[[ $arg != file:*host-console.log ]] || console=${arg#file:}
done
echo 'a word of the kernel' >"$console"
. "$FAKE" >"$results"
SH
chmod +x "$TMP/emulator"
export PV_LVZ_QEMU=$TMP/emulator FAKE=$TMP/fake
lvz() {
	printf '%s\n' "$1" >"$FAKE"
	run "$dir/pv-lvz" boot --kernel "$TMP/kernel" --guest-kernel "$TMP/kernel" --product "$TMP/product" --silence 2
}
lvz 'echo "ok 1 - a"; echo 1..1'
is "$status" 0 "pv-lvz: all well"
like "$out" '^ok 1 - a$' "pv-lvz: shows the host's TAP"
lvz 'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2'
is "$status" 1 "pv-lvz: a test failed"
lvz 'echo "ok 1 - a"'
is "$status" 1 "pv-lvz: no plan"
like "$out" '^# a word of the kernel$' "pv-lvz: ... with the host's last words"
lvz 'echo "ok 1 - a"; echo 1..2'
is "$status" 1 "pv-lvz: fewer results than planned"
lvz 'echo "ok 1 - a"; echo 1..1; exit 3'
is "$status" 1 "pv-lvz: the emulator failed"
lvz 'echo "ok 1 - a"; exec sleep 100'
is "$status" 1 "pv-lvz: the host hangs"
like "$out" '^Bail out! The host said nothing for 2 s' "pv-lvz: ... and that is said"
like "$out" '^# a word of the kernel$' "pv-lvz: ... with its last words"
is "$(pgrep -f "$TMP/emulator" || true)" '' "pv-lvz: ... and ended"
done_testing
