package import SkyrowModel

/// What of the catalogue has changed, or is to be read.
package enum CatalogPart: Hashable, Sendable {
    case everything
    /// The record types of these names, whether there are such or not.
    case types(Set<RecordTypeName>)

    /// What covers both.
    package func union(_ other: CatalogPart) -> CatalogPart {
        switch (self, other) {
        case (.everything, _), (_, .everything): .everything
        case (.types(let some), .types(let others)): .types(some.union(others))
        }
    }

    // MARK: Notices

    /// PostgreSQL takes less than 8000 bytes (its manual, NOTIFY).
    private static let maximumNoticeLength = 4000

    /// What follows the schema in a notice about it: nothing for everything, ` note,writer` for two types.
    package var notice: String {
        switch self {
        case .everything:
            return ""
        case .types(let types):
            let names = types.map(\.rawValue).sorted().joined(separator: ",")
            return names.utf8.count > Self.maximumNoticeLength ? "" : " \(names)"
        }
    }

    /// Reads a notice; nil when it is about another schema.
    package init?(notice: String, of schema: String) {
        if notice == schema {
            self = .everything
            return
        }
        guard notice.hasPrefix(schema + " ") else { return nil }
        let names = notice.dropFirst(schema.count + 1).split(separator: ",")
        let types = names.compactMap { try? RecordTypeName(String($0)) }
        // Of what is said in other words, it is known only that something changed.
        self = types.isEmpty || types.count < names.count ? .everything : .types(Set(types))
    }
}
