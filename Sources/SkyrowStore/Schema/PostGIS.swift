internal import SkyrowModel
package import SkyrowPostgres

/// The extension that provides the column types of `location` and `geometry` fields.
package enum PostGIS {
    /// The constraint name that marks an error of ``requirement``.
    private static let mark = "_postgis"

    static let creation = SkyrowStore.creation(ofExtension: "postgis", in: "postgis")

    /// Creates the extension if it is missing, and makes its types known by their bare names until the transaction ends.
    ///
    /// Only a superuser may create it: in the embedded PostgreSQL a function of the administrator does
    /// (Documentation/Decisions/tables-and-values.md). A function of that name is called only if a superuser owns it,
    /// since elsewhere another role could have created it to be run by a service that is a superuser.
    package static let requirement = SQL(
        trustedText: """
            DO $postgis$
            DECLARE
                home name;
            BEGIN
                SELECT nspname INTO home FROM pg_catalog.pg_extension
                JOIN pg_catalog.pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'postgis';
                IF home IS NULL THEN
                    BEGIN
                        IF EXISTS (
                            SELECT FROM pg_catalog.pg_proc JOIN pg_catalog.pg_roles ON pg_roles.oid = proowner
                            WHERE pg_proc.oid = pg_catalog.to_regprocedure('skyrow_admin.create_postgis()') AND rolsuper
                        ) THEN
                            PERFORM skyrow_admin.create_postgis();
                        ELSE
                            \(creation)
                        END IF;
                    EXCEPTION
                        WHEN feature_not_supported OR undefined_file OR undefined_object OR insufficient_privilege THEN
                            RAISE EXCEPTION USING
                                ERRCODE = 'feature_not_supported', CONSTRAINT = '\(mark)', MESSAGE = SQLERRM;
                    END;
                    home := 'postgis';
                END IF;
                PERFORM set_config(
                    'search_path', concat_ws(', ', nullif(current_setting('search_path'), ''), quote_ident(home)), true
                );
            END $postgis$
            """
    )

    /// Whether a dump, which may quote all names, creates a column of the extension.
    package static func isNeeded(by script: String) -> Bool {
        [
            ".geography(Point,4326)", ".\"geography\"(Point,4326)", ".geometry(Geometry,4326)",
            ".\"geometry\"(Geometry,4326)",
        ].contains { script.contains($0) }
    }

    /// Whether a field type uses a column of the extension.
    static func isNeeded(by type: FieldType) -> Bool { type == .location || type == .geometry }

    /// `108 InvalidArgument` if the extension is unavailable; nil for any other failure.
    static func refusal(_ error: PostgresError) -> SkyrowError? {
        guard error.sqlState == .featureNotSupported, error.constraint == mark else { return nil }
        return SkyrowError(
            .invalidArgument,
            "A field of this type requires PostGIS, which is not installed in this database."
        )
    }
}
