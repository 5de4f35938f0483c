#!/usr/bin/env bash
# clang-tidy over src/**/*.cpp with the compile commands of the release build; exit 1 after printing every finding.
#   scripts/check_tidy.sh                   all files
#   scripts/check_tidy.sh changed [COMMIT]  only files that differ from COMMIT (default: HEAD), new ones included
# Left out: vector kernels that include themselves once for every instruction set (hwy/foreach_target.h); each takes
# minutes, and most of what is found there is the macros' doing.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/release
[ -f $build/compile_commands.json ] || { echo "$build/compile_commands.json is missing: cmake --preset release" >&2; exit 1; }
command -v clang-tidy >/dev/null || { echo "clang-tidy is missing: scripts/deps.sh test" >&2; exit 1; }

case ${1:-all} in
    all) mapfile -t files < <(find src -name '*.cpp' | sort) ;;
    changed)
        mapfile -t files < <({ git diff --name-only --diff-filter=d "${2:-HEAD}" -- 'src/*.cpp'
            git ls-files --others --exclude-standard -- 'src/*.cpp'; } | sort -u) ;;
    *) echo "usage: $0 [all | changed [COMMIT]]" >&2; exit 2 ;;
esac
[ ${#files[@]} -gt 0 ] || { echo "clang-tidy: no file to check"; exit 0; }
mapfile -t files < <(grep -L 'hwy/foreach_target.h' "${files[@]}" || true)

# A file's output is printed at once, so that files that run side by side don't mix; headers are named by several files.
if ! printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} sh -c \
    'out=$(clang-tidy --quiet -p "$1" "$2" 2>/dev/null) || { printf "%s\n" "${out:-$2: clang-tidy failed}"; exit 1; }' _ $build {}; then
    echo "clang-tidy: findings above"
    exit 1
fi
echo "clang-tidy: ${#files[@]} files, fine"
