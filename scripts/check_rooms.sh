#!/usr/bin/env bash
# The rooms of src/ from lowest to highest: a file may include its own room and lower ones, nothing above. Exit 1 names each breach.
set -euo pipefail
root=${1:-.}
rooms=(base tensor spec data schedule kernels observe model optim checkpoint train cli)

declare -A rank
for i in "${!rooms[@]}"; do rank[${rooms[$i]}]=$i; done
breaches=0
for folder in "$root"/src/*/; do
    room=$(basename "$folder")
    if [ -z "${rank[$room]:-}" ]; then echo "src/$room is not in the list of rooms"; breaches=1; fi
done
while IFS=: read -r file _ line; do
    room=${file#"$root"/src/}
    room=${room%%/*}
    target=$(sed -E 's/.*#include "([^"]+)".*/\1/' <<<"$line")
    target=${target%%/*}
    if [ -z "${rank[$target]:-}" ]; then
        echo "$file includes \"$target/...\", which is no room"; breaches=1
    elif [ "${rank[$target]}" -gt "${rank[$room]}" ]; then
        echo "$file: $room may not include $target"; breaches=1
    fi
done < <(grep -rnE '^ *#include "' "$root/src" --include='*.h' --include='*.cpp')
[ "$breaches" = 0 ] && echo "include order of the rooms: fine"
exit "$breaches"
