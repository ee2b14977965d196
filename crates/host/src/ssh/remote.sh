# shellcheck shell=sh
# The shell on the other machine. It reads scripts from descriptor 3, prints their results on
# standard output, and removes its resources when the session ends. It needs only POSIX.
# shellcheck disable=SC2154 # The first line that is sent sets MARK and N.

LC_ALL=C
export LC_ALL
unset GREP_OPTIONS TAR_OPTIONS CDPATH ENV
# The path is that of the login, which may lack the directories of system programs.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH
umask 022

# The running job; the lines that undo the cell and the run, newest first; the directory of the run.
JOB='' UNDO_CELL='' UNDO_RUN='' D=''

# Kills a process and its descendants.
end_all() {
  children=$(ps -A -o ppid,pid | while read -r parent child; do
    [ "$parent" = "$1" ] && echo "$child"
  done)
  kill -KILL "$1"
  for child in $children; do end_all "$child"; done
}

# Registers the line that undoes the next action.
undo() {
  UNDO_CELL=$1$N$UNDO_CELL
}

# Undoes the cell. A line that fails sets R; later lines then keep the resources that are in use.
undo_cell() {
  R=0
  eval "$UNDO_CELL"
  UNDO_CELL=''
  return "$R"
}

# Unmounts, with retries: a process that was just killed may still hold the mount.
unmount() {
  for pause in 0 1 1 2 3; do
    sleep "$pause"
    umount "$1" && return 0
  done
  return 1
}

# Ends the session.
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

# Prints a result: the mark, the status, the lengths of the ends of both outputs, and these ends.
answer() {
  tail -c 65536 "$D/out" >"$D/out.end"
  tail -c 65536 "$D/err" >"$D/err.end"
  printf '%s %s %s %s\n' "$MARK" "$1" "$(($(wc -c <"$D/out.end")))" "$(($(wc -c <"$D/err.end")))"
  cat "$D/out.end" "$D/err.end"
}

# Creates the directory of this run.
begin() {
  message=$(mkdir "$1" 2>&1)
  status=$?
  if [ "$status" = 0 ]; then
    D=$1
    # shellcheck disable=SC2016 # Expanded when it runs.
    UNDO_RUN='rm -rf "$D"'
  fi
  printf '%s %s 0 %s\n%s' "$MARK" "$status" "$(($(printf %s "$message" | wc -c)))" "$message"
}

# Runs a short script in this shell: it may set variables.
here() {
  { eval "$1"; } >"$D/out" 2>"$D/err" 3<&-
  answer "$?"
}

# Runs a long script in a subshell. Meanwhile another one detects the end of the connection.
job() {
  (eval "$1") >"$D/out" 2>"$D/err" </dev/null 3<&- &
  JOB=$!
  (
    read -r _ <&3
    kill -TERM "$$"
  ) >/dev/null 2>&1 &
  watcher=$!
  wait "$JOB"
  status=$?
  JOB=''
  # A signal that can be trapped is lost if it arrives before the subshell has dropped the traps of
  # this shell.
  kill -KILL "$watcher"
  wait "$watcher"
  answer "$status"
} 2>/dev/null
