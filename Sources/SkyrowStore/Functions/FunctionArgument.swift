internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowProtocol

/// How a parameter of a function takes values: they are bound as text, and PostgreSQL casts them to its type.
///
/// ```swift
/// try FunctionArgument(SQLFunction.Argument(name: "lat", type: "double precision", hasDefault: false)).value(of: json)
/// // CAST($1 AS double precision)
/// ```
struct FunctionArgument {
    private enum Kind: Hashable {
        case boolean
        case integer(ClosedRange<Int64>)
        case number
        /// A number of another precision, with the digits that it was sent with.
        case numeric
        case text
        case instant
        case json
        case bytes
        /// Any other type, whose texts only PostgreSQL can read.
        case other
    }

    private let name: String
    private let kind: Kind
    private let isArray: Bool
    /// The type of the parameter in a cast.
    private let type: SQL

    init(_ argument: SQLFunction.Argument) {
        name = argument.name
        isArray = argument.type.hasSuffix("[]")
        let element = isArray ? String(argument.type.dropLast(2)) : argument.type
        kind =
            switch element {
            case "boolean": .boolean
            case "smallint": .integer(Int64(Int16.min)...Int64(Int16.max))
            case "integer": .integer(Int64(Int32.min)...Int64(Int32.max))
            case "bigint": .integer(Int64.min...Int64.max)
            case "double precision": .number
            case "real", "numeric": .numeric
            case "text", "character varying", "character", "name": .text
            case "timestamp with time zone": .instant
            case "json", "jsonb": .json
            case "bytea": .bytes
            default: .other
            }
        // In a cast, these names mean the types with a length of 1. The others are PostgreSQL's own text of the type.
        let castName =
            switch element {
            case "character": "bpchar"
            case "bit": "\"bit\""
            default: element
            }
        type = SQL(trustedText: isArray ? castName + "[]" : castName)
    }

    /// Whether only PostgreSQL can say whether it takes a value.
    var isJudgedByPostgres: Bool {
        switch kind {
        case .numeric, .instant, .json, .other: true
        case .boolean, .integer, .number, .text, .bytes: false
        }
    }

    /// The value as PostgreSQL casts it; throws `108 InvalidArgument` for one that the type does not have.
    func value(of json: JSONView) throws(SkyrowError) -> SQL {
        guard isArray, !json.isNull else { return "CAST(\(try text(of: json) as String?) AS \(type))" }
        guard json.isArray else { throw .invalidArgument("The argument \"\(name)\" must be an array.", name) }
        var elements: [String?] = []
        elements.reserveCapacity(json.count)
        for element in json.elements { elements.append(try text(of: element)) }
        return "CAST(\(elements) AS \(type))"
    }

    private func text(of json: JSONView) throws(SkyrowError) -> String? {
        if json.isNull { return nil }
        if kind == .json { return String(decoding: json.source, as: UTF8.self) }
        guard let value = try RecordValue(json, field: name) else { throw misfit }
        switch (kind, value) {
        case (.boolean, .boolean(let value)), (.other, .boolean(let value)):
            return value ? "true" : "false"
        case (.integer(let range), .integer(let value)) where range.contains(value):
            return String(value)
        case (.integer(let range), .number(let value)):
            // `5.0` and `5e0` are whole numbers, too.
            if let whole = Int64(exactly: value), range.contains(whole) { return String(whole) }
        case (.number, .integer(let value)):
            return String(value)
        case (.number, .number(let value)):
            return String(value)
        case (.numeric, .integer), (.numeric, .number), (.other, .integer), (.other, .number):
            return String(decoding: json.source, as: UTF8.self)
        case (.text, .string(let text)), (.other, .string(let text)):
            return text
        case (.text, .reference(let id)), (.other, .reference(let id)):
            return id.id
        case (.text, .asset(let asset)):
            return asset.name.rawValue
        case (.instant, .datetime(let instant)), (.other, .datetime(let instant)):
            return instant.rfc3339
        case (.instant, .string(let text)):
            if let instant = try? Timestamp(rfc3339: text) { return instant.rfc3339 }
        case (.bytes, .bytes(let bytes)):
            return "\\x" + Hexadecimal.text(bytes)
        default: break
        }
        throw misfit
    }

    private var misfit: SkyrowError {
        .invalidArgument("The argument \"\(name)\" must be \(expectation).", name)
    }

    private var expectation: String {
        switch kind {
        case .boolean: "true or false"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .number, .numeric: "a number"
        case .text: "a string or a reference"
        case .instant: "an instant, {\"$type\":\"date\",\"$date\":\"2026-03-01T09:00:00Z\"}"
        case .json: "JSON"
        case .bytes: "bytes, {\"$type\":\"bytes\",\"$base64\":\"AAEC\"}"
        case .other: "a string, a number, or true or false"
        }
    }
}
