/// A point on the Earth, in degrees of WGS 84 (EPSG:4326).
///
/// ```swift
/// let office = try Location(latitude: 22.28, longitude: 114.15)
/// ```
///
/// Two locations are equal when both numbers are: the poles, and the meridians at −180 and 180, are not unified.
public struct Location: Hashable, Sendable {
    /// North of the equator, −90 to 90.
    public let latitude: Double
    /// East of Greenwich, −180 to 180.
    public let longitude: Double

    /// Throws `108 InvalidArgument` for a latitude or longitude that is out of range or not a number.
    public init(latitude: Double, longitude: Double) throws(SkyrowError) {
        guard let location = Location(validLatitude: latitude, longitude: longitude) else {
            throw .invalidArgument(
                "A location must have a latitude of -90 to 90 and a longitude of -180 to 180 degrees."
            )
        }
        self = location
    }

    /// nil for a latitude or longitude that is out of range or not a number.
    package init?(validLatitude latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }
}

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
