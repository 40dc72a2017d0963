package import SkyrowModel

/// A part of the catalog that has changed or should be read.
package enum CatalogPart: Hashable, Sendable {
    case everything
    /// The record types of these names, which need not exist.
    case types(Set<RecordTypeName>)

    /// The part that covers both.
    package func union(_ other: CatalogPart) -> CatalogPart {
        switch (self, other) {
        case (.everything, _), (_, .everything): .everything
        case (.types(let some), .types(let others)): .types(some.union(others))
        }
    }

    // MARK: Notices

    /// Stays below the 8000 bytes of a notification in PostgreSQL (its manual, NOTIFY).
    private static let maximumNoticeLength = 4000

    /// The text that follows the schema in a notification: nothing for everything, ` note,writer` for two types.
    package var notice: String {
        switch self {
        case .everything:
            return ""
        case .types(let types):
            let names = types.map(\.rawValue).sorted().joined(separator: ",")
            return names.utf8.count > Self.maximumNoticeLength ? "" : " \(names)"
        }
    }

    /// Reads a notification; returns nil if it is about another schema.
    package init?(notice: String, of schema: String) {
        if notice == schema {
            self = .everything
            return
        }
        guard notice.hasPrefix(schema + " ") else { return nil }
        let names = notice.dropFirst(schema.count + 1).split(separator: ",")
        let types = names.compactMap { try? RecordTypeName(String($0)) }
        // With a name that cannot be read, anything may have changed.
        self = types.isEmpty || types.count < names.count ? .everything : .types(Set(types))
    }
}
