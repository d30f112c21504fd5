#!/bin/sh
# Install compilers and emulators for the tests of C headers, where that can be done without
# asking: as root on a system with apt. Elsewhere say what to do; the tests are then skipped.
set -eu

packages='clang gcc-arm-none-eabi gcc-riscv64-unknown-elf qemu-system-arm qemu-system-misc
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user'
missing=
for name in gcc g++ clang arm-none-eabi-gcc riscv64-unknown-elf-gcc qemu-system-arm qemu-system-riscv32 \
    aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v "$name" >/dev/null 2>&1 || missing="$missing $name"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    # With an index that is there already the download may work at once. Pages of manuals and
    # the like are left out, and nothing is synced to disk: half of the time.
    export DEBIAN_FRONTEND=noninteractive
    install="apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-unsafe-io
        -o Dpkg::Options::=--path-exclude=/usr/share/doc/* gcc g++ $packages"
    if $install >/dev/null 2>&1 || { apt-get update -q >/dev/null && $install >/dev/null; }; then
        exit 0
    fi
    echo "Compilers and emulators could not be installed with apt-get." >&2
fi

echo "The tests of C headers on emulated chips need$missing (Debian: apt-get install gcc g++" \
    "$packages). Without them they are skipped." >&2
exit 0
