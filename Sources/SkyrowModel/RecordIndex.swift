/// What an index serves.
public enum IndexKind: String, Hashable, Sendable, CaseIterable {
    /// Equality, order, ranges, beginnings of texts, and unique values.
    case order
    /// Elements of arrays, and members of JSON objects.
    case contains
    /// Parts of texts, and patterns.
    case trigram
    /// Words of texts.
    case text
    /// Distances from a place.
    case near
    /// Boxes and polygons of places.
    case box
}

/// A field of an index.
public struct IndexField: Hashable, Sendable {
    /// A field of the record type, or one that all records have, such as `_created_at`.
    public var name: String
    public var direction: SortKey.Direction
    /// Whether upper and lower case are taken for the same.
    public var isFolded: Bool
    /// The steps from a json field to a value inside of it; none for the field itself.
    public var steps: [String] = []
    /// As what that value is read; nil for the field itself.
    public var jsonType: JSONValueType?

    public init(_ name: String, _ direction: SortKey.Direction = .ascending, isFolded: Bool = false) {
        self.name = name
        self.direction = direction
        self.isFolded = isFolded
    }

    /// A value inside a json field: `IndexField("meta.size.w", as: .number)`.
    public init(_ path: String, as type: JSONValueType, _ direction: SortKey.Direction = .ascending) {
        let names = FieldPath(unchecked: path).components
        self.init(names[0], direction)
        steps = Array(names.dropFirst())
        jsonType = type
    }

    /// What a query names it by.
    package var keyPath: FieldPath {
        var path = FieldPath(unchecked: ([name] + steps).joined(separator: "."))
        path.jsonType = jsonType
        return path
    }

    /// `year desc`, `title fold`, `meta.size.w as number`: the form in which the database keeps it.
    package var text: String {
        keyPath.description + (jsonType.map { " as \($0.rawValue)" } ?? "") + (isFolded ? " fold" : "")
            + (direction == .descending ? " desc" : "")
    }

    /// nil for a text that is not one of ``text``.
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

/// An index that an application wants of a record type.
///
/// ```swift
/// IndexDefinition(of: film, [IndexField("year", .descending), IndexField("rating")])
/// ```
public struct IndexDefinition: Hashable, Sendable {
    public var type: RecordTypeName
    public var fields: [IndexField]
    public var kind: IndexKind
    /// Whether no two records of a database have the same values.
    public var isUnique: Bool
    /// Whether records without a value count as having the same one.
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
    /// What kind of reason it is.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// Records have the same values.
        case duplicate
        /// A stored value is too long for an index.
        case tooLong = "too_long"
        /// Somebody cancelled the statement.
        case cancelled
        /// PostgreSQL or the service ended while the index was built, again and again.
        case serverStopped = "server_stopped"
        /// The statement and others waited for each other, again and again.
        case deadlock
        /// Something else of the name was made meanwhile.
        case nameTaken = "name_taken"
        /// PostgreSQL refused the statement for another reason.
        case error
    }

    public var reason: Reason
    /// How many values several records have, once they are counted.
    public var duplicates: Int64?
    /// The state that PostgreSQL gave with an ``Reason/error``.
    public var sqlState: String?

    public init(_ reason: Reason, duplicates: Int64? = nil, sqlState: String? = nil) {
        self.reason = reason
        self.duplicates = duplicates
        self.sqlState = sqlState
    }
}

/// An index of a record type as the service lists it; those that every table has are in no list.
public struct RecordIndex: Hashable, Sendable {
    /// Where an index is on its way.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// It is being built, or waits for it.
        case building
        case ready
        /// It is not there; ``RecordIndex/failure`` says why.
        case failed
        /// It is being deleted, or waits for it.
        case deleting
        /// It was made by other means, such as psql or a schema file.
        case foreign
    }

    /// How far a build is.
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
    /// What was asked for; nil of a foreign index.
    public var definition: IndexDefinition?
    /// How often its build was begun.
    public var attempts: Int
    public var failure: IndexFailure?
    public var progress: Progress?
    /// Its size on disk; nil where it is not there.
    public var bytes: Int64?
    /// Whether PostgreSQL uses a foreign index.
    public var isValid: Bool
    /// A foreign index as PostgreSQL prints it.
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

/// `schema:index:create`, decoded.
package struct IndexCreateRequest: Hashable, Sendable {
    /// Fields of one index.
    package static let maximumFields = 16

    package var definition: IndexDefinition

    package init(_ definition: IndexDefinition) {
        self.definition = definition
    }
}

/// `schema:index:delete`, decoded.
package struct IndexDeleteRequest: Hashable, Sendable {
    package var name: String
    /// Whether one that was made by other means goes too.
    package var forces: Bool

    package init(name: String, forces: Bool = false) {
        self.name = name
        self.forces = forces
    }
}

/// `schema:index:list`, decoded.
package struct IndexListRequest: Hashable, Sendable {
    /// nil for all.
    package var type: RecordTypeName?

    package init(type: RecordTypeName? = nil) {
        self.type = type
    }
}
