#!/bin/sh
# Is the data plane of one commit slower than that of another? Measures both in turn, without hardware, as root:
#   measure.sh OLD NEW [OPTION of keisoku ab…]
# OLD and NEW are commits of the repository in which it is started; DATAPLANE is the path of the source in them.
# Writes ab/ (a run), junit.xml, summary.md and annotations.txt. Exit code as of 'keisoku ab': 0 not slower, 1 slower,
# 2 undecided.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
old=$1 new=$2
shift 2
: "${DATAPLANE:=examples/ci/dataplane/forward.c}" "${KEISOKU:=keisoku}" "${OUT:=ci-results}"
: "${MEASURE:=cost}" # or such as 'latency --rate 2kpps --figure min …'
mkdir -p "$OUT"
git show "$old:$DATAPLANE" >"$OUT/old.c"
git show "$new:$DATAPLANE" >"$OUT/new.c"
trap '"$here/dataplane.sh" down' EXIT
trap 'exit 2' INT TERM HUP # dash leaves out EXIT's trap otherwise
"$here/dataplane.sh" up
"$here/dataplane.sh" build "$OUT/old.c" "$OUT/old.o"
"$here/dataplane.sh" build "$OUT/new.c" "$OUT/new.o"
"$here/dataplane.sh" load "$OUT/old.o" # so that the first look at the ports finds a data plane
code=0
# Options that come last replace those before them.
# shellcheck disable=SC2086  # words
$KEISOKU ab $MEASURE --tx xdp:kci0 --rx xdp:kci1 --size 64 \
    --before-a "$here/dataplane.sh load $OUT/old.o" --before-b "$here/dataplane.sh load $OUT/new.o" \
    --margin 5% --within 2min --out "$OUT/ab" "$@" || code=$?
if [ -e "$OUT/ab/result.json" ]; then
    $KEISOKU export "$OUT/ab" --format junit --out "$OUT/junit.xml"
    $KEISOKU export "$OUT/ab" --format markdown --out "$OUT/summary.md"
    $KEISOKU export "$OUT/ab" --format annotations --out "$OUT/annotations.txt"
fi
exit $code
