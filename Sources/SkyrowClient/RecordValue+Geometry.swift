public import SkyrowModel

extension RecordValue {
    /// The value of a geometry.
    ///
    /// ```swift
    /// let draft = try RecordDraft("park/1", ["area": .geometry(.polygon([[a, b, c, a]]))])
    /// ```
    public var geometryValue: Geometry? {
        if case .geometry(let geometry) = self { geometry } else { nil }
    }
}
