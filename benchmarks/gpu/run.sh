#!/usr/bin/env bash
# Train, evaluate, serve and measure judges that read texts, on a machine with a GPU.
#
#   benchmarks/gpu/run.sh [STAGE ...]     all stages in their order, or the named ones
#
# A stage takes less than ten minutes on a card of 80 GB; one that was stopped goes on when it is called again,
# one that is done is left out. Environment: PYTHON (default .venv/bin/python), OUT (default checkpoints/gpu),
# CORPORA (default data/corpora), BACKBONE (default smollm2), VLLM (a Python with vLLM; without it nothing is served,
# and that is said), PORT (default 8199). For a miniature: LIMIT and EVAL_LIMIT (pairs), WINDOW (tokens), EPOCHS,
# PAIRS, DECODER_STEPS.
set -euo pipefail
cd "$(dirname "$0")/../.."

PYTHON=${PYTHON:-.venv/bin/python}
OUT=${OUT:-checkpoints/gpu}
CORPORA=${CORPORA:-data/corpora}
BACKBONE=${BACKBONE:-smollm2}
VLLM=${VLLM:-}
PORT=${PORT:-8199}
LIMIT=${LIMIT:+--limit $LIMIT}
EVAL_LIMIT=${EVAL_LIMIT:-200}
PRECISION=${PRECISION:-bf16}
WINDOW=${WINDOW:-1024}
STAGES="memory decoder ranking classification after-ranking throughput gold serve"

mkdir -p "$OUT/tables"
ANNOTATIONS=$OUT/annotations.jsonl
[ -f "$ANNOTATIONS" ] || cat crm/training/{modern_,criteria_,}annotations.jsonl >"$ANNOTATIONS"

# train NAME OPTION ...: unless that is done; goes on where it was stopped.
train() {
  local folder=$OUT/$1 resume=
  shift
  [ -f "$folder/crm.json" ] && return
  [ -f "$folder/options.json" ] && resume=--resume
  # shellcheck disable=SC2086  # LIMIT and resume are words or nothing
  "$PYTHON" -m crm train classifier --out "$folder" --annotations "$ANNOTATIONS" --corpora "$CORPORA" \
    --precision "$PRECISION" --batch 8 --accumulate "${ACCUMULATE:-2}" --lr 1e-4 --head-lr-factor 5 \
    --schedule cosine --group-by-length --evaluations 4 --patience 0 --workers "${WORKERS:-2}" --eval-limit "$EVAL_LIMIT" $LIMIT $resume "$@"
}

# decoder: the language model that reads wishes for the embedded judge.
decoder() {
  [ -f "$OUT/concepts.npz" ] || "$PYTHON" -m crm train decoder --out "$OUT/concepts.npz" ${DECODER_STEPS:+--limit "$DECODER_STEPS"}
  "$PYTHON" -m benchmarks.wish_readings --classifier "$OUT/concepts.npz" --output "$OUT/tables/wish_readings.md"
}
memory() { "$PYTHON" -m benchmarks.gpu.memory --output "$OUT/tables/memory.md"; }
ranking() { train ranking --backbone "$BACKBONE" --loss ranking --epochs "${EPOCHS:-2}" --max-length $((WINDOW * 5 / 8)); }
classification() {
  train classification --backbone "$BACKBONE" --loss classification --epochs "${EPOCHS:-2}" --max-length "$WINDOW"
}
after-ranking() {
  train after-ranking --backbone "$OUT/ranking" --new-head --loss classification --epochs 1 --max-length "$WINDOW"
}

# judges: a file with every judge that is trained already.
judges() {
  for folder in "$OUT"/*/crm.json; do
    printf '[%s]\nbackend = "transformers"\nmodel = "%s"\n' \
      "$(basename "$(dirname "$folder")")" "$(realpath "$(dirname "$folder")")"
  done >"$OUT/crms.toml"
  export USL_CRMS=$OUT/crms.toml
}

throughput() {
  local each
  for each in ranking classification; do
    [ -f "$OUT/$each/crm.json" ] && "$PYTHON" -m benchmarks.gpu.throughput "$OUT/$each" --corpora "$CORPORA" \
      --pairs "${PAIRS:-2000}" --output "$OUT/tables/throughput-$each.md"
  done
}

# gold: against a careful reader's verdicts, which lie beside the corpora.
gold() {
  judges
  local each
  for each in ranking classification; do
    [ -f "$OUT/$each/crm.json" ] && "$PYTHON" -m benchmarks.gold_rankings --crm "$each" --corpora "$CORPORA" \
      --output "$OUT/tables/gold-$each.md"
  done
}

# serve: a vLLM server, and DailyBench ranked through it.
serve() {
  if [ -z "$VLLM" ]; then
    echo "serve: left out, as VLLM names no Python with vLLM"
    return
  fi
  local served=$OUT/ranking
  if curl --silent "http://127.0.0.1:$PORT" >/dev/null; then
    echo "serve: something listens on port $PORT already: name another in PORT" >&2
    return 1
  fi
  "$VLLM" -m vllm.entrypoints.openai.api_server --model "$served" --served-model-name judge --runner pooling \
    --port "$PORT" ${VLLM_OPTIONS:-} >"$OUT/vllm.log" 2>&1 &
  server=$!  # not local: the trap runs outside
  trap 'kill $server 2>/dev/null || true' EXIT
  until curl --silent --fail "http://127.0.0.1:$PORT/health" >/dev/null; do
    kill -0 $server 2>/dev/null || { tail -5 "$OUT/vllm.log" >&2; return 1; }
    sleep 2
  done
  printf '[served]\nbackend = "vllm-server"\nurl = "http://127.0.0.1:%s"\nmodel = "judge"\ntokenizer = "%s"\n' \
    "$PORT" "$(realpath "$served")" >"$OUT/crms.toml"
  export USL_CRMS=$OUT/crms.toml
  "$PYTHON" -m crm doctor served || true  # what it finds is to be read, and hinders nothing
  local started=$SECONDS
  "$PYTHON" -m leaderboard rank --benchmark dailybench --criterion "Concise" --crm served
  echo "serve: DailyBench under one wish in $((SECONDS - started)) s"
  kill $server
  wait $server 2>/dev/null || true
  trap - EXIT
}

for stage in ${*:-$STAGES}; do
  echo "== $stage"
  started=$SECONDS
  "$stage"
  echo "== $stage: $((SECONDS - started)) s"
done
