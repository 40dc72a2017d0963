internal import SkyrowModel
package import SkyrowPostgres

/// The extension that indexes of the kind `trigram` need.
///
/// pg_trgm is a trusted extension: a role that may create in the database can create it without being a superuser.
package enum Trigrams {
    /// The constraint name that marks a refusal of ``requirement``.
    private static let mark = "_pg_trgm"

    /// Creates the extension if it is missing, in a separate schema. A schema of another role is not used, since the
    /// extension's functions would be called with the rights of the querying role.
    package static let requirement = SQL(
        trustedText: """
            DO $trigrams$
            BEGIN
                IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_trgm') THEN
                    RETURN;
                END IF;
                IF EXISTS (
                    SELECT FROM pg_catalog.pg_namespace
                    WHERE nspname = 'trigrams' AND pg_catalog.pg_get_userbyid(nspowner) <> current_user
                ) THEN
                    RAISE insufficient_privilege USING MESSAGE = 'The schema trigrams belongs to another role';
                END IF;
                CREATE SCHEMA IF NOT EXISTS trigrams;
                CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA trigrams;
                GRANT USAGE ON SCHEMA trigrams TO PUBLIC;
            EXCEPTION
                WHEN feature_not_supported OR undefined_file OR undefined_object OR insufficient_privilege THEN
                    RAISE EXCEPTION USING
                        ERRCODE = 'feature_not_supported', CONSTRAINT = '\(mark)', MESSAGE = SQLERRM;
            END $trigrams$
            """
    )

    /// Whether the statements of a dump, which may quote all names, expect the schema of ``requirement``, which they do not
    /// create.
    package static func isNeeded(by script: String) -> Bool {
        script.contains("pg_trgm WITH SCHEMA trigrams;") || script.contains("\"pg_trgm\" WITH SCHEMA \"trigrams\";")
    }

    /// `108 InvalidArgument` if the extension is not available; nil for any other failure.
    static func refusal(_ error: PostgresError) -> SkyrowError? {
        guard error.sqlState == .featureNotSupported, error.constraint == mark else { return nil }
        return .invalidArgument(
            "An index of the kind trigram requires the extension pg_trgm, which is not installed in this database.",
            "kind"
        )
    }
}
