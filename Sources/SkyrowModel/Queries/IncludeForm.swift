/// Where a page contains the records that its records include (`include_form`).
public enum IncludeForm: String, Hashable, Sendable, CaseIterable {
    /// In each record that includes them.
    case nested
    /// Beside the records of the page, each once.
    case table
}
