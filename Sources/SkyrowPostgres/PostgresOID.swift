/// The object identifier of a type (`pg_type.oid`) or of another catalog object.
package struct PostgresOID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Lets the server infer the type from the statement.
    package static let unspecified = PostgresOID(rawValue: 0)

    package static let bool = PostgresOID(rawValue: 16)
    package static let bytea = PostgresOID(rawValue: 17)
    package static let char = PostgresOID(rawValue: 18)
    package static let name = PostgresOID(rawValue: 19)
    package static let int8 = PostgresOID(rawValue: 20)
    package static let int2 = PostgresOID(rawValue: 21)
    package static let int4 = PostgresOID(rawValue: 23)
    package static let text = PostgresOID(rawValue: 25)
    package static let oid = PostgresOID(rawValue: 26)
    package static let json = PostgresOID(rawValue: 114)
    package static let xml = PostgresOID(rawValue: 142)
    package static let float4 = PostgresOID(rawValue: 700)
    package static let float8 = PostgresOID(rawValue: 701)
    package static let unknown = PostgresOID(rawValue: 705)
    package static let bpchar = PostgresOID(rawValue: 1042)
    package static let varchar = PostgresOID(rawValue: 1043)
    package static let timestamp = PostgresOID(rawValue: 1114)
    package static let timestamptz = PostgresOID(rawValue: 1184)
    package static let regclass = PostgresOID(rawValue: 2205)
    package static let jsonb = PostgresOID(rawValue: 3802)
    package static let xid8 = PostgresOID(rawValue: 5069)

    package static let boolArray = PostgresOID(rawValue: 1000)
    package static let byteaArray = PostgresOID(rawValue: 1001)
    package static let nameArray = PostgresOID(rawValue: 1003)
    package static let int2Array = PostgresOID(rawValue: 1005)
    package static let int4Array = PostgresOID(rawValue: 1007)
    package static let textArray = PostgresOID(rawValue: 1009)
    package static let int8Array = PostgresOID(rawValue: 1016)
    package static let float4Array = PostgresOID(rawValue: 1021)
    package static let float8Array = PostgresOID(rawValue: 1022)
    package static let oidArray = PostgresOID(rawValue: 1028)
    package static let timestamptzArray = PostgresOID(rawValue: 1185)
    package static let jsonbArray = PostgresOID(rawValue: 3807)

    /// Whether the object comes with PostgreSQL: user objects start at FirstNormalObjectId (16384).
    package var isBuiltIn: Bool { rawValue < 16384 }
}
