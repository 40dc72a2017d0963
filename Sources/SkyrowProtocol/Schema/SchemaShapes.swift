import SkyrowJSON
package import SkyrowModel

extension Codec<RecordTypeName> {
    /// A letter followed by at most 62 letters, digits or underscores.
    package static let recordType = parsed(maximum: 63) { text, name throws(SkyrowError) in
        do throws(SkyrowError) {
            return try RecordTypeName(text)
        } catch {
            guard error.code == .invalidArgument else { throw error }
            throw .invalidArgument(error.message, name)
        }
    } writing: {
        $0.rawValue
    }
}

extension Codec<FieldName> {
    /// A letter followed by at most 62 letters, digits or underscores, or the name of a field of the service.
    package static let fieldName = parsed(maximum: 63) { text, name throws(SkyrowError) in
        do throws(SkyrowError) {
            return try FieldName(text)
        } catch {
            throw .invalidArgument(error.message, name)
        }
    } writing: {
        $0.rawValue
    }
}

extension Codec<[RecordType]> {
    /// Types with their fields: `{"note": {"fields": [{"name": "title", "type": "string"}]}}`.
    package static let recordTypes = Codec(.object([], others: RecordType.shape)) { json, name throws(SkyrowError) in
        try RecordType.types(json, name)
    } write: { types, writer in
        writer.recordTypes(types)
    }
}

extension Codec<RecordSchema> {
    /// Every type with its fields: `{"record_types": {"note": {"fields": […]}}}`.
    package static let schema = Codec(.named(.schema)) { json, _ throws(SkyrowError) in
        try RecordSchema(result: json)
    } write: { schema, writer in
        writer.schema(schema)
    }
}

extension RecordSchema {
    static let shape = JSONShape.object([
        JSONMember("record_types", .object([], others: RecordType.shape), isRequired: true)
    ])
}

extension RecordType {
    /// `{"fields": [{"name": "title", "type": "string"}]}`
    fileprivate static let shape = JSONShape.object([
        JSONMember(
            "fields",
            .array(
                of: .object([
                    JSONMember("name", .string(maximum: 63), isRequired: true),
                    JSONMember("type", .string(), isRequired: true),
                    JSONMember("on_delete", .oneOfStrings(DeleteRule.allCases.map(\.rawValue))),
                    JSONMember(
                        "text",
                        .either([
                            language,
                            .object([
                                JSONMember("language", language, isRequired: true), JSONMember("stored", .boolean),
                            ]),
                        ])
                    ),
                ])
            ),
            isRequired: true
        )
    ])

    private static let language = JSONShape.oneOfStrings(TextLanguage.allCases.map(\.rawValue))
}
