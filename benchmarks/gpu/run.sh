#!/usr/bin/env bash
# Install, train, evaluate, serve and measure judges that read texts, on a machine with a GPU.
#
#   benchmarks/gpu/run.sh [STAGE ...]     all stages in their order, or the named ones
#
# A stage takes less than ten minutes on a card of 80 GB; one that was stopped goes on when it is called again,
# one that is done is left out. Environment: PYTHON (default .venv/bin/python), OUT (default checkpoints/gpu),
# CORPORA (default data/corpora), BACKBONE (default smollm2), VLLM (a Python with vLLM, made by the stage install where
# it is not there; default .venv-gpu/bin/python if that is there; without it nothing is served, and that is said; VLLM= is
# without it), PORT (default 8199), WISH (default Concise),
# SERVE_OPTIONS (further ones of the vLLM server), USL_DATABASE_URL (default a file in OUT). For a miniature: LIMIT and
# EVAL_LIMIT (pairs), WINDOW (tokens), EPOCHS, PAIRS, DECODER_STEPS, LLMS, TOPIC. Tables are written to OUT/tables, and
# at the end of each call all of them to OUT/report.md, with the seconds of each stage (those of its longest call).
# What “crm doctor” says of the served judge is in OUT/doctor.txt.
set -euo pipefail
cd "$(dirname "$0")/../.."

PYTHON=${PYTHON:-.venv/bin/python}
OUT=${OUT:-checkpoints/gpu}
CORPORA=${CORPORA:-data/corpora}
BACKBONE=${BACKBONE:-smollm2}
[ ! -x .venv-gpu/bin/python ] || VLLM=${VLLM-.venv-gpu/bin/python}
VLLM=${VLLM:-}
PORT=${PORT:-8199}
LIMIT=${LIMIT:+--limit $LIMIT}
EVAL_LIMIT=${EVAL_LIMIT:-200}
PRECISION=${PRECISION:-bf16}
WINDOW=${WINDOW:-1024}
WISH=${WISH:-Concise}
STAGES="install smoke memory decoder ranking classification after-ranking evaluate throughput gold alpaca serve actors"

mkdir -p "$OUT/tables" "$OUT/seconds"
export USL_DATABASE_URL=${USL_DATABASE_URL:-sqlite:///$(realpath "$OUT")/usl.sqlite3}
ANNOTATIONS=$OUT/annotations.jsonl
[ -f "$ANNOTATIONS" ] || cat crm/training/{modern_,criteria_,}annotations.jsonl >"$ANNOTATIONS"

# environment PYTHON: made where it is not there.
environment() { command -v "$1" >/dev/null || python3.11 -m venv "${1%/bin/*}"; }
# add PYTHON OPTION ...: what is there already stays, and needs no network.
add() {
  local python=$1
  shift
  "$python" -m pip install --quiet --disable-pip-version-check "$@"
}

# install: what trains and evaluates, and, where VLLM is named, vLLM with Ray beside it.
install() {
  environment "$PYTHON"
  add "$PYTHON" --requirement requirements-train.txt --requirement requirements-ray.txt
  add "$PYTHON" --no-deps --requirement requirements-weights.txt
  [ -n "$VLLM" ] || return 0
  environment "$VLLM"
  "$VLLM" -c 'import vllm' 2>/dev/null || add "$VLLM" --requirement requirements-gpu.txt
  add "$VLLM" "$(grep '^ray' requirements-ray.txt)"
}

# smoke: seconds that tell whether the stages can run.
smoke() {
  "$PYTHON" -m benchmarks.gpu.smoke --output "$OUT/tables/smoke.md"
  [ -z "$VLLM" ] || "$VLLM" -c 'import ray, vllm; print("vLLM", vllm.__version__, "and Ray", ray.__version__)'
}

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

# trained: the judges that are trained already.
trained() {
  local each
  for each in ranking classification after-ranking; do
    [ ! -f "$OUT/$each/crm.json" ] || echo "$each"
  done
}

# judges: a file with all of them.
judges() {
  local each
  for each in $(trained); do
    printf '[%s]\nbackend = "transformers"\nmodel = "%s"\n' "$each" "$(realpath "$OUT/$each")"
  done >"$OUT/crms.toml"
  export USL_CRMS=$OUT/crms.toml
}

# evaluate: all judges and two references on the annotators' choice, in pairs that were kept apart from training.
evaluate() {
  local each sets=$OUT/evaluation-sets reports=()
  judges
  [ -f "$sets/manifest.json" ] ||
    "$PYTHON" -m crm evaluation-sets "$ANNOTATIONS" --corpora "$CORPORA" --out "$sets"
  for each in $(trained) embedded longer; do
    reports+=("$OUT/reports/$each.json")
    [ -f "$OUT/reports/$each.json" ] ||
      "$PYTHON" -m crm evaluate "$sets" --crm "$each" --no-references --limit "$EVAL_LIMIT" --save "$OUT/reports/$each.json"
  done
  "$PYTHON" -m benchmarks.gpu.evaluation "${reports[@]}" --output "$OUT/tables/evaluation.md"
}

throughput() {
  local each
  for each in $(trained); do
    "$PYTHON" -m benchmarks.gpu.throughput "$OUT/$each" --corpora "$CORPORA" --pairs "${PAIRS:-2000}" \
      --output "$OUT/tables/throughput-$each.md"
  done
}

# gold: against a careful reader's verdicts, which lie beside the corpora.
gold() {
  local each
  judges
  for each in $(trained); do
    "$PYTHON" -m benchmarks.gold_rankings --crm "$each" --corpora "$CORPORA" --output "$OUT/tables/gold-$each.md"
  done
}

# ranked TABLE PYTHON JUDGE OPTION ...: unless that table is there; goes on where it was stopped.
ranked() {
  local table=$OUT/tables/$1.md python=$2
  shift 2
  [ -f "$table" ] ||
    "$python" -m benchmarks.gpu.ranking "$@" --criterion "$WISH" ${TOPIC:+--topic "$TOPIC"} --output "$table"
}

# alpaca: 32 LLMs on AlpacaEval's 805 instructions, with the corpora's texts.
alpaca() {
  judges
  ranked alpaca-eval "$PYTHON" ranking --benchmark alpaca-eval --texts "$CORPORA/alpaca_eval/results" --llms "${LLMS:-32}"
}

# gpus: how many there are. Without any, vLLM runs on the CPU, and its cache takes a GB instead of most of the memory.
gpus() {
  "$PYTHON" -c 'import torch; print(torch.cuda.device_count())'
}

# serve: a vLLM server, and DailyBench ranked through it.
serve() {
  if [ -z "$VLLM" ]; then
    echo "serve: left out, as VLLM names no Python with vLLM"
    return
  fi
  [ ! -f "$OUT/tables/serve.md" ] || return 0
  local served=$OUT/ranking on_cpu=
  if [ "$(gpus)" = 0 ]; then
    on_cpu='--dtype bfloat16 --enforce-eager'
    export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1}
  fi
  if curl --silent "http://127.0.0.1:$PORT" >/dev/null; then
    echo "serve: something listens on port $PORT already: name another in PORT" >&2
    return 1
  fi
  # What “vllm serve” runs; that command itself does not start where vLLM is the package vllm-cpu.
  # shellcheck disable=SC2086  # options are words
  "$VLLM" -m vllm.entrypoints.openai.api_server --model "$served" --served-model-name judge --runner pooling \
    --host 127.0.0.1 --port "$PORT" $on_cpu ${SERVE_OPTIONS:-} >"$OUT/vllm.log" 2>&1 &
  server=$!  # not local: the trap runs outside
  trap 'kill $server 2>/dev/null || true' EXIT
  until curl --silent --fail "http://127.0.0.1:$PORT/health" >/dev/null; do
    kill -0 $server 2>/dev/null || { tail -5 "$OUT/vllm.log" >&2; return 1; }
    sleep 2
  done
  printf '[served]\nbackend = "vllm-server"\nurl = "http://127.0.0.1:%s"\nmodel = "judge"\ntokenizer = "%s"\n' \
    "$PORT" "$(realpath "$served")" >"$OUT/served.toml"
  export USL_CRMS=$OUT/served.toml
  # What it finds is to be read, and hinders nothing; that there is no report does.
  "$PYTHON" -m crm doctor served >"$OUT/doctor.txt" || [ -s "$OUT/doctor.txt" ]
  cat "$OUT/doctor.txt"
  ranked serve "$PYTHON" served
  kill $server
  wait $server 2>/dev/null || true
  trap - EXIT
}

# actors: DailyBench ranked by two actors of Ray, each with a vLLM of its own, on a GPU each or on halves of one;
# without vLLM PyTorch judges in them.
actors() {
  local python=$PYTHON backend=transformers keys='' gpus share=0
  if [ -n "$VLLM" ]; then
    python=$VLLM backend=vllm
  else
    echo "actors: with PyTorch, as VLLM names no Python with vLLM"
  fi
  [ ! -f "$OUT/tables/actors-$backend.md" ] || return 0
  gpus=$(gpus)
  case $gpus in 0) export VLLM_CPU_KVCACHE_SPACE=${VLLM_CPU_KVCACHE_SPACE:-1} ;; 1) share=0.5 ;; *) share=1 ;; esac
  case $backend-$gpus in
    vllm-0) keys='dtype = "bfloat16"\nenforce_eager = true\n' ;;
    vllm-1) keys='gpu_memory = 0.4\n' ;;
  esac
  printf "[actor-$backend]\nbackend = \"$backend\"\nmodel = \"%s\"\n$keys" "$(realpath "$OUT/ranking")" >"$OUT/actors.toml"
  export USL_CRMS=$OUT/actors.toml
  ranked "actors-$backend" "$python" "actor-$backend" --actors 2 --actor-gpus $share
}

# report: all tables one below the other, the seconds of the stages first.
report() {
  local stage table
  {
    printf '# Judges trained, served and measured: every table\n\n## Seconds\n\n| stage | seconds |\n| --- | ---: |\n'
    for stage in $STAGES; do
      [ ! -f "$OUT/seconds/$stage" ] || printf '| %s | %s |\n' "$stage" "$(cat "$OUT/seconds/$stage")"
    done
    for table in "$OUT"/tables/*.md; do
      [ ! -f "$table" ] || { echo && sed 's/^#/##/' "$table"; }
    done
  } >"$OUT/report.md"
}

for stage in ${*:-$STAGES}; do
  echo "== $stage"
  started=$SECONDS
  "$stage"
  took=$((SECONDS - started))
  echo "== $stage: $took s"
  # One that is done already takes no time: what it took before is to stay.
  [ "$took" -lt "$(cat "$OUT/seconds/$stage" 2>/dev/null || echo 0)" ] || echo "$took" >"$OUT/seconds/$stage"
done
report
