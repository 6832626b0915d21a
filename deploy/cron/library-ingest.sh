#!/bin/sh
# Starts the monthly ingest of public libraries. cron calls this each hour; it acts in the fifth hour
# of the first day in Seoul, so that neither the machine's zone nor cron's own matters.
#
#   library-ingest.sh SETTINGS         from cron
#   library-ingest.sh SETTINGS now     by hand, whatever the hour and the switch
#
# Ends with the program's exit code. Only 75 (try later) is tried again, twice, an hour apart.
set -eu

settings="${1:-}"
when="${2:-scheduled}"
attempts=3
pause=3600

if [ ! -r "$settings" ] || [ -d "$settings" ]; then
  echo "library-ingest: no settings file '$settings'; usage: library-ingest.sh SETTINGS [now]" >&2
  exit 3
fi
# Without a slash the shell would look for it along PATH.
case "$settings" in */*) ;; *) settings="./$settings" ;; esac

# The file holds the password of the database, so nobody but its owner may read it.
if [ -n "$(find -H "$settings" -prune \( -perm -040 -o -perm -004 \))" ]; then
  echo "library-ingest: $settings is readable by others; chmod 600 it" >&2
  exit 3
fi

set -a
. "$settings"
set +a

if [ "$when" != now ]; then
  [ "${LIBRARY_INGEST_ENABLED:-0}" = 1 ] || exit 0
  # Seoul has no summer time. Written as an offset it needs no zone files, which a machine may lack.
  [ "$(TZ=KST-9 date +%d%H)" = 0104 ] || exit 0
fi

attempt=1
while :; do
  code=0
  collection-pipeline ingest --source library --deactivate-stale --trigger external || code=$?
  if [ "$code" -ne 75 ] || [ "$attempt" -ge "$attempts" ]; then
    exit "$code"
  fi
  attempt=$((attempt + 1))
  sleep "$pause"
done
