#!/bin/sh
# Install what the tests of the report page and of the JavaScript module need, where that can be done without asking: Chromium
# and Firefox as root on a system with apt, axe-core and terser where npm is. Elsewhere say what to do; the
# tests are then skipped.
set -eu
cd "$(dirname "$0")/.."

missing=''
found() {
    for name in "$@"; do
        command -v "$name" >/dev/null 2>&1 && return 0
    done
    return 1
}
found chromium chromium-browser google-chrome google-chrome-stable || missing="chromium fonts-liberation"
found firefox-esr firefox || missing="$missing firefox-esr"
found node || missing="$missing nodejs"

if [ -n "$missing" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    # With an index that is there already the download may work at once.
    export DEBIAN_FRONTEND=noninteractive
    install="apt-get install -y -q --no-install-recommends $missing"
    if $install >/dev/null 2>&1 || { apt-get update -q >/dev/null && $install >/dev/null; }; then
        missing=''
    fi
fi
if [ -n "$missing" ]; then
    echo "The tests of the report page need a browser: install $missing (Debian: apt-get install" \
        "chromium firefox-esr). Without it they are skipped." >&2
fi

if [ ! -f node_modules/.bin/terser ] && command -v npm >/dev/null 2>&1; then
    npm install --no-save --no-audit --no-fund --silent axe-core@4 terser@5 >/dev/null 2>&1 ||
        echo "npm could not install axe-core and terser: their tests are skipped." >&2
fi
exit 0
