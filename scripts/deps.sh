#!/usr/bin/env bash
# Installs what Longhaul is built and tested with on Debian 12. The one place that lists packages.
#   scripts/deps.sh          what `make build` and `make demo` need
#   scripts/deps.sh test     also what the tests and checks need
set -euo pipefail

build=(
    g++ cmake ninja-build ccache pkg-config make
    libdnnl-dev libhwy-dev           # matrix products, vector kernels
    libtomlplusplus-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libxxhash-dev
    libpcre2-dev libutf8proc-dev libsentencepiece-dev  # tokenizers
    zlib1g-dev libzstd-dev           # compressed text
    libgtest-dev libgmock-dev
    dict-gcide                       # 40 MB of English text for the demonstration
)
test=(
    clang-14 libclang-rt-14-dev      # fuzz targets
    clang-format clang-tidy
    bible-kjv bible-kjv-text         # text of the tokenizer's golden corpora
    zstd gzip
)

wanted=("${build[@]}")
[ "${1:-}" = test ] && wanted+=("${test[@]}")

missing=()
for package in "${wanted[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} = 0 ] && exit 0

sudo=()
[ "$(id -u)" = 0 ] || sudo=(sudo)
echo "installing: ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
