#!/bin/sh
# The files that compose.yaml reads: new random passwords, the two addresses with these in them, a
# token for the operations service, and empty files for keys that you may have. What is there stays.
#   sudo sh make-secrets.sh [FOLDER [DATABASE_HOST]]
#
# The folder admits root alone. The files in it may be read by all: a container sees single files,
# mounted past the folder, under a user of its own.
set -eu
folder=${1:-/etc/collection-pipeline/secrets}
host=${2:-mysql}
# Beside the folder of secrets stand files that every service reads.
umask 022
mkdir -p "$(dirname "$folder")"
umask 077
mkdir -p "$folder"
chmod 700 "$folder"
cd "$folder"

random() {
  od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

# Written beside its place and moved there, so that a file is whole or missing.
keep() {
  if [ ! -e "$1" ]; then
    cat > ".$1.new"
    chmod 444 ".$1.new"
    mv ".$1.new" "$1"
  fi
}

for name in mysql_root_password collection_password dagster_password operations_token; do
  random | keep "$name"
done
options='connect_timeout=10&read_timeout=30&write_timeout=30'
printf 'mysql+pymysql://collection:%s@%s:3306/collection?%s' \
  "$(cat collection_password)" "$host" "$options" | keep database_url
printf 'mysql+pymysql://collection_dagster:%s@%s:3306/collection_dagster?%s' \
  "$(cat dagster_password)" "$host" "$options" | keep dagster_database_url
for name in saramin_access_key library_service_key webhook_url; do
  printf '' | keep "$name"
done
