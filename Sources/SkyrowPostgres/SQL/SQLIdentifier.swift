/// The name of a table, column or other object, which SQL text can only contain quoted.
///
/// ```swift
/// let table = try SQLIdentifier("note")
/// let statement: SQL = "SELECT count(*) FROM \(table)"   // SELECT count(*) FROM "note"
/// ```
package struct SQLIdentifier: Hashable, Sendable {
    /// The longest name in bytes of UTF-8; PostgreSQL would cut a longer one off (NAMEDATALEN - 1).
    package static let maximumLength = 63

    /// The name as the catalog holds it.
    package let name: String

    /// The name between double quotes, its own doubled.
    package let quoted: String

    /// Takes a name as it is, upper case and punctuation included.
    ///
    /// - Throws: ``PostgresError`` with the code `invalidValue` when the name is empty, longer than 63 bytes or
    ///   holds a NUL byte.
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

    /// The place of a value among those of a statement, counted from 0, as a column's name: `v1`, `v2` and so on.
    package init(valueAt place: Int) {
        self.init(checked: "v\(place + 1)")
    }

    /// The place of a sort key among those of a query, counted from 0, as a column's name: `_k1`, `_k2` and so on.
    package init(sortKeyAt place: Int) {
        self.init(checked: "_k\(place + 1)")
    }

    /// `s1`, the alias of the records of a query inside of another; `s1j2` of the second that it joins to them.
    package init(subqueryAt number: Int, join: Int? = nil) {
        self.init(checked: join.map { "s\(number)j\($0)" } ?? "s\(number)")
    }

    /// `related1`, what a statement adds to the first of some relations.
    package init(relationAt number: Int) {
        self.init(checked: "related\(number)")
    }

    /// `m1`, the alias of the rows of a relation beside the records `s1`, or `m` beside those that are asked about.
    package init(membersAt number: Int?) {
        self.init(checked: number.map { "m\($0)" } ?? "m")
    }

    /// `sv-x-icu`, the collation that PostgreSQL makes for a language of ICU's.
    package init(collationOf language: String) {
        self.init(checked: "\(language)-x-icu")
    }

    /// `skyrow_app_1f…`, a replication slot: lower-case letters, digits and underscores.
    init(slotOf readable: String, _ random: UInt64) {
        let prefix = readable.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }.prefix(40)
        self.init(checked: "\(String(prefix))_\(String(random, radix: 16))")
    }

    /// `app_internal`, the schema of the reserved tables of the application in `app`.
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

    /// A name written in the source code; a wrong one is a programmer's error and stops the process.
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
