#!/usr/bin/env bash
# Runs every libFuzzer target of a build folder for some seconds, as many at once as there are processors.
#   scripts/fuzz.sh BUILD SECONDS
set -euo pipefail
build=${1:?build folder} seconds=${2:-60}
mapfile -t targets < <(find "$build" -type f -executable -name 'fuzz_*' | sort)
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz targets in $build"; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() {
    local target=$1 name
    name=$(basename "$target")
    mkdir -p "$work/$name"
    local seeds="tests/fuzz/corpus/${name#fuzz_}"
    if ! "$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$work/$name-" \
        "$work/$name" $([ -d "$seeds" ] && echo "$seeds") >"$work/$name.log" 2>&1; then
        tail -n 60 "$work/$name.log"
        for artifact in "$work/$name"-*; do [ -e "$artifact" ] && { echo "input ($artifact), base64:"; base64 -w 0 "$artifact" | head -c 4000; echo; }; done
        return 1
    fi
    echo "$name: $(grep -oE 'number_of_executed_units: *[0-9]+' "$work/$name.log" | grep -oE '[0-9]+') inputs in $seconds s, no fault"
}
failed=0
pids=()
for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do sleep 0.2; done
    run "$target" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit $failed
