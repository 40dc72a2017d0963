internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The statement that writes the records of a group: access, precondition, merge and the returned rows.
///
/// ``SaveText`` determines its text, which the table caches. A record that is returned was written. A record that is not returned
/// was refused, and only then a second statement finds the reason.
struct SaveStatement {
    let plan: BatchPlan
    let catalog: SchemaCatalog
    let access: RecordAccess
    /// The time of the request, if an earlier statement has set one; otherwise the statement uses its own time.
    let instant: PostgresTimestamp?
    /// The results of the other writes of the request so far.
    let progress: SaveProgress
    /// The stored ids of the records that all get the values of the plan's only write; nil if each write is a separate record.
    var storedIDs: [String]?
    /// Whether users may have default access lists for new records.
    var hasDefaultLists = false

    /// Returns the statement that writes a group; its text is cached with the table.
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

    /// Returns the statement that selects the stored ids of those records that get the same values and whose rules of fields and
    /// of access lists let the caller make the change; nil if these rules put no condition on a record.
    func guarding(_ group: BatchPlan.Group) -> SQL? {
        let text = text(for: group)
        guard text.guardedAccess != nil || !text.guardedColumns.isEmpty else { return nil }
        let members = WriteGroup(writes: plan.writes, positions: group.members)
        return text.guardingTemplate(on: group.table).binding { parameter, values in
            append(parameter, of: members, in: group, to: &values)
        }
    }

    /// The inputs that determine the text of the statement.
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
            guardedAccess: group.shape.setsAccess && !isPrivate && !group.shape.trustsAccess
                ? guardedAccess(of: group.table.rules) : nil,
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
        if update.isAlways { return nil }
        return SaveText.GuardedAccess(update: update, read: rules.standingOfListReads(for: access.fields))
    }

    private func guardedColumns(of group: BatchPlan.Group) -> [SaveText.GuardedColumn] {
        let rules = group.table.rules.fields
        guard !rules.isEmpty, !access.passesEveryRule || rules.hasKept else { return [] }
        let operators = Set(group.shape.operators.map(\.place))
        return group.shape.columns.enumerated().compactMap { place, column in
            let field = group.table.columns[column].field
            let caller = group.shape.trusted.contains(column) ? .unrestricted : access.fields
            let update =
                operators.contains(place)
                ? rules.standingOfOperators(on: field, for: caller)
                : rules.standing(.update, of: field, for: caller)
            guard !update.isAlways else { return nil }
            let read = rules.standing(.read, of: field, for: caller)
            return SaveText.GuardedColumn(place: column, update: update, read: read)
        }
    }

    // MARK: Values

    /// Appends the values of a column in the type of its field.
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
            // A record with bound operands has a separate statement.
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
            // In a private database the id may be that of a private record or of a public one.
            let prefix = StoredID.prefix(of: database)
            values.append(members.map(\.id) + (prefix.isEmpty ? [] : members.map { prefix + $0.id }))
        }
    }

    // MARK: References

    /// How the references of a group are resolved; nil if it has none, or if foreign keys alone check them.
    private func references(of group: BatchPlan.Group) -> SaveText.References? {
        guard looksUpReferences else { return nil }
        let targets = group.shape.columns.compactMap { place -> SaveText.Target?? in
            switch group.table.columns[place].type {
            case .array(.reference(let type)) where looksUpElements, .reference(let type), .relation(let type):
                // Hooks refer to any public record.
                let isTrusted = group.shape.trusted.contains(place)
                return .some(
                    catalog[type].map {
                        let shared = isTrusted ? Self.everyPublicRecord : access.of($0.rules).shared
                        return SaveText.Target(table: $0.identifier, shared: shared.shape)
                    }
                )
            default:
                return nil
            }
        }
        guard !targets.isEmpty else { return nil }
        var references = SaveText.References(targets: targets, hasPending: hasPendingReference(group))
        if case .user = database {
            // All records of a private database are the caller's, regardless of the rules of their types.
            references.own = access.standard.read.shape
        }
        return references
    }

    private static let everyPublicRecord = AccessScope(database: .everyone, .always)

    /// Where a reference leads, as far as this request determines it.
    private enum Target {
        /// A record that the request does not write, or failed to write: the statement looks it up.
        case elsewhere
        /// A record that the request has written. In a private database, where all records are the caller's, also one that it
        /// will write before the foreign keys are checked.
        case written
        /// A public record that the same statement, or a later one of its transaction, may write.
        case pending
    }

    private func target(_ target: RecordID, of write: RecordWrite) -> Target {
        guard let position = plan.firstWrite(of: target) else { return .elsewhere }
        // A record that refers to itself is written with its target.
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

    /// Returns a reference as the statement takes it: the id that clients see, `~` and the stored id if the request writes the
    /// record, or `~~` and the id if it may write it.
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

    /// Returns an element of an array as the statement takes it in a private database: the id that clients see, or the stored id
    /// of a record that this request writes.
    private func storedElement(_ id: RecordID, of write: RecordWrite) -> String {
        switch target(id, of: write) {
        case .elsewhere, .pending: id.id
        case .written: StoredID(id.id, in: database).text
        }
    }

    /// In a private database elements of arrays are looked up, to decide which of two records they mean. A public record stores
    /// them as they are sent, since no foreign key checks them.
    private var looksUpElements: Bool {
        switch database {
        case .everyone, .union: false
        case .user: true
        }
    }

    /// If the caller may refer to all public records, the foreign key alone checks references.
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
