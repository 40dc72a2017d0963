/// Where a page has the records that its own records include (`include_form`).
public enum IncludeForm: String, Hashable, Sendable, CaseIterable {
    /// In each record that includes them.
    case nested
    /// Beside the records of the page, each once.
    case table
}
