internal import SkyrowModel

/// The forms of a table, by visible fields and by reader.
///
/// Readers with the same visible fields share one form. The visible fields of a reader are determined once, not per request.
struct FieldViewCache<Form: AnyObject & Sendable>: Sendable {
    private var byView: [FieldView: Form] = [:]
    /// nil for a reader who sees all fields, and whose form is the table that owns this cache.
    private var byReader: [FieldAccess: Form?] = [:]

    /// Upper bound on sets of visible fields: each combination of roles may have one. A full cache is emptied, which costs least.
    static var maximumViews: Int { 64 }
    /// Upper bound on readers, of which each user is one.
    static var maximumReaders: Int { 1024 }

    /// nil for a reader that is not cached.
    subscript(reader: FieldAccess) -> Form?? { byReader[reader] }

    /// Returns the form for a reader and caches it.
    ///
    /// - Parameters:
    ///   - view: the visible fields; nil for all fields.
    ///   - make: makes the form of a view that is not cached.
    mutating func form(for reader: FieldAccess, _ view: FieldView?, _ make: (FieldView) -> Form) -> Form? {
        if byReader.count >= Self.maximumReaders { byReader.removeAll(keepingCapacity: true) }
        guard let view else {
            byReader.updateValue(nil, forKey: reader)
            return nil
        }
        if byView[view] == nil, byView.count >= Self.maximumViews {
            byView.removeAll(keepingCapacity: true)
            // Otherwise these would keep the old forms in memory.
            byReader.removeAll(keepingCapacity: true)
        }
        let form = byView[view] ?? make(view)
        byView[view] = form
        byReader.updateValue(form, forKey: reader)
        return form
    }
}
