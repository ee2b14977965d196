# shellcheck shell=sh
# What runs on the other machine: a shell that does what it is told on descriptor 3, answers on
# standard output, and undoes what it made when it is left. POSIX, and nothing installed.
# shellcheck disable=SC2154 # MARK and N come with the first line that is said.

LC_ALL=C
export LC_ALL
unset GREP_OPTIONS TAR_OPTIONS CDPATH ENV
# The login of that machine set the path; system programs may be missing from it.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
umask 022

# The job that runs; what undoes the cell and the run, newest first; the directory of this run.
JOB='' UNDO_CELL='' UNDO_RUN='' D=''

# Ends a process and all that it started.
end_all() {
  children=$(ps -A -o ppid,pid | while read -r parent child; do
    [ "$parent" = "$1" ] && echo "$child"
  done)
  kill -KILL "$1"
  for child in $children; do end_all "$child"; done
}

# Notes what undoes the next act, before it is done.
undo() {
  UNDO_CELL=$1$N$UNDO_CELL
}

# Undoes the cell. What could not be undone keeps what it stands on: R tells.
undo_cell() {
  R=0
  eval "$UNDO_CELL"
  UNDO_CELL=''
  return "$R"
}

# Unmounts, with patience: what was just ended may still hold it.
unmount() {
  for pause in 0 1 1 2 3; do
    sleep "$pause"
    umount "$1" && return 0
  done
  return 1
}

# The end, however it came about.
bye() {
  trap '' HUP INT TERM PIPE
  exec >/dev/null 2>&1
  if [ -n "$JOB" ]; then
    end_all "$JOB"
    wait "$JOB"
  fi
  undo_cell
  for pause in 0 1 2; do
    sleep "$pause"
    eval "$UNDO_RUN" && break
  done
  exit 0
}
trap bye HUP INT TERM PIPE

# Answers: the mark, the status, the lengths of the ends of both outputs, and these.
answer() {
  tail -c 65536 "$D/out" >"$D/out.end"
  tail -c 65536 "$D/err" >"$D/err.end"
  printf '%s %s %s %s\n' "$MARK" "$1" "$(($(wc -c <"$D/out.end")))" "$(($(wc -c <"$D/err.end")))"
  cat "$D/out.end" "$D/err.end"
}

# Makes the directory of this run.
begin() {
  said=$(mkdir "$1" 2>&1)
  status=$?
  if [ "$status" = 0 ]; then
    D=$1
    # shellcheck disable=SC2016 # It is read when it is done.
    UNDO_RUN='rm -rf "$D"'
  fi
  printf '%s %s 0 %s\n%s' "$MARK" "$status" "$(($(printf %s "$said" | wc -c)))" "$said"
}

# Does something short in this shell: it may set variables.
here() {
  { eval "$1"; } >"$D/out" 2>"$D/err" 3<&-
  answer "$?"
}

# Does something long beside this shell, which meanwhile hears whether anybody is still there.
job() {
  (eval "$1") >"$D/out" 2>"$D/err" </dev/null 3<&- &
  JOB=$!
  (
    read -r _ <&3
    kill -TERM "$$"
  ) >/dev/null 2>&1 &
  ear=$!
  wait "$JOB"
  status=$?
  JOB=''
  # A signal that can be trapped is lost where it comes before the new shell has dropped the traps
  # of this one.
  kill -KILL "$ear"
  wait "$ear"
  answer "$status"
} 2>/dev/null
