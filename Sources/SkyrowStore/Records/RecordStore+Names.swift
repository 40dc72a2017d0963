internal import SkyrowModel
internal import SkyrowPostgres
internal import Synchronization

/// Names in the database that a request may use.
enum DatabaseNames: Hashable, Sendable {
    case timeZones
    /// The languages whose sort order texts can have: those of the ICU collations that PostgreSQL provides.
    case languages

    fileprivate var question: SQL {
        switch self {
        case .timeZones: "SELECT name FROM pg_catalog.pg_timezone_names"
        case .languages:
            """
            SELECT left(collname, -6) FROM pg_catalog.pg_collation
            WHERE collprovider = 'i' AND collnamespace = 'pg_catalog'::regnamespace AND collname LIKE '%-x-icu'
            """
        }
    }
}

extension RecordStore {
    /// Returns the names, which are read once: PostgreSQL reads a file for each time zone.
    func names(of kind: DatabaseNames) async throws -> Set<String> {
        if let known = knownNames.withLock({ $0[kind] }) { return known }
        let result = try await client.read(kind.question)
        let names = Set(try result.decodeColumn(0, as: String.self))
        knownNames.withLock { $0[kind] = names }
        return names
    }

    /// Throws `108 InvalidArgument` for a sort order in a language that the database does not have.
    func checkLanguages(of query: RecordQuery) async throws {
        try await checkLanguages(of: query.sort, at: "sort")
        for inclusion in query.include where !inclusion.sort.isEmpty {
            try await checkLanguages(of: inclusion.sort, at: "include.\(inclusion.name).sort")
        }
    }

    private func checkLanguages(of sort: [SortKey], at path: String) async throws {
        for (place, key) in sort.enumerated() {
            guard case .collate(let language)? = key.function else { continue }
            guard try await names(of: .languages).contains(language) else {
                throw SkyrowError.invalidArgument(
                    "The database has no collation for this language.",
                    "sort",
                    String(language.prefix(64))
                ).at(3).at(0).at(place).at(path)
            }
        }
    }
}
