/// The name of a table, column or other object, which enters SQL text only in quotes.
///
/// ```swift
/// let table = try SQLIdentifier("note")
/// let statement: SQL = "SELECT count(*) FROM \(table)"   // SELECT count(*) FROM "note"
/// ```
package struct SQLIdentifier: Hashable, Sendable {
    /// The longest name in bytes of UTF-8; PostgreSQL truncates longer ones (NAMEDATALEN - 1).
    package static let maximumLength = 63

    /// The unquoted name, as in the catalog.
    package let name: String

    /// The name between double quotes, with double quotes in it doubled.
    package let quoted: String

    /// Creates an identifier from a name, which may contain upper case and punctuation.
    ///
    /// - Throws: ``PostgresError`` with the code `invalidValue` when the name is
    ///   empty, longer than 63 bytes or contains a NUL byte.
    package init(_ name: String) throws(PostgresError) {
        guard !name.isEmpty else {
            throw PostgresError(code: .invalidValue, message: "An SQL identifier cannot be empty")
        }
        guard name.utf8.count <= Self.maximumLength else {
            throw PostgresError(code: .invalidValue, message: "An SQL identifier has at most 63 bytes")
        }
        guard !name.utf8.contains(0) else {
            throw PostgresError(code: .invalidValue, message: "An SQL identifier cannot contain a NUL byte")
        }
        self.init(checked: name)
    }

    /// The column name of a value, by its index in the statement counted from 0: `v1`, `v2` and so on.
    package init(valueAt place: Int) {
        self.init(checked: "v\(place + 1)")
    }

    /// The column name of a sort key, by its index in the query counted from 0: `_k1`, `_k2` and so on.
    package init(sortKeyAt place: Int) {
        self.init(checked: "_k\(place + 1)")
    }

    /// The alias of the records of a subquery, `s1`; `s1j2` is the second table that it joins to them.
    package init(subqueryAt number: Int, join: Int? = nil) {
        self.init(checked: join.map { "s\(number)j\($0)" } ?? "s\(number)")
    }

    /// The name `related1`, for the rows that a statement adds to the first of its relations.
    package init(relationAt number: Int) {
        self.init(checked: "related\(number)")
    }

    /// The alias of a relation's rows, `m1` beside the records `s1`, or `m` beside the records of the query itself.
    package init(membersAt number: Int?) {
        self.init(checked: number.map { "m\($0)" } ?? "m")
    }

    /// The collation that PostgreSQL creates for an ICU language, `sv-x-icu`.
    package init(collationOf language: String) {
        self.init(checked: "\(language)-x-icu")
    }

    /// The name of a replication slot, `skyrow_app_1f…`: lower-case letters, digits and underscores.
    init(slotOf readable: String, _ random: UInt64) {
        let prefix = readable.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }.prefix(40)
        self.init(checked: "\(String(prefix))_\(String(random, radix: 16))")
    }

    /// The schema of the reserved tables of the application in `app`: `app_internal`.
    init(internal application: SQLIdentifier) {
        self.init(checked: Self.internalName(of: application.name))
    }

    private init(checked name: String) {
        var quoted = "\""
        for character in name.unicodeScalars {
            if character == "\"" { quoted.unicodeScalars.append("\"") }
            quoted.unicodeScalars.append(character)
        }
        quoted += "\""
        self.name = name
        self.quoted = quoted
    }

    package static func == (left: SQLIdentifier, right: SQLIdentifier) -> Bool {
        left.name == right.name
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

extension SQLIdentifier: ExpressibleByStringLiteral {
    package init(stringLiteral value: StaticString) {
        self.init(known: value.description)
    }

    /// Creates an identifier from a name in the source code; an invalid one is a programming error and stops the process.
    package init(known name: String) {
        precondition(
            !name.isEmpty && name.utf8.count <= Self.maximumLength && !name.utf8.contains(0),
            "An SQL identifier has 1 to 63 bytes and no NUL"
        )
        self.init(checked: name)
    }
}

extension SQLIdentifier: CustomStringConvertible {
    package var description: String { quoted }
}
