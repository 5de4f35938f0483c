#!/usr/bin/env bash
# Checks src and tests against .clang-format; exit 1 names each file that differs.
#   scripts/check_format.sh          check
#   scripts/check_format.sh --fix    rewrite the files instead
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(find src tests -name '*.h' -o -name '*.cpp' | sort)
if [ "${1:-}" = --fix ]; then
    clang-format -i "${files[@]}"
    exit 0
fi
if ! found=$(printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 24 clang-format --dry-run -Werror 2>&1); then
    bad=$(sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error: .*/  \1/p' <<<"$found" | sort -u)
    if [ -n "$bad" ]; then
        printf 'not formatted (scripts/check_format.sh --fix does it):\n%s\n' "$bad"
    else
        printf '%s\n' "$found"  # no clang-format, or a .clang-format that it can't read
    fi
    exit 1
fi
echo "format: ${#files[@]} files, fine"
