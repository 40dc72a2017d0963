internal import SkyrowModel

/// The forms of a table, by the fields that readers see and by the readers themselves.
///
/// Readers who see the same fields share one form. What one sees is settled once and not in each of its requests.
struct FieldViewCache<Form: AnyObject & Sendable>: Sendable {
    private var byView: [FieldView: Form] = [:]
    /// nil for the form of those who see all fields, which has this cache.
    private var byReader: [FieldAccess: Form?] = [:]

    /// Beyond this many sets of fields that callers see the least work is to begin again: each combination of roles may have one.
    static var maximumViews: Int { 64 }
    /// Likewise of readers, of whom each user is one.
    static var maximumReaders: Int { 1024 }

    /// nil for a reader of whom nothing is known.
    subscript(reader: FieldAccess) -> Form?? { byReader[reader] }

    /// The form for a reader, kept for the next time.
    ///
    /// - Parameters:
    ///   - view: what the reader sees; nil for all fields.
    ///   - make: makes the form of a view that no reader had before.
    mutating func form(for reader: FieldAccess, _ view: FieldView?, _ make: (FieldView) -> Form) -> Form? {
        if byReader.count >= Self.maximumReaders { byReader.removeAll(keepingCapacity: true) }
        guard let view else {
            byReader.updateValue(nil, forKey: reader)
            return nil
        }
        if byView[view] == nil, byView.count >= Self.maximumViews {
            byView.removeAll(keepingCapacity: true)
            // Or these would keep the forms of before.
            byReader.removeAll(keepingCapacity: true)
        }
        let form = byView[view] ?? make(view)
        byView[view] = form
        byReader.updateValue(form, forKey: reader)
        return form
    }
}
