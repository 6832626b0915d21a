# Read by the image's entry point on the first start of an empty data folder: two databases, each
# with an account of its own that may do nothing else. Passwords come from files and go to the client
# over its standard input; no process shows them among its arguments.

collection_password() {
  secret=$(cat "/run/secrets/$1") || return 1
  # make-secrets.sh writes hexadecimal digits; a quote would end the SQL string.
  case $secret in
    '' | *[!A-Za-z0-9._~-]*)
      echo "mysql-init: the file $1 must hold letters, digits and ._~- only" >&2
      return 1
      ;;
  esac
  printf %s "$secret"
}

queue_password=$(collection_password collection_password) || exit 1
dagster_password=$(collection_password dagster_password) || exit 1

docker_process_sql --database=mysql <<SQL || exit 1
CREATE DATABASE IF NOT EXISTS collection CHARACTER SET utf8mb4;
CREATE DATABASE IF NOT EXISTS collection_dagster CHARACTER SET utf8mb4;
CREATE USER 'collection'@'%' IDENTIFIED BY '$queue_password';
CREATE USER 'collection_dagster'@'%' IDENTIFIED BY '$dagster_password';
GRANT ALL PRIVILEGES ON *.* TO 'collection'@'%';
GRANT ALL PRIVILEGES ON \`collection\\_dagster\`.* TO 'collection_dagster'@'%';
SQL
unset queue_password dagster_password
