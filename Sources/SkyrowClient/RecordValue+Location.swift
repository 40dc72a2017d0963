public import SkyrowModel

extension RecordValue {
    /// The value of a location.
    public var locationValue: Location? {
        if case .location(let location) = self { location } else { nil }
    }

    /// A location in degrees of WGS 84; throws `108 InvalidArgument` for a number out of range.
    ///
    /// ```swift
    /// let draft = try RecordDraft("shop/1", ["place": .location(latitude: 22.28, longitude: 114.15)])
    /// ```
    public static func location(latitude: Double, longitude: Double) throws(SkyrowError) -> RecordValue {
        .location(try Location(latitude: latitude, longitude: longitude))
    }
}
