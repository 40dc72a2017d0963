internal import SkyrowModel

/// The records that those of a page include, each once, in the order in which the page comes upon them.
///
/// A private record may have the id of a public one. Of two that clients see by the same id the table has the first; the other
/// stays nested in what includes it.
final class IncludedTable: Sendable {
    let records: [IncludedRecord]
    /// The stored ids of the records by the ids that clients see; nil where each of these is one record.
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

    /// Whether a record that the page includes is in the table.
    func hasRecord(_ included: IncludedRow) -> Bool {
        guard let storedIDs else { return true }
        return included.storedID.map { storedIDs[TextKey(included.id(of: $0))] == TextKey($0) } ?? false
    }
}
