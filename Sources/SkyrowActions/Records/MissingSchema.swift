import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Creates the missing types and fields of these items, but only for records that may be saved.
    ///
    /// Returns the items; those that may not be saved, whose missing schema is not created, are replaced with refusals. Throws
    /// `114 IncompatibleSchema` when a value does not fit its field or the schema is frozen, and `115 AtomicOperationFailure`
    /// when the request is atomic and an item is refused.
    func createMissingSchema(
        for items: [SaveRequest.Item],
        with access: RecordAccess,
        isAtomic: Bool
    ) async throws(SkyrowError) -> [SaveRequest.Item] {
        let refusals = try await store.refusals(saving: items.compactMap(\.draft), with: access)
        var place = -1
        let permitted = try items.refusing(isAtomic: isAtomic) { _ in
            place += 1
            return refusals[place]
        }
        let drafts = permitted.compactMap { $0.draft }
        if !drafts.isEmpty {
            try await store.createMissingSchema(for: drafts)
            noteSchemaChange(of: Array(Set(drafts.map(\.id.type))))
        }
        return permitted
    }
}

extension RecordStore {
    /// Returns the draft of a profile with these fields, after those that are missing were created.
    func profileDraft(
        of user: UserID,
        _ fields: [(name: FieldName, value: RecordValue)]
    ) async throws(SkyrowError) -> RecordDraft {
        let draft = RecordDraft(id: try RecordID(type: .user, id: user.rawValue), fields: fields)
        if try !schemaPlan(saving: [draft]).isEmpty { try await createMissingSchema(for: [draft]) }
        return draft
    }

    /// Returns, without waiting, whether saving these items requires a change of the schema.
    func lacksSchema(for items: [SaveRequest.Item]) throws(SkyrowError) -> Bool {
        try !schemaPlan(saving: items.compactMap(\.draft)).isEmpty
    }
}

extension SaveRequest.Item {
    /// The draft; nil if it could not be read or was refused.
    var draft: RecordDraft? {
        switch self {
        case .draft(let draft): draft
        case .failure: nil
        }
    }
}
