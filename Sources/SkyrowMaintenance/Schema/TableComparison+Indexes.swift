internal import SkyrowModel
import SkyrowStore

extension TableComparison {
    /// Compares the indexes that a file can describe. Other indexes were made in psql and stay.
    mutating func compareIndexes() {
        var missing = type.indexes
        for index in table.indexes where index.isWritable {
            guard let described = index.described.flatMap(renamed) else { continue }
            if type.indexes.contains(described) {
                missing.remove(described)
            } else {
                add(.deleteIndex(index, of: name))
            }
        }
        for index in missing.sorted() { create(index) }
    }

    /// Returns the index with the fields' new names; nil if a field, and so the index, is deleted.
    private func renamed(_ index: DocumentedIndex) -> DocumentedIndex? {
        var index = index
        for place in index.columns.indices {
            guard let field = try? FieldName(index.columns[place].name) else { continue }
            guard let newName = keptFields[field] else { return nil }
            index.columns[place].name = newName.rawValue
        }
        return index
    }

    private mutating func create(_ index: DocumentedIndex) {
        guard index != .ofFollowedType else {
            return refuse("\(name) has the index that \"sync\": true creates; remove it from the file.")
        }
        for column in index.columns where ReservedColumn(rawValue: column.name) == nil {
            guard let field = try? FieldName(column.name), isKnown(field) else {
                return refuse(
                    "The index \(index.text) of \(name) names \(column.name), which is not a field of the type."
                )
            }
        }
        add(.createIndex(index, of: name))
    }

    /// Fields that accounts require always exist.
    private func isKnown(_ field: FieldName) -> Bool {
        type.fields[field] != nil || TypeRules.builtIn(name).requiredFields.contains(field)
    }
}

extension InventoryIndex {
    /// Whether a schema file decides about the index.
    var isWritable: Bool {
        isValid && described != nil && described != .ofFollowedType && !RecordTablePart.isStandard(self)
            && LoginKeys.key(ofIndex: name) == nil
    }
}

extension DocumentedIndex {
    /// The index of a type's changes, which a file writes as `"sync": true`.
    static let ofFollowedType = DocumentedIndex([Column("_database"), Column("_revision")])
}
