extension PostgresBindings {
    /// The types and sizes of the values, `$1: text, 5 bytes`, without their contents.
    package var summaries: [String] {
        values.enumerated().map { place, value in
            let type = value.type.summary
            return "$\(place + 1): \(type), " + (value.length < 0 ? "NULL" : "\(value.length) bytes")
        }
    }
}

extension PostgresOID {
    /// The name of a type that values are bound as; the OID for any other type.
    fileprivate var summary: String {
        switch self {
        case .bool: "boolean"
        case .bytea: "bytea"
        case .name: "name"
        case .int2: "smallint"
        case .int4: "integer"
        case .int8: "bigint"
        case .float4: "real"
        case .float8: "double precision"
        case .text: "text"
        case .timestamptz: "timestamptz"
        case .jsonb: "jsonb"
        case .boolArray: "boolean[]"
        case .byteaArray: "bytea[]"
        case .int8Array: "bigint[]"
        case .float8Array: "double precision[]"
        case .textArray: "text[]"
        case .timestamptzArray: "timestamptz[]"
        case .jsonbArray: "jsonb[]"
        default: "type \(rawValue)"
        }
    }
}
