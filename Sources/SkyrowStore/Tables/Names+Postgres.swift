package import SkyrowModel
package import SkyrowPostgres

// User ids and names of roles and groups as `text`.

extension UserID: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { String.postgresType }
    package static var postgresArrayType: PostgresOID { String.postgresArrayType }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        try rawValue.encode(into: &encoder)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> UserID {
        UserID(try String.decode(bytes, type: type))
    }
}

extension RoleName: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { String.postgresType }
    package static var postgresArrayType: PostgresOID { String.postgresArrayType }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        try rawValue.encode(into: &encoder)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> RoleName {
        RoleName(try String.decode(bytes, type: type))
    }
}

extension GroupName: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { String.postgresType }
    package static var postgresArrayType: PostgresOID { String.postgresArrayType }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        try rawValue.encode(into: &encoder)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> GroupName {
        GroupName(try String.decode(bytes, type: type))
    }
}
