# Run by the image of PostgreSQL when it makes its cluster: the service gets a role that owns its database and is no
# superuser, and another one for its stream of changes, which has REPLICATION and no other right.
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<SQL
\set password \`cat /run/secrets/database-password\`
CREATE ROLE skyrow LOGIN PASSWORD :'password';
ALTER DATABASE "$POSTGRES_DB" OWNER TO skyrow;
REVOKE ALL ON DATABASE "$POSTGRES_DB" FROM PUBLIC;
\set password \`cat /run/secrets/replication-password\`
CREATE ROLE skyrow_replication LOGIN REPLICATION PASSWORD :'password';
GRANT CONNECT ON DATABASE "$POSTGRES_DB" TO skyrow_replication;
SQL
