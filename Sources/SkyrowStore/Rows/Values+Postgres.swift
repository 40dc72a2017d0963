package import SkyrowModel
package import SkyrowPostgres

/// User ids and names of roles and groups, as `text`.
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

/// As `timestamptz`.
extension Timestamp: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { PostgresTimestamp.postgresType }
    package static var postgresArrayType: PostgresOID { PostgresTimestamp.postgresArrayType }

    package func encode(into encoder: inout PostgresEncoder) { encoder.append(microseconds) }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Timestamp {
        Timestamp(microseconds: try PostgresTimestamp.decode(bytes, type: type).microsecondsSince2000)
    }
}

/// As `jsonb`.
extension JSONText: PostgresEncodable, PostgresDecodable {
    package static var postgresType: PostgresOID { PostgresJSONB.postgresType }

    package func encode(into encoder: inout PostgresEncoder) { PostgresJSONB(utf8: utf8).encode(into: &encoder) }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> JSONText {
        JSONText(validated: try PostgresJSONB.decode(bytes, type: type).utf8)
    }
}

/// A word of a closed list, as `text`.
package protocol PostgresWord: PostgresEncodable, PostgresDecodable, RawRepresentable<String> {}

extension PostgresWord {
    package static var postgresType: PostgresOID { String.postgresType }

    package func encode(into encoder: inout PostgresEncoder) throws(PostgresError) {
        try rawValue.encode(into: &encoder)
    }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: PostgresOID) throws(PostgresError) -> Self {
        guard let word = Self(rawValue: try String.decode(bytes, type: type)) else {
            throw undecodable(type: type, isNull: false)
        }
        return word
    }
}

extension AccountFactor.Kind: PostgresWord {}
extension ProviderFlowPurpose: PostgresWord {}
extension UserRelation: PostgresWord {}
