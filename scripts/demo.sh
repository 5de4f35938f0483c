#!/usr/bin/env bash
# The demonstration: a tokenizer, packed data, a small model trained in two parts (the second resumes the first), and text from it.
# Everything is written under demo/; run again, it starts over.
set -euo pipefail
cd "$(dirname "$0")/.."
longhaul=build/release/longhaul
text=/usr/share/dictd/gcide.dict.dz
say() { printf '\n== %s\n' "$*" >&2; }

[ -r "$text" ] || { echo "$text is missing: install Debian's package dict-gcide (scripts/deps.sh does)" >&2; exit 1; }
rm -rf demo
mkdir -p demo

say "1/5 A byte-pair tokenizer of 8,192 tokens, trained on 40 MB of English (the GNU Collaborative International Dictionary)"
$longhaul tokenizer train --type bpe --vocab-size 8192 --out demo/tokenizer.json "$text"

say "2/5 The text as token ids, 2% of its documents held out"
$longhaul data pack --tokenizer demo/tokenizer.json --out demo/gcide --document-separator blank-lines --validation-fraction 0.02 "$text"

say "3/5 Training, first half: watch the loss fall"
$longhaul train configs/demo.toml --run-dir demo/run --set train.steps=240

say "4/5 Second half: the same command with more steps goes on from the checkpoint"
$longhaul train configs/demo.toml --run-dir demo/run

say "5/5 Text from the model"
for prompt in "A small animal of the" "The act of"; do
    $longhaul generate --checkpoint demo/run --prompt "$prompt" --max-tokens 60 --temperature 0.8 --top-k 40 --seed 7
    echo
done
say "Everything is in demo/run: metrics.jsonl, events.jsonl, tensorboard/, checkpoints/"
