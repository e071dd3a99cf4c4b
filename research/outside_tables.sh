#!/bin/sh
# Whether probabilities come true on files that lack links (issue 38): the tables of the true and of the default share, and
# the reliability picture, for the networks of use `final` with 500 links or more and the named datasets.
#
#     LLWLC_DATA=... sh research/outside_tables.sh          # sixteen cores: some 20 to 30 minutes
#     USES=tune NETWORKS=football MODELS=adamic-adar SHARES=0.1 HIDINGS=1 PROCESSES=1 OUT=try.jsonl FIGURE=try.png \
#         sh research/outside_tables.sh
#
# Stored trials are not run again, so the same command goes on after an interruption. Share 0.1 comes first.
set -eu
cd "$(dirname "$0")/.."
: "${LLWLC_DATA:?names the data root, which has corpus/networks.tsv}"
PYTHON=${PYTHON:-python} OUT=${OUT:-research/results/outside.jsonl} FIGURE=${FIGURE:-docs/figures/outside.png}
USES=${USES:-final datasets} NETWORKS=${NETWORKS:-} MODELS=${MODELS:-blend} SHARES=${SHARES:-0.1 0.2 0.05}
HIDINGS=${HIDINGS:-5} LINKS=${LINKS:-500} PROCESSES=${PROCESSES:-16}
export PYTHONPATH="$PWD/src:$PWD" PYTHONUNBUFFERED=1 PYTHONWARNINGS=ignore OMP_NUM_THREADS=1 NUMBA_NUM_THREADS=1
set --
for use in $USES; do set -- "$@" --use "$use"; done
for network in $NETWORKS; do set -- "$@" --network "$network"; done
for model in $MODELS; do set -- "$@" --model "$model"; done
for share in $SHARES; do set -- "$@" --share "$share"; done
$PYTHON -m research outside "$@" --links "$LINKS" --hidings "$HIDINGS" --processes "$PROCESSES" --results "$OUT" \
    --figure "$FIGURE"
