/// The fields of one record type, without the reserved ones.
public struct RecordType: Hashable, Sendable {
    public var name: RecordTypeName
    public var fields: [FieldName: FieldType]
    /// What happens to records when the target of a reference is deleted; ``DeleteRule/restrict`` without an entry.
    public var deleteRules: [FieldName: DeleteRule]
    /// How `match` finds the words of string fields; ``TextLanguage/words`` for fields without an entry.
    public var textLanguages: [FieldName: TextLanguage]
    /// The string fields with a language whose words are stored in a separate column, which makes ranking faster.
    public var storedTexts: Set<FieldName>

    public init(
        name: RecordTypeName,
        fields: [FieldName: FieldType] = [:],
        deleteRules: [FieldName: DeleteRule] = [:],
        textLanguages: [FieldName: TextLanguage] = [:],
        storedTexts: Set<FieldName> = []
    ) {
        self.name = name
        self.fields = fields
        self.deleteRules = deleteRules
        self.textLanguages = textLanguages
        self.storedTexts = storedTexts
    }
}

extension RecordType {
    /// Throws `108 InvalidArgument` when words are stored for a field without a language.
    package static func checkStored(_ language: TextLanguage) throws(SkyrowError) {
        guard language != .words else {
            throw .invalidArgument("The words of a text can only be stored in a language; set \"language\".", "text")
        }
    }

    /// `108` for a field that is named `_verified`, which only the service writes.
    package static let verifiedIsKept = SkyrowError.invalidArgument(
        "The name _verified is reserved for the field that says whether an address is verified.",
        FieldName.verified.rawValue
    )

    /// Throws `108 InvalidArgument` unless a field `_parent` is a reference whose records are deleted with their target.
    package static func checkParent(_ type: FieldType, _ rule: DeleteRule?) throws(SkyrowError) {
        guard case .reference = type else {
            throw .invalidArgument("The parent of a record must be a reference: \"type\": \"ref(…)\".", "_parent")
        }
        guard rule == nil || rule == .cascade else {
            throw .invalidArgument(
                "A record is deleted with its parent, so \"on_delete\" must be \"cascade\".",
                "_parent"
            )
        }
    }
}

/// Every record type of an application.
public struct RecordSchema: Hashable, Sendable {
    public var types: [RecordTypeName: RecordType]

    public init(types: [RecordTypeName: RecordType] = [:]) {
        self.types = types
    }
}
