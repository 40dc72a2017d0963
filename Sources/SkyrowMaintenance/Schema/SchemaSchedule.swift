internal import SkyrowModel
import SkyrowStore

/// The schedule of a plan for a running service. Most changes come first, in one or several short transactions. The
/// changes for which PostgreSQL reads or writes all rows of a large table follow one by one.
struct SchemaSchedule: Hashable, Sendable {
    /// A change of a large table that runs during reads and writes.
    enum Step: Hashable, Sendable {
        /// Fills a new column beside the old one, then replaces the old one.
        case convert(FieldName, FieldConversion, of: RecordTypeName)
        case widenColumn(FieldName, FieldType, of: RecordTypeName)
        /// Keeps the column, and turns its values into references.
        case refer(FieldName, FieldConversion, of: RecordTypeName)
        case buildIndex(DocumentedIndex, of: RecordTypeName)
        case buildReferenceIndex(FieldName, of: RecordTypeName)
        case buildPart(RecordTablePart, of: RecordTypeName)
        /// Validates all foreign keys of the field, or the named constraint, against the existing rows.
        case validateReference(FieldName, of: RecordTypeName)
        case validate(String, of: RecordTypeName)
        case setNotNull(ReservedColumn, of: RecordTypeName)
        /// Adds a sequence field and numbers the existing records.
        case addSequence(FieldName, of: RecordTypeName)
        /// Changes a column that a previous step replaces.
        case change(SchemaFileChange)
    }

    private struct Place: Hashable {
        var type: String
        var field: String?
    }

    private(set) var atOnce: [SchemaFileChange] = []
    private(set) var later: [Step] = []
    /// What cannot be done during reads and writes, a sentence each.
    private(set) var obstacles: [String] = []
    /// The types with large tables, by their new names.
    let large: Set<RecordTypeName>
    /// The current names of renamed types and fields, by their new names.
    private(set) var formerNames: [RecordTypeName: RecordTypeName] = [:]
    private(set) var formerFields: [RecordTypeName: [FieldName: FieldName]] = [:]

    /// - Parameter large: The types with large tables, by their current names.
    init(_ plan: [SchemaFileChange], large: Set<RecordTypeName>) {
        var names = Dictionary(uniqueKeysWithValues: large.map { ($0, $0) })
        for change in plan {
            switch change {
            case .renameType(let former, let newName):
                formerNames[newName] = former
                if large.contains(former) { names[former] = newName }
            case .common(.renameField(let former, let newName, let type)):
                formerFields[type, default: [:]][newName] = former
            default: break
            }
        }
        self.large = Set(names.values)
        var converted: Set<Place> = []
        for change in plan {
            guard let type = try? RecordTypeName(change.type), self.large.contains(type) else {
                atOnce.append(change)
                continue
            }
            let place = Place(type: change.type, field: change.field)
            switch change {
            case .convertField, .common(.addField(_, .sequence, _, _)): converted.insert(place)
            default: break
            }
            add(change, of: type, isOfConverted: converted.contains(place))
        }
    }

    private mutating func add(_ change: SchemaFileChange, of type: RecordTypeName, isOfConverted: Bool) {
        switch change {
        case .convertField(let field, let conversion, _):
            if conversion.rewritesRows {
                later.append(.convert(field, conversion, of: type))
            } else if conversion.isNarrowing {
                later.append(.refer(field, conversion, of: type))
            } else {
                atOnce.append(change)
            }
        case .setDefault, .setComment:
            if isOfConverted { later.append(.change(change)) } else { atOnce.append(change) }
        case .setDeleteRule(_, let field, _, _, _):
            atOnce.append(change)
            later.append(.validateReference(field, of: type))
        case .createIndex(let index, _):
            later.append(.buildIndex(index, of: type))
        case .common(let common):
            switch common.rowWork {
            case .rewriting?:
                if case .addField(let field, .sequence, _, _) = common {
                    later.append(.addSequence(field, of: type))
                } else {
                    refuse(change)
                }
            case .indexing?:
                atOnce.append(change)
                if case .addField(let field, _, _, _) = common { later.append(.buildReferenceIndex(field, of: type)) }
            case .checking?, nil: atOnce.append(change)
            }
        case .setTextLanguage(_, isStored: true, _, _, _):
            refuse(change)
        case .repair(let drift):
            repair(drift, of: type)
        case .setTextLanguage, .renameType, .deleteType, .deleteIndex, .setAccess, .setAccessOfAll, .setLive, .setSync:
            atOnce.append(change)
        }
    }

    private mutating func repair(_ drift: SchemaDrift, of type: RecordTypeName) {
        let change = SchemaFileChange.repair(drift)
        switch (drift.fault, drift.field) {
        case (.reservedNull(let column), _): later.append(.setNotNull(column, of: type))
        case (.noPart(let part), _):
            if part.isIndex {
                later.append(.buildPart(part, of: type))
            } else {
                atOnce.append(change)
                if part.isCheck { later.append(.validate(part.name, of: type)) }
            }
        case (.noReferenceIndex, let field?): later.append(.buildReferenceIndex(field, of: type))
        case (.unvalidatedForeignKey(let name), _): later.append(.validate(name, of: type))
        case (.narrowColumn(let sqlType), let field?):
            later.append(.widenColumn(field, sqlType == "real" ? .number : .integer, of: type))
        case (.textOrder, _): refuse(change)
        case (.noComment, _), (.reservedDefault, _), (.immediateForeignKey, _), (.noIdentity, _),
            (.noReferenceIndex, nil),
            (.narrowColumn, nil), (.unsupportedType, _), (.generated, _), (.required, _), (.unreadableName, _),
            (.invalidIndex, _), (.halfMade, _):
            atOnce.append(change)
        }
    }

    /// The first changes, a transaction each. After a failure, another comparison resumes with the remaining ones.
    var pieces: [[SchemaFileChange]] {
        let new = Set(
            atOnce.lazy.compactMap { if case .common(.createType(let type)) = $0 { type.rawValue } else { nil } }
        )
        func cut(_ changes: [SchemaFileChange]) -> [[SchemaFileChange]] {
            SchemaPieces.cut(changes) { $0.cost(isOfNewType: new.contains($0.type)) }
        }
        let pieces = cut(atOnce)
        guard pieces.count > 1 else { return [atOnce] }
        // Access rules are set before what they protect is made, and removed only after it is deleted.
        return cut(
            atOnce.enumerated().sorted { ($0.element.turn, $0.offset) < ($1.element.turn, $1.offset) }.map(\.element)
        )
    }

    private mutating func refuse(_ change: SchemaFileChange) {
        let place = change.field.map { "\(change.type).\($0)" } ?? change.type
        obstacles.append(
            "\(place) (\(change.summary)): PostgreSQL has to write or sort all records, and \(change.type) has too many to block "
                + "other users meanwhile. Add --lock-tables while the service is not used."
        )
    }
}

extension RecordTablePart {
    var isIndex: Bool {
        switch self {
        case .databaseIndex, .ownerIndex: true
        default: false
        }
    }

    var isCheck: Bool {
        switch self {
        case .idFits, .databaseFits, .accessFits: true
        default: false
        }
    }
}

extension SchemaFileChange {
    /// The position of the change among several transactions.
    fileprivate var turn: Int {
        switch self {
        case .renameType: 0
        case .common(.renameField), .common(.renameRelation): 1
        case .deleteIndex: 2
        case .common(.deleteField), .common(.deleteRelation): 3
        case .setAccess, .setAccessOfAll: 4
        case .common(.createType): 5
        case .common(.addField): 6
        case .common(.widenField), .convertField, .setDeleteRule, .setTextLanguage, .setDefault, .setComment,
            .deleteType,
            .createIndex, .setLive, .setSync, .repair:
            7
        }
    }
}
