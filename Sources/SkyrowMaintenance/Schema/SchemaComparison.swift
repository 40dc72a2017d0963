internal import SkyrowModel
import SkyrowStore

/// Computes a ``SchemaDifference``: matches tables to types and compares each pair.
struct SchemaComparison {
    private let document: SchemaDocument
    private let inventory: SchemaInventory

    private(set) var changes: [SchemaDifference.Change] = []
    private(set) var refusals: [String] = []
    /// The types that stay: current names to new names.
    private var kept: [RecordTypeName: RecordTypeName] = [:]
    /// The fields that stay: current names to new names, by the type's current name.
    private var keptFields: [RecordTypeName: [FieldName: FieldName]] = [:]
    /// The drift that the changes resolve.
    private var settled: Set<SchemaDrift> = []

    init(_ document: SchemaDocument, _ inventory: SchemaInventory) {
        self.document = document
        self.inventory = inventory
        matchTypes()
        let formerNames = Dictionary(kept.map { ($0.value, $0.key) }) { first, _ in first }
        for (name, type) in document.types.sorted(by: { $0.key < $1.key }) {
            if let former = formerNames[name], let table = inventory.tables[former] {
                compare(type, named: name, with: table, named: former)
            } else {
                create(type, named: name)
            }
            refuseLostReferences(of: type, named: name)
        }
        for name in inventory.tables.keys.sorted() where kept[name] == nil { add(.deleteType(name), .records(name)) }
        if let access = document.accessOfAll, access != inventory.accessOfAll { add(.setAccessOfAll(access)) }
    }

    /// The drift of the types and fields that stay, under their new names.
    var drift: [SchemaDrift] {
        inventory.drift.compactMap { drift in
            guard !settled.contains(drift) else { return nil }
            guard let type = try? RecordTypeName(drift.relation), inventory.tables[type] != nil else { return drift }
            guard let newName = kept[type] else { return nil }
            var drift = drift
            if let field = drift.field {
                guard let newField = keptFields[type]?[field] else { return nil }
                drift.field = newField
            }
            drift.relation = newName.rawValue
            return drift
        }
    }

    private mutating func add(_ change: SchemaFileChange, _ loss: SchemaLoss? = nil) {
        changes.append(SchemaDifference.Change(change: change, loss: loss))
    }

    /// Matches each type to its table. A type is renamed if the file says so and the table still has the former name.
    private mutating func matchTypes() {
        for (name, type) in document.types.sorted(by: { $0.key < $1.key }) {
            if inventory.tables[name] != nil {
                kept[name] = name
                continue
            }
            guard let former = type.renamedFrom, inventory.tables[former] != nil else { continue }
            if TypeRules.builtIn(former).origin == .accounts {
                refusals.append("The type user cannot be renamed: accounts use it.")
            } else if document.types[former] != nil {
                refusals.append("\(name) is renamed from \(former), which is also in the file: keep one of them.")
            } else if let other = kept[former] {
                refusals.append("\(name) and \(other) are both renamed from \(former).")
            } else {
                refuseTakenName(name)
                kept[former] = name
                add(.renameType(former, to: name))
            }
        }
        // A file without the type `user` leaves that type unchanged.
        if document.types[.user] == nil, let user = inventory.tables[.user] {
            kept[.user] = .user
            keptFields[.user] = Dictionary(user.fields.keys.map { ($0, $0) }) { first, _ in first }
        }
    }

    private mutating func refuseTakenName(_ name: RecordTypeName) {
        if name.isPostgreSQLs { refusals.append(RecordTypeName.refusal(ofPostgreSQLs: name)) }
        guard inventory.otherNames.contains(name.rawValue) else { return }
        refusals.append("The database has a relation named \(name) that is not a record type; choose another name.")
    }

    private mutating func refuseLostReferences(of type: DocumentedType, named name: RecordTypeName) {
        for (field, wanted) in type.fields.sorted(by: { $0.key < $1.key }) {
            guard let target = wanted.type.target, target != .user, document.types[target] == nil else { continue }
            refusals.append("\(name).\(field) refers to the type \(target), which is not in the file.")
        }
    }

    private mutating func create(_ type: DocumentedType, named name: RecordTypeName) {
        refuseTakenName(name)
        add(.common(.createType(name)))
        if let comment = type.comment { add(.setComment(comment, nil, of: name)) }
        // Rules may exist before their type does.
        if let access = type.access { set(access, of: type, named: name) }
        var comparison = TableComparison(type, named: name, with: InventoryTable(), named: name, renamed: kept)
        comparison.compareFields()
        comparison.compareIndexes()
        comparison.compareLive()
        comparison.compareSync()
        changes += comparison.changes
        refusals += comparison.refusals
    }

    private mutating func set(_ access: ClassAccess, of type: DocumentedType, named name: RecordTypeName) {
        add(.setAccess(access, of: name))
        let fields = Set(access.rules.values.flatMap(\.allow)).sorted().compactMap { subject -> FieldName? in
            if case .field(let field) = subject { field } else { nil }
        }
        for field in fields where type.fields[field].flatMap({ MemberField(field, of: $0.type) }) == nil {
            refusals.append("A rule of \(name) names \(field), which is not a field of strings or references to users.")
        }
        do throws(SkyrowError) {
            try access.defaultAccess?.requireDefault(maximumEntries: AccessList.utmostMaximum)
        } catch {
            refusals.append("The default_access of \(name): \(error.message)")
        }
    }

    private mutating func compare(
        _ type: DocumentedType,
        named name: RecordTypeName,
        with table: InventoryTable,
        named former: RecordTypeName
    ) {
        var comparison = TableComparison(type, named: name, with: table, named: former, renamed: kept)
        comparison.compareComment()
        comparison.compareFields()
        comparison.compareIndexes()
        comparison.compareLive()
        comparison.compareSync()
        if let access = type.access, access != table.access { set(access, of: type, named: name) }
        changes += comparison.changes
        refusals += comparison.refusals
        keptFields[former] = comparison.keptFields
        for drift in inventory.drift where drift.relation == former.rawValue {
            if comparison.settles(drift) { settled.insert(drift) }
        }
    }
}
