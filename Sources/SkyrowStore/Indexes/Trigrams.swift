internal import SkyrowModel
package import SkyrowPostgres

/// The extension that indexes of the kind `trigram` need.
///
/// pg_trgm is a trusted extension: a role that may create in the database can create it without being a superuser.
package enum Trigrams {
    /// The constraint name that marks a refusal of ``requirement``.
    private static let mark = "_pg_trgm"

    /// Creates the extension if it is missing, in a separate schema.
    package static let requirement = SQL(
        trustedText: """
            DO $trigrams$
            BEGIN
                IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'pg_trgm') THEN
                    RETURN;
                END IF;
                \(creation(ofExtension: "pg_trgm", in: "trigrams"))
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
