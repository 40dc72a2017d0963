internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The statement that finds out why records were refused: which of them the caller may read, and which it may change or delete.
///
/// ```sql
/// SELECT …, coalesce(<read access>, false), coalesce(<update or delete access>, false) FROM "app"."note" AS "r"
/// WHERE "r"."_id" = ANY($3)
/// ```
struct JudgeStatement {
    let sql: SQL
    private let table: RecordTable
    private let access: RecordAccess

    /// What was found of one record.
    struct Finding {
        let isReadable: Bool
        let isWritable: Bool
        let row: StoredRow
    }

    /// - Parameter action: the refused action.
    init(ids: [RecordID], table: RecordTable, access: RecordAccess, for action: AccessAction) {
        self.table = table
        self.access = access
        let open = access.of(table.rules)
        let text = StatementText.judge(read: open.read.shape, open.scope(of: action).shape)
        sql = table.shapes.template(text, on: table).binding { parameter, values in
            switch parameter {
            case .ids: values.append(ids.map { StoredID($0.id, in: access.database).text })
            default: access.append(parameter, to: &values)
            }
        }
    }

    static func template(read: AccessShape, _ scope: AccessShape, on table: RecordTable) -> StatementTemplate {
        """
        SELECT \(table.wholeRow.columns), coalesce(\(read.condition(on: "r")), false), \
        coalesce(\(scope.condition(on: "r")), false) \
        FROM \(table.qualifiedName) AS "r" WHERE "r"."_id" = ANY(\(parameter: .ids))
        """
    }

    /// Returns what was found, by the id that clients see; a record that does not exist has no entry.
    func findings(_ result: PostgresResult) throws(PostgresError) -> [TextKey: Finding] {
        var findings: [TextKey: Finding] = [:]
        let rows = StoredRows(result, of: table, for: access.fields)
        for row in 0..<result.rowCount {
            let stored = rows[row]
            guard let id = stored.storedID else { continue }
            findings[TextKey(StoredID.wireID(of: id))] = Finding(
                isReadable: try result.decode(row: row, column: table.wholeRow.width),
                isWritable: try result.decode(row: row, column: table.wholeRow.width + 1),
                row: stored
            )
        }
        return findings
    }
}

/// The parts of a save that can be refused because of the stored record.
struct SaveIntent {
    let precondition: SavePrecondition?
    let access: AccessList?
    let fields: [(name: FieldName, value: RecordValue)]
    let operators: [SettledOperator]
    /// The reason why no record can be created; nil if one can.
    let insertRefusal: SkyrowError?
    /// Whether the save has a condition on the stored record.
    let isConditional: Bool
    let rules: TypeRules
    /// The fields that hooks have set.
    let trusted: Set<FieldName>
    /// Whether a hook has set the access list.
    let trustsAccess: Bool

    init(_ write: RecordWrite) {
        precondition = write.precondition
        access = write.access
        rules = write.table.rules
        operators = write.operators
        insertRefusal = write.insertRefusal
        isConditional = write.condition != nil
        trusted = Set(write.shape.trusted.map { write.table.columns[$0].field })
        trustsAccess = write.shape.trustsAccess
        let operated = Set(operators.map(\.column))
        fields = zip(write.columns, write.values).filter { !operated.contains($0.0) }.map {
            let column = write.table.columns[$0]
            return (name: column.field, value: column.kept($1))
        }
    }

    /// - Parameters:
    ///   - table: the table of the type; nil before the type exists.
    ///   - access: the access of the caller.
    init(_ draft: RecordDraft, table: RecordTable?, access: RecordAccess) {
        precondition = draft.precondition
        self.access = draft.access
        isConditional = draft.condition != nil
        rules = table?.rules ?? .none
        trusted = draft.trusted?.fields ?? []
        trustsAccess = draft.trusted?.hasAccess ?? false
        fields = draft.fields.compactMap { field in
            // Compared as the column takes it: a number column has `7` as `7.0`.
            guard let column = table?[field.name] else { return field }
            do throws(SkyrowError) {
                return try column.accepted(field.value).map { (name: field.name, value: column.kept($0)) }
            } catch {
                return field
            }
        }
        // Temporary ids are not resolved yet. For fields that do not exist yet, only creation is judged. A value that does not
        // fit its field is refused by the save itself.
        var settled: [SettledOperator] = []
        var refusal = rules.refusalOfCreating(draft, with: access)
        for (name, change) in draft.operators {
            let type = table?[name]?.type ?? change.fieldType
            guard let type else { continue }
            let column = table?[name] ?? RecordColumn(field: name, identifier: "x", type: type, oid: .unspecified)
            guard let one = try? column.settled(change, at: 0, resolving: { $0 }) else { continue }
            settled.append(one)
            do throws(SkyrowError) { _ = try one.freshValue() } catch { refusal = refusal ?? error }
        }
        operators = settled
        insertRefusal = refusal
    }

    /// Returns the fields that the save would change although their rules do not let the caller.
    ///
    /// - Parameter row: the record with the fields that are hidden from the caller.
    fileprivate func refusedChanges(to record: Record, in row: StoredRow, by caller: FieldAccess) -> [FieldName] {
        guard !rules.fields.isEmpty else { return [] }
        func isMember(_ field: MemberField) -> Bool {
            caller.user.map { row.names($0, in: field) } ?? false
        }
        func refused(_ fields: [(name: FieldName, value: RecordValue)], by caller: FieldAccess) -> [FieldName] {
            rules.fields.refusedChanges(
                fields,
                to: record,
                by: caller,
                isMember: isMember,
                isSameJSON: Self.isSameJSON
            )
        }
        var values = refused(trusted.isEmpty ? fields : fields.filter { !trusted.contains($0.name) }, by: caller)
        if !trusted.isEmpty {
            values += refused(fields.filter { trusted.contains($0.name) }, by: .unrestricted)
        }
        guard !operators.isEmpty else { return values.sorted() }
        let refused = rules.fields.refusedOperators(operators.map(\.field), on: record, by: caller, isMember: isMember)
        return (values + refused).sorted()
    }

    /// Compares like `jsonb`.
    static func isSameJSON(_ a: JSONText, _ b: JSONText) -> Bool {
        if a == b { return true }
        let isSame = try? JSONDocument(a.utf8).withRoot { a in
            try JSONDocument(b.utf8).withRoot { b in a.isSameValue(as: b) }
        }
        return isSame ?? false
    }

    /// Whether the verdict depends on the values of the stored record.
    fileprivate var dependsOnValues: Bool { !rules.fields.isEmpty || !operators.isEmpty }
}

/// The verdict on a refused save, given the stored record.
enum SaveVerdict {
    case refused(SkyrowError)
    /// The stored record was changed meanwhile, and the save would not be refused now.
    case tryAgain
    /// The access list that was sent is equivalent to the stored one, so it is no change.
    case tryAgainKeepingAccess

    /// Judges one record; `finding` is nil if the record does not exist.
    ///
    /// A record that the caller may not read is treated like a missing one as far as possible. Only a plain save of its id
    /// reveals that it exists, since the record cannot be created; the error says no more than that.
    ///
    /// - Parameter budget: the steps that the request may still spend on elements of arrays.
    init(
        _ save: SaveIntent,
        _ finding: JudgeStatement.Finding?,
        by caller: FieldAccess,
        within budget: inout StepBudget
    ) {
        switch (finding, save.precondition) {
        case (nil, .exists): self = .refused(.recordNotFound)
        case (.some(let finding), .exists) where !finding.isReadable: self = .refused(.recordNotFound)
        case (nil, _) where save.isConditional: self = .refused(.conflict)
        case (nil, .revision): self = .refused(.conflict)
        case (nil, .isNew), (nil, nil):
            switch save.rules.origin {
            case .saves: self = save.insertRefusal.map { .refused($0) } ?? .tryAgain
            case .accounts: self = .refused(.writeDenied)
            }
        case (.some(let finding), _) where save.isConditional && !finding.isReadable: self = .refused(.conflict)
        case (.some(let finding), .revision) where !finding.isReadable: self = .refused(.conflict)
        case (.some(let finding), _) where !finding.isWritable: self = .refused(.writeDenied)
        case (.some(let finding), .isNew): self = .refused(.conflict(with: finding.row))
        case (.some(let finding), .revision(let revision)) where finding.row.isWhole || !save.dependsOnValues:
            guard let current = finding.row.collected(), current.revision == revision else {
                self = .refused(.conflict(with: finding.row))
                return
            }
            self = SaveVerdict(save, to: current, of: finding, by: caller, within: &budget)
        case (.some(let finding), .exists) where finding.row.isWhole || !save.dependsOnValues,
            (.some(let finding), nil) where finding.row.isWhole || !save.dependsOnValues:
            if let current = finding.row.collected() {
                self = SaveVerdict(save, to: current, of: finding, by: caller, within: &budget)
            } else {
                self = .tryAgain
            }
        case (.some, .revision), (.some, .exists), (.some, nil):
            // Without the whole row it is unknown which fields would change: the request is too large.
            self = .refused(.responseTooLarge)
        }
    }

    /// Judges the changes to a record that the caller may write: changes that only the owner may make, and operators on stored
    /// values.
    private init(
        _ save: SaveIntent,
        to current: Record,
        of finding: JudgeStatement.Finding,
        by caller: FieldAccess,
        within budget: inout StepBudget
    ) {
        let denied = save.refusedChanges(to: current, in: finding.row, by: caller)
        guard denied.isEmpty else {
            self = .refused(save.rules.fields.denial(of: denied, by: caller))
            return
        }
        let unreadable = save.operators.isEmpty ? [] : finding.row.unreadableFields
        if let refusal = save.operators.refusal(on: current, unreadable: unreadable, within: &budget) {
            self = .refused(refusal)
            return
        }
        guard let access = save.access, !save.trustsAccess,
            !finding.row.holds(save.rules.standingOfListChanges(for: caller))
        else {
            self = .tryAgain
            return
        }
        // Entries that are hidden from the caller are not part of `current`, and stay as they are.
        let isChange = !(current.access?.isSame(as: access) ?? false)
        self = isChange ? .refused(.accessDenied) : .tryAgainKeepingAccess
    }
}

extension RecordColumn {
    /// Returns a value that the column takes, as it is read back: with the digits of a `real` column that psql made.
    func kept(_ value: RecordValue) -> RecordValue {
        guard oid == .float4, case .number(let number) = value else { return value }
        return .number(Double(Float(number)))
    }
}

extension TypeRules {
    /// Returns why the caller may not create a record of the draft, even if it may change one; nil if it may.
    func refusalOfCreating(_ draft: RecordDraft, with access: RecordAccess) -> SkyrowError? {
        guard access.mayCreate(self) else { return .writeDenied }
        let denied = fields.refusedInNew(draft, by: access.fields, isOwned: hasOwner(in: access.database))
        return denied.isEmpty ? nil : .fieldsDenied(denied)
    }
}

extension SkyrowError {
    static let writeDenied = SkyrowError(.permissionDenied, "You may not write this record.")
    /// `102` for a change of an access list that only the owner of the record may make.
    static let accessDenied = SkyrowError(
        .permissionDenied,
        "Only the owner of this record may change its access list; leave _access as it is.",
        info: ["arguments": .list([.string("_access")])]
    )

    static let conflict = SkyrowError(.conflict, "The record is not in the state that the save expects.")

    static func conflict(with row: StoredRow) -> SkyrowError {
        var error = SkyrowError.conflict
        if row.isWhole, let record = row.collected() { error.info["record"] = .record(record) }
        return error
    }
}
