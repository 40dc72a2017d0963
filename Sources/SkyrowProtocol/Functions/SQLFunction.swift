package import SkyrowModel

/// A function of the database that is exposed as an action.
package struct SQLFunction: Hashable, Sendable {
    package struct Argument: Hashable, Sendable {
        package var name: String
        /// The name of its SQL type, such as `double precision`.
        package var type: String
        package var hasDefault: Bool

        package init(name: String, type: String, hasDefault: Bool) {
            self.name = name
            self.type = type
            self.hasDefault = hasDefault
        }
    }

    /// A column of a result that has several.
    package struct Column: Hashable, Sendable {
        package var name: String
        /// The name of its SQL type.
        package var type: String

        package init(name: String, type: String) {
            self.name = name
            self.type = type
        }
    }

    package enum Result: Hashable, Sendable {
        case value
        /// Rows of a record type's table.
        case records(RecordTypeName)
        /// Rows of any other kind.
        case values
    }

    package var name: FunctionName
    /// Such as `nearby(double precision, double precision)`.
    package var signature: String
    package var need: FunctionNeed
    package var arguments: [Argument]
    package var result: Result
    /// Whether it is `STABLE` or `IMMUTABLE`, and so runs in a read-only transaction.
    package var isReadOnly: Bool
    package var timeout: Duration?
    /// The name of the function in the schema of the application, such as `nearby`.
    package var routine: String
    /// The name of the SQL type of the result, or of its rows.
    package var resultType: String
    /// The columns of a result that has several; empty for a single value.
    package var columns: [Column]

    package init(
        name: FunctionName,
        signature: String,
        need: FunctionNeed,
        arguments: [Argument],
        result: Result,
        isReadOnly: Bool,
        timeout: Duration? = nil,
        routine: String? = nil,
        resultType: String = "jsonb",
        columns: [Column] = []
    ) {
        self.routine = routine ?? name.rawValue
        self.resultType = resultType
        self.columns = columns
        self.name = name
        self.signature = signature
        self.need = need
        self.arguments = arguments
        self.result = result
        self.isReadOnly = isReadOnly
        self.timeout = timeout
    }

    /// The description that callers see.
    package var description: FunctionDescription {
        var description = FunctionDescription(name, need: need)
        description.isReadOnly = isReadOnly
        description.timeout = timeout
        return description
    }
}
