internal import SkyrowModel
import SkyrowStore

extension TableComparison {
    /// Compares the indexes that a file can say; others are psql's and stay.
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

    /// The index by the names that fields will have; nil when one of them goes, and the index with it.
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
            return refuse("\(name) has the index that \"sync\": true stands for; take it out of the file.")
        }
        for column in index.columns where ReservedColumn(rawValue: column.name) == nil {
            guard let field = try? FieldName(column.name), isKnown(field) else {
                return refuse("The index \(index.text) of \(name) names \(column.name), which is no field of the type.")
            }
        }
        add(.createIndex(index, of: name))
    }

    /// The fields that accounts need are there in any case.
    private func isKnown(_ field: FieldName) -> Bool {
        type.fields[field] != nil || TypeRules.builtIn(name).requiredFields.contains(field)
    }
}

extension InventoryIndex {
    /// Whether it is a file's to say whether the index is there.
    var isWritable: Bool {
        isValid && described != nil && described != .ofFollowedType && !RecordTablePart.isStandard(self)
            && LoginKeys.key(ofIndex: name) == nil
    }
}

extension DocumentedIndex {
    /// The one by which the changes of a type are found, which a file has as `"sync": true`.
    static let ofFollowedType = DocumentedIndex([Column("_database"), Column("_revision")])
}
