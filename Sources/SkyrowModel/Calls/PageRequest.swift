/// The request for a page of `role:list` or `role:members`.
package struct PageRequest: Hashable, Sendable {
    package static let defaultLimit = 100
    package static let maximumLimit = 1000

    package var limit: Int
    /// The cursor of the previous page; nil for the first page.
    package var after: String?

    package init(limit: Int = PageRequest.defaultLimit, after: String? = nil) {
        self.limit = limit
        self.after = after
    }
}
