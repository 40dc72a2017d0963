internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The one statement that writes the records of a group: access, precondition, merge and the rows that come back.
///
/// Its text is that of ``SaveText``, which the table keeps. A record that comes back was written; one that does not was
/// refused, and only then a second statement finds the reason.
struct SaveStatement {
    let plan: BatchPlan
    let catalog: SchemaCatalog
    let access: RecordAccess
    /// The time of the request when an earlier statement of it has one already; otherwise the statement's own.
    let instant: PostgresTimestamp?
    /// What has become of the other writes of the request so far.
    let progress: SaveProgress
    /// The records that all get what the only write of the plan says; nil where each write is a record of its own.
    var storedIDs: [String]?
    /// Whether users may have lists of their own for new records.
    var hasDefaultLists = false

    /// The statement that writes a group; its text is kept with the table.
    func sql(for group: BatchPlan.Group) -> SQL {
        let text = text(for: group)
        let members = WriteGroup(writes: plan.writes, positions: group.members)
        let template: StatementTemplate
        if let condition = members.condition {
            template = text.template(on: group.table, if: StatementTemplate(condition) { .condition($0) })
        } else if group.shape.hasFewOperators {
            template = group.table.shapes.template(.save(text), on: group.table)
        } else {
            template = text.template(on: group.table)
        }
        return template.binding { parameter, values in
            append(parameter, of: members, in: group, to: &values)
        }
    }

    /// Which of some records that all get the same the rules of fields and of access lists let the caller change so: their
    /// stored ids; nil where these rules ask nothing of a record.
    func guarding(_ group: BatchPlan.Group) -> SQL? {
        let text = text(for: group)
        guard text.guardedAccess != nil || !text.guardedColumns.isEmpty else { return nil }
        let members = WriteGroup(writes: plan.writes, positions: group.members)
        return text.guardingTemplate(on: group.table).binding { parameter, values in
            append(parameter, of: members, in: group, to: &values)
        }
    }

    /// What the text of the statement is made of.
    func text(for group: BatchPlan.Group) -> SaveText {
        let isPrivate: Bool
        switch database {
        case .user: isPrivate = true
        case .everyone, .union: isPrivate = false
        }
        let open = access.of(group.table.rules)
        return SaveText(
            shape: group.shape,
            rows: storedIDs != nil ? .alike : group.members.count == 1 ? .one : .several,
            hasInstant: instant != nil,
            isPrivate: isPrivate,
            update: open.update.shape,
            references: references(of: group),
            guardedColumns: guardedColumns(of: group),
            guardedAccess: group.shape.setsAccess && !isPrivate ? guardedAccess(of: group.table.rules) : nil,
            read: group.shape.isConditional ? open.read.shape : nil,
            hasOwner: group.table.rules.hasOwner(in: database),
            defaultAccess: isPrivate || group.shape.setsAccess || !group.shape.mayCreate
                ? nil
                : DefaultAccess(ofType: group.table.rules.defaultAccess != nil, ofUser: namesUser && hasDefaultLists)
        )
    }

    private var database: DatabaseScope { access.database }
    private var namesUser: Bool { access.actor != nil }

    private func guardedAccess(of rules: TypeRules) -> SaveText.GuardedAccess? {
        let update = rules.standingOfListChanges(for: access.fields)
        if update == .all { return nil }
        return SaveText.GuardedAccess(update: update, read: rules.standingOfListReads(for: access.fields))
    }

    private func guardedColumns(of group: BatchPlan.Group) -> [SaveText.GuardedColumn] {
        let rules = group.table.rules.fields
        guard !rules.isEmpty, !access.passesEveryRule || rules.hasKept else { return [] }
        let operators = Set(group.shape.operators.map(\.place))
        return group.shape.columns.enumerated().compactMap { place, column in
            let field = group.table.columns[column].field
            let update =
                operators.contains(place)
                ? rules.standingOfOperators(on: field, for: access.fields)
                : rules.standing(.update, of: field, for: access.fields)
            guard update != .all else { return nil }
            let read = rules.standing(.read, of: field, for: access.fields)
            return SaveText.GuardedColumn(place: column, update: update, read: read)
        }
    }

    // MARK: Values

    /// Appends the values of a column in the type that its fields have.
    private func append(
        _ members: WriteGroup,
        _ place: Int,
        of group: BatchPlan.Group,
        to values: inout PostgresBindings
    ) {
        let type = group.table.columns[group.shape.columns[place]].type
        if case .reference = type {
            values.append(each: members.count) {
                let write = members.writes[members.positions[$0]]
                return storedReference(write.values[place], of: write)
            }
        } else if case .array(.reference) = type, looksUpElements, let column = type.column as? ArrayColumn {
            values.append(each: members.count) {
                let write = members.writes[members.positions[$0]]
                return column.value(of: write.values[place]) { storedElement($0, of: write) }
            }
        } else {
            type.column.bind(members, at: place, to: &values)
        }
    }

    /// Appends the value of a parameter.
    private func append(
        _ parameter: StatementParameter,
        of members: WriteGroup,
        in group: BatchPlan.Group,
        to values: inout PostgresBindings
    ) {
        let (writes, positions) = (members.writes, members.positions)
        switch parameter {
        case .ids:
            if let storedIDs { return values.append(storedIDs) }
            let prefix = StoredID.prefix(of: database)
            values.append(each: positions.count) {
                let id = writes[positions[$0]].id.id
                return prefix.isEmpty ? id : prefix + id
            }
        case .accessLists:
            values.append(each: positions.count) { writes[positions[$0]].access.map { PostgresJSONB($0.storedJSON) } }
        case .revisions: values.append(each: positions.count) { writes[positions[$0]].precondition?.expectedRevision }
        case .column(let place): append(members, place, of: group, to: &values)
        case .operand(let place, let number):
            // Records with bound operands are statements of their own.
            guard let one = writes[positions[0]].operators.first(where: { $0.place == place }),
                one.operands.indices.contains(number)
            else { return }
            append(one.operands[number], of: group.table.columns[one.column], in: writes[positions[0]], to: &values)
        case .condition(let number):
            if let condition = members.condition { values.append(valueAt: number, of: condition.bindings) }
        case .elementValue(let place, let step, let number):
            guard let form = group.shape.operators.first(where: { $0.place == place })?.form,
                let predicate = form.predicate(ofStep: step)
            else { return }
            values.append(valueAt: number, of: SaveText.condition(predicate, on: group.table).bindings)
        case .instant: if let instant { values.append(instant) }
        case .defaultAccess:
            if let list = group.table.rules.defaultAccess { values.append(PostgresJSONB(list.storedJSON)) }
        case .wireIDs, .newOwner, .actor, .database, .prefix, .access:
            access.append(parameter, to: &values)
        }
    }

    private func append(
        _ operand: SettledOperator.Operand,
        of column: RecordColumn,
        in write: RecordWrite,
        to values: inout PostgresBindings
    ) {
        switch operand {
        case .value(let value):
            if case .array(.reference) = column.type, looksUpElements, let type = column.type.column as? ArrayColumn {
                values.append(type.value(of: value) { storedElement($0, of: write) })
            } else {
                column.type.column.bind(value, to: &values)
            }
        case .json(let text): values.append(PostgresJSONB(utf8: text.utf8))
        case .index(let index): values.append(index)
        case .names(let names): values.append(names)
        case .number(let text): values.append(String(decoding: text.utf8, as: UTF8.self))
        case .added(let members): values.append(members.map { storedReference($0, of: write) })
        case .removed(let members):
            // In a private database the id may be that of a record of its own, or of a public one.
            let prefix = StoredID.prefix(of: database)
            values.append(members.map(\.id) + (prefix.isEmpty ? [] : members.map { prefix + $0.id }))
        }
    }

    // MARK: References

    /// How the references of a group are settled; nil when it has none, or foreign keys judge alone.
    private func references(of group: BatchPlan.Group) -> SaveText.References? {
        guard looksUpReferences else { return nil }
        let targets = group.shape.columns.compactMap { place -> SaveText.Target?? in
            switch group.table.columns[place].type {
            case .array(.reference(let type)) where looksUpElements, .reference(let type), .relation(let type):
                return .some(
                    catalog[type].map {
                        SaveText.Target(table: $0.identifier, shared: access.of($0.rules).shared.shape)
                    }
                )
            default:
                return nil
            }
        }
        guard !targets.isEmpty else { return nil }
        var references = SaveText.References(
            targets: targets,
            hasPending: hasPendingReference(group)
        )
        if case .user = database {
            // Its records are the caller's, whatever their types' rules.
            references.own = access.standard.read.shape
        }
        return references
    }

    /// What a reference leads to, as far as this request settles it.
    private enum Target {
        /// To a record that the request does not write, or failed to write: the statement looks it up.
        case elsewhere
        /// To a record that the request has written or, in a private database, where all records are the caller's, will
        /// write before the foreign keys are checked.
        case written
        /// To a public record that the same statement, or a later one of its transaction, may write.
        case pending
    }

    private func target(_ target: RecordID, of write: RecordWrite) -> Target {
        guard let position = plan.firstWrite(of: target) else { return .elsewhere }
        // A record that refers to itself is written with what it refers to.
        if target == write.id { return .written }
        if case .user = database { return .written }
        switch progress.standing(of: position) {
        case .written: return .written
        case .failed: return .elsewhere
        case .open: return .pending
        }
    }

    private func hasPendingReference(_ group: BatchPlan.Group) -> Bool {
        guard plan.writes.count > 1 else { return false }
        return group.members.contains { member in
            let write = plan.writes[member]
            return write.refers { id in if case .pending = target(id, of: write) { true } else { false } }
        }
    }

    /// What the statement is given for a reference: the id that clients see; behind `~` the stored id when the record
    /// is written by this request, and behind `~~` the id of one that may be.
    private func storedReference(_ value: RecordValue, of write: RecordWrite) -> String? {
        guard case .reference(let id) = value else { return nil }
        return storedReference(id, of: write)
    }

    private func storedReference(_ id: RecordID, of write: RecordWrite) -> String {
        guard looksUpReferences else { return id.id }
        switch target(id, of: write) {
        case .elsewhere: return id.id
        case .written: return "~" + StoredID(id.id, in: database).text
        case .pending: return "~~" + id.id
        }
    }

    /// What the statement is given for an element of an array, in a private database: the id that clients see, or the
    /// stored id of a record that this request writes.
    private func storedElement(_ id: RecordID, of write: RecordWrite) -> String {
        switch target(id, of: write) {
        case .elsewhere, .pending: id.id
        case .written: StoredID(id.id, in: database).text
        }
    }

    /// Elements of arrays are looked up in a private database, for which of two records they mean; what a public record
    /// refers to is stored as it is sent, since no key asks whether there is such a record.
    private var looksUpElements: Bool {
        switch database {
        case .everyone, .union: false
        case .user: true
        }
    }

    /// Where all public records may be referred to, the foreign key judges alone.
    private var looksUpReferences: Bool {
        switch database {
        case .everyone, .union: access.hidesRecords
        case .user: true
        }
    }
}

extension SavePrecondition {
    fileprivate var expectedRevision: Int64? {
        switch self {
        case .revision(let revision): revision
        case .isNew, .exists: nil
        }
    }
}
