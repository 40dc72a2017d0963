/// What an index supports.
public enum IndexKind: String, Hashable, Sendable, CaseIterable {
    /// Equality, order, ranges, prefixes of texts, and unique values.
    case order
    /// Elements of arrays, and members of JSON objects.
    case contains
    /// Parts of texts, and patterns.
    case trigram
    /// Words of texts.
    case text
    /// Distances from a location.
    case near
    /// Boxes and polygons of locations.
    case box
}

/// A field of an index.
public struct IndexField: Hashable, Sendable {
    /// A field of the record type, or one that all records have, such as `_created_at`.
    public var name: String
    public var direction: SortKey.Direction
    /// Whether the index ignores letter case.
    public var isFolded: Bool
    /// The path from a JSON field to a value inside it; empty for the field itself.
    public var steps: [String] = []
    /// The type as which that value is read; nil for the field itself.
    public var jsonType: JSONValueType?

    public init(_ name: String, _ direction: SortKey.Direction = .ascending, isFolded: Bool = false) {
        self.name = name
        self.direction = direction
        self.isFolded = isFolded
    }

    /// Creates a field for a value inside a JSON field: `IndexField("meta.size.w", as: .number)`.
    public init(_ path: String, as type: JSONValueType, _ direction: SortKey.Direction = .ascending) {
        let names = FieldPath(unchecked: path).components
        self.init(names[0], direction)
        steps = Array(names.dropFirst())
        jsonType = type
    }

    /// The key path by which queries name the field.
    package var keyPath: FieldPath {
        var path = FieldPath(unchecked: ([name] + steps).joined(separator: "."))
        path.jsonType = jsonType
        return path
    }

    /// `year desc`, `title fold`, `meta.size.w as number`: the form in which the database stores it.
    package var text: String {
        keyPath.description + (jsonType.map { " as \($0.rawValue)" } ?? "") + (isFolded ? " fold" : "")
            + (direction == .descending ? " desc" : "")
    }

    /// Parses ``text``; nil for any other text.
    package init?(text: String) {
        var words = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        var direction = SortKey.Direction.ascending
        if words.last == "desc", words.count > 1 {
            direction = .descending
            words.removeLast()
        }
        if words.count == 3, words[1] == "as", let type = JSONValueType(rawValue: words[2]) {
            let names = words[0].split(separator: ".", omittingEmptySubsequences: false)
            guard names.count > 1, names.allSatisfy({ !$0.isEmpty }) else { return nil }
            self.init(words[0], as: type, direction)
            return
        }
        let isFolded = words.last == "fold" && words.count > 1
        if isFolded { words.removeLast() }
        guard words.count == 1, !words[0].isEmpty else { return nil }
        self.init(words[0], direction, isFolded: isFolded)
    }
}

/// The index that an application requests for a record type.
///
/// ```swift
/// IndexDefinition(of: film, [IndexField("year", .descending), IndexField("rating")])
/// ```
public struct IndexDefinition: Hashable, Sendable {
    package static let maximumFields = 16

    public var type: RecordTypeName
    public var fields: [IndexField]
    public var kind: IndexKind
    /// Whether no two records of a database may have the same values.
    public var isUnique: Bool
    /// Whether records without a value count as having the same value.
    public var treatsNullsAsEqual: Bool

    public init(
        of type: RecordTypeName,
        _ fields: [IndexField],
        kind: IndexKind = .order,
        isUnique: Bool = false,
        treatsNullsAsEqual: Bool = false
    ) {
        self.type = type
        self.fields = fields
        self.kind = kind
        self.isUnique = isUnique
        self.treatsNullsAsEqual = treatsNullsAsEqual
    }
}

/// Why an index was not built.
public struct IndexFailure: Hashable, Sendable {
    /// The kind of the reason.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// Several records have the same values.
        case duplicate
        /// A stored value is too long for an index.
        case tooLong = "too_long"
        /// The statement was cancelled.
        case cancelled
        /// PostgreSQL or the service stopped during the build, repeatedly.
        case serverStopped = "server_stopped"
        /// The statement was part of a deadlock, repeatedly.
        case deadlock
        /// Another object took the name meanwhile.
        case nameTaken = "name_taken"
        /// PostgreSQL refused the statement for another reason.
        case error
    }

    public var reason: Reason
    /// The number of values that several records have, once they are counted.
    public var duplicates: Int64?
    /// The SQLSTATE that PostgreSQL gave with an ``Reason/error``.
    public var sqlState: String?

    public init(_ reason: Reason, duplicates: Int64? = nil, sqlState: String? = nil) {
        self.reason = reason
        self.duplicates = duplicates
        self.sqlState = sqlState
    }
}

/// An index of a record type, as the service lists it; lists omit the indexes that every table has.
public struct RecordIndex: Hashable, Sendable {
    /// The state of an index.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// It is being built, or waits to be built.
        case building
        case ready
        /// It does not exist; ``RecordIndex/failure`` has the reason.
        case failed
        /// It is being deleted, or waits to be deleted.
        case deleting
        /// It was created by other means, such as psql or a schema file.
        case foreign
    }

    /// The progress of a build.
    public struct Progress: Hashable, Sendable {
        /// PostgreSQL's name of the phase.
        public var phase: String
        public var blocksDone: Int64
        public var blocksTotal: Int64

        public init(phase: String, blocksDone: Int64, blocksTotal: Int64) {
            self.phase = phase
            self.blocksDone = blocksDone
            self.blocksTotal = blocksTotal
        }
    }

    public var name: String
    public var type: RecordTypeName
    public var state: State
    /// The requested index; nil for a foreign index.
    public var definition: IndexDefinition?
    /// How often its build was started.
    public var attempts: Int
    public var failure: IndexFailure?
    public var progress: Progress?
    /// Its size on disk; nil when it does not exist.
    public var bytes: Int64?
    /// Whether PostgreSQL uses a foreign index.
    public var isValid: Bool
    /// The statement of a foreign index, as PostgreSQL prints it.
    public var statement: String?

    public init(
        name: String,
        type: RecordTypeName,
        state: State,
        definition: IndexDefinition? = nil,
        attempts: Int = 0,
        failure: IndexFailure? = nil,
        progress: Progress? = nil,
        bytes: Int64? = nil,
        isValid: Bool = true,
        statement: String? = nil
    ) {
        self.name = name
        self.type = type
        self.state = state
        self.definition = definition
        self.attempts = attempts
        self.failure = failure
        self.progress = progress
        self.bytes = bytes
        self.isValid = isValid
        self.statement = statement
    }
}
