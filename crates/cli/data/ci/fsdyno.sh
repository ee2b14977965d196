#!/bin/sh
# Measures the kernel of this commit in virtual time, compares it with the kernel of the base revision,
# and writes a site of all results. Written by `fsdyno ci init`; it is yours to change.
#
# Exit code: 0 no threshold is exceeded; 5 one is; anything else is an error.
#
# Settings, from the environment:
#   BASE     revision to compare with; the merge base with it is measured    [@BASE@]
#   FAIL_IF  thresholds of `fsdyno compare`, one on each line                 [*.durable > 1.02]
#   STORE    store of all results: keep it, so that a base is measured once   [fsdyno.db]
#   SITE     directory of the site                                            [fsdyno-site]
#   PLAN     cells to measure                                                 [ci/fsdyno.toml]
#   KERNEL   program that prints the path of the kernel of the revision `$1`  [fsdyno lab build]
#   FSDYNO   fsdyno                                                           [fsdyno]
set -eu

cd "$(dirname "$0")/.."
: "${BASE:=@BASE@}"
: "${FAIL_IF:=*.durable > 1.02}"
: "${STORE:=fsdyno.db}"
: "${SITE:=fsdyno-site}"
: "${PLAN:=ci/fsdyno.toml}"
: "${KERNEL:=}"
: "${FSDYNO:=fsdyno}"

# Other cells are other runs.
cells=$(cksum <"$PLAN" | cut -d ' ' -f 1)

kernel_of() {
    if [ -n "$KERNEL" ]; then
        "$KERNEL" "$1"
    else
        "$FSDYNO" lab build "git:$PWD#$1"
    fi
}

is_measured() {
    "$FSDYNO" --store "$STORE" runs --json 2>/dev/null | grep -q "\"id\": \"$1\""
}

# Measures a revision, unless the store has it.
measure() {
    name="ci-$1-$cells"
    if is_measured "$name"; then
        echo "$name is in $STORE"
        return
    fi
    kernel=$(kernel_of "$1")
    "$FSDYNO" --store "$STORE" run --plan "$PLAN" --guest-kernel "$kernel"
    "$FSDYNO" --store "$STORE" runs name last "$name"
    "$FSDYNO" --store "$STORE" runs tag "$name" ci "commit-$1"
}

head=$(git rev-parse --verify HEAD)
base=$(git merge-base "$BASE" "$head")
measure "$base"
measure "$head"

status=0
if [ "$base" != "$head" ]; then
    set --
    while IFS= read -r threshold; do
        if [ -n "$threshold" ]; then
            set -- "$@" --fail-if "$threshold"
        fi
    done <<LINES
$FAIL_IF
LINES
    "$FSDYNO" --store "$STORE" compare "ci-$base-$cells" "ci-$head-$cells" "$@" || status=$?
fi

"$FSDYNO" --store "$STORE" site "$SITE"
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    "$FSDYNO" --store "$STORE" history --by commit --tag ci --format markdown >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
