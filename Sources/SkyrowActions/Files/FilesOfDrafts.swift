import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionService {
    /// Returns those of the files that a caller may not put into a record: files of others that the caller cannot read either, and
    /// names of no stored file.
    func foreignFiles(among names: Set<AssetName>, for caller: Caller) async throws(SkyrowError) -> Set<AssetName> {
        try await confirmDirectUploads(of: names)
        return names.subtracting(try await store.assets.usable(names, by: caller))
    }

    /// Throws `108 InvalidArgument` about the first field with a file that the caller may not use.
    func requireUsableFiles(in draft: RecordDraft, by caller: Caller) async throws(SkyrowError) {
        var names: Set<AssetName> = []
        draft.collectFiles(into: &names)
        guard !names.isEmpty else { return }
        if let refusal = draft.refusal(naming: try await foreignFiles(among: names, for: caller)) { throw refusal }
    }

    /// Does the same for the fields of a profile.
    func requireUsableFiles(
        in profile: [(name: FieldName, value: RecordValue)],
        of user: UserID,
        by caller: Caller
    ) async throws(SkyrowError) {
        guard profile.contains(where: { $0.value.file != nil }) else { return }
        let draft = RecordDraft(id: try RecordID(type: .user, id: user.rawValue), fields: profile)
        try await requireUsableFiles(in: draft, by: caller)
    }
}

extension [SaveRequest.Item] {
    /// The names of the files that the drafts would put into records.
    var files: Set<AssetName> {
        var names: Set<AssetName> = []
        for case .draft(let draft) in self { draft.collectFiles(into: &names) }
        return names
    }
}

extension RecordDraft {
    fileprivate func collectFiles(into names: inout Set<AssetName>) {
        for field in fields {
            if let file = field.value.file { names.insert(file) }
        }
        for field in operators { field.change.collectFiles(into: &names) }
    }

    /// Returns `108 InvalidArgument` about the first field with one of these files; nil without such a field.
    ///
    /// The error is the one of a name that no file has, so that it does not show which files there are.
    func refusal(naming files: Set<AssetName>) -> SkyrowError? {
        guard !files.isEmpty else { return nil }
        if let field = fields.first(where: { $0.value.file.map { files.contains($0) } ?? false }) {
            return .missingFile(of: field.name)
        }
        let field = operators.first { field in
            var names: Set<AssetName> = []
            field.change.collectFiles(into: &names)
            return !names.isDisjoint(with: files)
        }
        return field.map { .missingFile(of: $0.name) }
    }
}

extension FieldOperator {
    fileprivate func collectFiles(into names: inout Set<AssetName>) {
        switch kind {
        case .setOnInsert(let value), .compute(_, let value), .push(let value, _), .addToSet(let value),
            .pull(let value),
            .setElement(_, let value):
            if let file = value.file { names.insert(file) }
        case .all(let changes):
            for change in changes { change.collectFiles(into: &names) }
        case .unset, .pullWhere, .pop, .setMember, .computeMember, .unsetMember, .relate, .unrelate:
            break
        }
    }
}

extension RecordValue {
    fileprivate var file: AssetName? { if case .asset(let asset) = self { asset.name } else { nil } }
}
