package import SkyrowModel
package import SkyrowPostgres

// User ids and names of roles and groups as `text`.

extension TextIdentity: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { String.postgresType }
    package static var postgresArrayType: PostgresOID { String.postgresArrayType }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        try rawValue.encode(into: &encoder)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError)
        -> TextIdentity
    {
        TextIdentity(try String.decode(bytes, type: type))
    }
}
