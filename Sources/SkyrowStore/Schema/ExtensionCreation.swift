/// Returns PL/pgSQL that creates an extension in a schema that has nothing else, with the rights of the role that runs it.
///
/// A schema of another role is not used: that role could put functions there, which the extension's script and later queries
/// would call.
func creation(ofExtension name: String, in schema: String) -> String {
    """
    IF EXISTS (
        SELECT FROM pg_catalog.pg_namespace
        WHERE nspname = '\(schema)' AND pg_catalog.pg_get_userbyid(nspowner) <> current_user
    ) THEN
        RAISE insufficient_privilege USING MESSAGE = 'The schema \(schema) belongs to another role';
    END IF;
    CREATE SCHEMA IF NOT EXISTS \(schema);
    CREATE EXTENSION IF NOT EXISTS \(name) SCHEMA \(schema);
    GRANT USAGE ON SCHEMA \(schema) TO PUBLIC;
    """
}
