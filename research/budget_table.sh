#!/bin/sh
# Whether `llwlc fit` keeps its budgets (issue 38): 20 networks of the corpus and three generated graphs, budgets of 1, 3
# and 10 minutes, with and without a second busy process for each core from the start. Each fit has two cores of its own.
#
#     LLWLC_DATA=... sh research/budget_table.sh            # sixteen cores: 1, 3, 10 minutes take some 7, 20, 65 minutes
#     USE=tune NETWORKS=2 GENERATED= MINUTES=1 LOADS=0 PROCESSES=1 OUT=try.jsonl sh research/budget_table.sh
#
# A finished fit is not run again, so the same command goes on after an interruption. Nothing else may run beside it.
set -eu
cd "$(dirname "$0")/.."
: "${LLWLC_DATA:?names the data root, which has corpus/networks.tsv}"
PYTHON=${PYTHON:-python} OUT=${OUT:-research/results/budget.jsonl} USE=${USE:-final} NETWORKS=${NETWORKS:-20}
GENERATED=${GENERATED-powerlaw-10000-20 blocks-1000-200 smallworld-20000-10}
MINUTES=${MINUTES:-1 3 10} LOADS=${LOADS:-1 0} PROCESSES=${PROCESSES:-8}
export PYTHONPATH="$PWD/src:$PWD" PYTHONUNBUFFERED=1
# kernels are compiled once for the machine; otherwise the first fits would do it within their budgets
$PYTHON -m llwlc fit cora --minutes 3 --out "$(mktemp -d)/run" > /dev/null
for minutes in $MINUTES; do
    for load in $LOADS; do
        # shellcheck disable=SC2086  # a list of names
        $PYTHON research/benchmarks/budget.py $GENERATED --networks "$NETWORKS" --use "$USE" --minutes "$minutes" \
            --load "$load" --cores 2 --processes "$PROCESSES" --out "$OUT"
    done
done
$PYTHON research/benchmarks/budget.py --kept --out "$OUT"
