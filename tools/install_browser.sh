#!/bin/sh
# Install Chromium for the tests of the report page, where that can be done without asking:
# as root on a system with apt. Elsewhere say what to do; the tests are then skipped.
set -eu

for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null 2>&1; then
        exit 0
    fi
done

if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    # With an index that is there already the download may work at once.
    export DEBIAN_FRONTEND=noninteractive
    install='apt-get install -y -q --no-install-recommends chromium fonts-liberation'
    if $install >/dev/null 2>&1 || { apt-get update -q >/dev/null && $install >/dev/null; }; then
        exit 0
    fi
    echo "Chromium could not be installed with apt-get." >&2
fi

echo "The tests of the report page need Chromium: install the package 'chromium' of your" \
    "system (Debian: apt-get install chromium). Without it they are skipped." >&2
exit 0
