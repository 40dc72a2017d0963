internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The second question after a refusal: what the records are to the caller, which may be read and which changed or deleted.
///
/// ```sql
/// SELECT …, coalesce(<read access>, false), coalesce(<update or delete access>, false) FROM "app"."note" AS "r"
/// WHERE "r"."_id" = ANY($3)
/// ```
struct JudgeStatement {
    let sql: SQL
    private let table: RecordTable
    private let access: RecordAccess

    /// What there is of one record.
    struct Finding {
        let isReadable: Bool
        let isWritable: Bool
        let row: StoredRow
    }

    /// - Parameter action: what is to be done with the records.
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

    static func template(
        read: AccessShape,
        _ scope: AccessShape,
        on table: RecordTable
    ) -> StatementTemplate {
        """
        SELECT \(table.wholeRow.columns), coalesce(\(read.condition(on: "r")), false), \
        coalesce(\(scope.condition(on: "r")), false) \
        FROM \(table.qualifiedName) AS "r" WHERE "r"."_id" = ANY(\(parameter: .ids))
        """
    }

    /// What was found, by the id that clients see; what does not exist is not there.
    func findings(_ result: PostgresResult) throws(PostgresError) -> [TextKey: Finding] {
        var findings: [TextKey: Finding] = [:]
        let rows = StoredRows(result, plan: table.plan(for: access.fields), for: access.fields)
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

/// What a save would do to a record, as far as it can be refused for what is stored.
struct SaveIntent {
    let precondition: SavePrecondition?
    let access: AccessList?
    let fields: [(name: FieldName, value: RecordValue)]
    let operators: [SettledOperator]
    /// Why there can be no new record; nil where there can.
    let insertRefusal: SkyrowError?
    /// Whether the stored record has to meet a condition.
    let isConditional: Bool
    let rules: TypeRules

    init(_ write: RecordWrite) {
        precondition = write.precondition
        access = write.access
        rules = write.table.rules
        operators = write.operators
        insertRefusal = write.insertRefusal
        isConditional = write.condition != nil
        let operated = Set(operators.map(\.column))
        fields = zip(write.columns, write.values).filter { !operated.contains($0.0) }.map {
            let column = write.table.columns[$0]
            return (name: column.field, value: column.kept($1))
        }
    }

    /// - Parameters:
    ///   - table: the type's, nil when there is none yet.
    ///   - access: whose save it is.
    init(_ draft: RecordDraft, table: RecordTable?, access: RecordAccess) {
        precondition = draft.precondition
        self.access = draft.access
        isConditional = draft.condition != nil
        rules = table?.rules ?? .none
        fields = draft.fields.compactMap { field in
            // Compared as the column takes it: `7` is what a column of numbers has as `7.0`.
            guard let column = table?[field.name] else { return field }
            do throws(SkyrowError) {
                return try column.accepted(field.value).map { (name: field.name, value: column.kept($0)) }
            } catch {
                return field
            }
        }
        // Temporary ids are not resolved yet, and of fields that there are not yet only new records are judged. What does
        // not fit its field is refused by the save itself.
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

    /// The fields whose rules do not let the caller change them.
    ///
    /// - Parameter row: the record with what the caller does not see of it.
    fileprivate func refusedChanges(to record: Record, in row: StoredRow, by caller: FieldAccess) -> [FieldName] {
        guard !rules.fields.isEmpty else { return [] }
        func isMember(_ field: MemberField) -> Bool {
            caller.user.map { row.names($0, in: field) } ?? false
        }
        let values = rules.fields.refusedChanges(
            fields,
            to: record,
            by: caller,
            isMember: isMember,
            isSameJSON: Self.isSameJSON
        )
        guard !operators.isEmpty else { return values }
        let refused = rules.fields.refusedOperators(
            operators.map(\.field),
            on: record,
            by: caller,
            isMember: isMember
        )
        return (values + refused).sorted()
    }

    /// As `jsonb` is compared.
    private static func isSameJSON(_ a: JSONText, _ b: JSONText) -> Bool {
        if a == b { return true }
        let isSame = try? JSONDocument(a.utf8).withRoot { a in
            try JSONDocument(b.utf8).withRoot { b in a.isSameValue(as: b) }
        }
        return isSame ?? false
    }

    /// Whether the record that is stored has to be known.
    fileprivate var dependsOnValues: Bool { !rules.fields.isEmpty || !operators.isEmpty }
}

/// What a refused save means, once it is known what is there.
enum SaveVerdict {
    case refused(SkyrowError)
    /// What is there now would not have been refused: it was changed meanwhile.
    case tryAgain
    /// The access list that was sent says what the stored one says in other words, so it is no change.
    case tryAgainKeepingAccess

    /// Judges one record; `finding` is nil when there is none.
    ///
    /// A record that the caller may not read is treated as far as possible like one that is missing. Only a plain save
    /// of its id reveals that it exists, since the record cannot be created; it says no more than that.
    ///
    /// - Parameter budget: what the request may still ask of the elements of arrays.
    init(
        _ save: SaveIntent,
        _ finding: JudgeStatement.Finding?,
        by caller: FieldAccess,
        within budget: inout StepBudget
    ) {
        switch (finding, save.precondition) {
        case (nil, .exists):
            self = .refused(.recordNotFound)
        case (.some(let finding), .exists) where !finding.isReadable:
            self = .refused(.recordNotFound)
        case (nil, _) where save.isConditional:
            self = .refused(.conflict)
        case (nil, .revision):
            self = .refused(.conflict)
        case (nil, .isNew), (nil, nil):
            switch save.rules.origin {
            case .saves: self = save.insertRefusal.map { .refused($0) } ?? .tryAgain
            case .accounts: self = .refused(.writeDenied)
            }
        case (.some(let finding), _) where save.isConditional && !finding.isReadable:
            self = .refused(.conflict)
        case (.some(let finding), .revision) where !finding.isReadable:
            self = .refused(.conflict)
        case (.some(let finding), _) where !finding.isWritable:
            self = .refused(.writeDenied)
        case (.some(let finding), .isNew):
            self = .refused(.conflict(with: finding.row))
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
            // Which fields would change is unknown: the request is about too much at once.
            self = .refused(.responseTooLarge)
        }
    }

    /// Judges the changes to a record that the caller may write: those that only its owner makes, and operators on what is
    /// stored.
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
        guard let access = save.access, !finding.row.holds(save.rules.standingOfListChanges(for: caller)) else {
            self = .tryAgain
            return
        }
        // What the caller does not see of the list is not part of `current`, and stays as it is.
        let isChange = !(current.access?.isSame(as: access) ?? false)
        self = isChange ? .refused(.accessDenied) : .tryAgainKeepingAccess
    }
}

extension RecordColumn {
    /// A value that the column takes, as it is read back: with the digits of a `real` that psql made.
    fileprivate func kept(_ value: RecordValue) -> RecordValue {
        guard oid == .float4, case .number(let number) = value else { return value }
        return .number(Double(Float(number)))
    }
}

extension TypeRules {
    /// Why a save may make no new record of a draft, where it may change one; nil where it may.
    func refusalOfCreating(_ draft: RecordDraft, with access: RecordAccess) -> SkyrowError? {
        guard access.mayCreate(self) else { return .writeDenied }
        let denied = fields.refusedInNew(draft, by: access.fields, isOwned: hasOwner(in: access.database))
        return denied.isEmpty ? nil : .fieldsDenied(denied)
    }
}

extension SkyrowError {
    static let writeDenied = SkyrowError(.permissionDenied, "You may not write this record.")
    /// `102` for an access list that only a record's owner changes.
    static let accessDenied = SkyrowError(
        .permissionDenied,
        "Only the owner of this record may change its access list; leave _access as it is.",
        info: ["arguments": .list([.string("_access")])]
    )

    static let conflict = SkyrowError(.conflict, "The record is not as the save expects it.")

    static func conflict(with row: StoredRow) -> SkyrowError {
        var error = SkyrowError.conflict
        if row.isWhole, let record = row.collected() { error.info["record"] = .record(record) }
        return error
    }
}
