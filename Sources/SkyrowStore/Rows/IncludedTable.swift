internal import SkyrowModel

/// The records included by those of a page, each once, in the order of their first occurrence.
///
/// A private record may have the same wire id as a public one. The table has the first of two such records; the other one stays
/// nested in the record that includes it.
final class IncludedTable: Sendable {
    let records: [IncludedRecord]
    /// The stored ids by the ids on the wire; nil if each wire id belongs to one record.
    private let storedIDs: [TextKey: TextKey]?

    /// - Parameter order: the rows of the page.
    init(of page: StoredRows, in order: [Int]) {
        var records: [IncludedRecord] = []
        var storedIDs: [TextKey: TextKey] = [:]
        var hasTwins = false
        for row in order {
            page.forEachIncluded(in: row) { included in
                guard let stored = included.storedID else { return }
                let id = included.id(of: stored)
                let known = storedIDs[TextKey(id)]
                if known == nil {
                    storedIDs[TextKey(id)] = TextKey(stored)
                    records.append(IncludedRecord(id: id, source: included))
                } else if known != TextKey(stored) {
                    hasTwins = true
                }
            }
        }
        self.records = records
        self.storedIDs = hasTwins ? storedIDs : nil
    }

    func hasRecord(_ included: IncludedRow) -> Bool {
        guard let storedIDs else { return true }
        return included.storedID.map { storedIDs[TextKey(included.id(of: $0))] == TextKey($0) } ?? false
    }
}
