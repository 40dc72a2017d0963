package import SkyrowModel

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension Location {
    /// The radius of the sphere for distances, in metres: the mean radius of WGS 84, as in PostGIS.
    private static let radius = 6_371_008.771415059

    /// Returns the great-circle distance to another location in metres.
    ///
    /// Vincenty's formula for the sphere: unlike the haversine it loses no digits for nearly antipodal points. Every step is
    /// that of PostGIS (`sphere_distance` in lwgeodetic.c), so that the last digit is the same; it may differ in the opposite
    /// direction.
    package func distance(to other: Location) -> Double {
        let (latitude, otherLatitude) = (Self.radians(self.latitude), Self.radians(other.latitude))
        let between = Self.meridian(other.longitude) - Self.meridian(longitude)
        let across = cos(otherLatitude) * sin(between)
        let along =
            cos(latitude) * sin(otherLatitude) - sin(latitude) * cos(otherLatitude) * cos(between)
        let down = sin(latitude) * sin(otherLatitude) + cos(latitude) * cos(otherLatitude) * cos(between)
        return Self.radius * atan2((across * across + along * along).squareRoot(), down)
    }

    /// Returns the longitude in radians; -180 degrees become 180 degrees.
    private static func meridian(_ longitude: Double) -> Double {
        let meridian = radians(longitude)
        return meridian == -.pi ? .pi : meridian
    }

    private static func radians(_ degrees: Double) -> Double { degrees * .pi / 180 }
}

extension ResolvedPlace {
    /// Returns whether a location meets the condition.
    func holds(for location: Location) -> Bool {
        switch self {
        case .anywhere: true
        case .within(let center, let metres): location.distance(to: center) <= metres
        case .boxes(let boxes): boxes.contains { $0.covers(location) }
        case .polygon(let polygon): polygon.covers(location)
        }
    }
}
