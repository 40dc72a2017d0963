/// A shape in longitude and latitude: a geometry of GeoJSON (RFC 7946) of two dimensions, in degrees of WGS 84.
///
/// ```swift
/// let park = Geometry.polygon([[a, b, c, a]])
/// ```
public indirect enum Geometry: Hashable, Sendable {
    case point(Location)
    case multiPoint([Location])
    /// At least two positions.
    case lineString([Location])
    case multiLineString([[Location]])
    /// The outer ring, then the rings of holes; each has at least four positions, of which the last is the first.
    case polygon([[Location]])
    case multiPolygon([[[Location]]])
    case collection([Geometry])

    /// Upper bound on the positions of a geometry.
    public static let maximumPositions = 10_000
    /// Upper bound on the nesting of collections.
    package static let maximumDepth = 16
}

extension Geometry {
    /// The points, lines and polygons that the geometry consists of.
    package var parts: [Geometry] {
        switch self {
        case .point, .lineString, .polygon: [self]
        case .multiPoint(let points): points.map { .point($0) }
        case .multiLineString(let lines): lines.map { .lineString($0) }
        case .multiPolygon(let polygons): polygons.map { .polygon($0) }
        case .collection(let geometries): geometries.flatMap(\.parts)
        }
    }

    package var positions: [Location] {
        switch self {
        case .point(let point): [point]
        case .multiPoint(let positions), .lineString(let positions): positions
        case .multiLineString(let lines), .polygon(let lines): lines.flatMap { $0 }
        case .multiPolygon(let polygons): polygons.flatMap { $0.flatMap { $0 } }
        case .collection(let geometries): geometries.flatMap(\.positions)
        }
    }

    /// Why the geometry is not stored, as a clause that follows the name of its field; nil for one that is stored.
    package var fault: String? {
        if positions.count > Self.maximumPositions { return "holds at most \(Self.maximumPositions) positions" }
        return shapeFault(depth: 1)
    }

    private func shapeFault(depth: Int) -> String? {
        func line(_ positions: [Location]) -> String? {
            positions.count < 2 ? "holds lines of at least two positions" : nil
        }
        func polygon(_ rings: [[Location]]) -> String? {
            guard !rings.isEmpty, rings.allSatisfy({ $0.count >= 4 }) else {
                return "holds polygons whose rings have at least four positions"
            }
            let isClosed = rings.allSatisfy { ring in ring[0].isSame(as: ring[ring.count - 1]) }
            return isClosed ? nil : "holds polygons whose rings end where they begin"
        }
        func all<Part>(_ parts: [Part], _ fault: (Part) -> String?) -> String? {
            parts.isEmpty ? "holds geometries that are not empty" : parts.lazy.compactMap(fault).first
        }
        return switch self {
        case .point: nil
        case .multiPoint(let points): all(points) { _ in nil }
        case .lineString(let positions): line(positions)
        case .multiLineString(let lines): all(lines, line)
        case .polygon(let rings): polygon(rings)
        case .multiPolygon(let polygons): all(polygons, polygon)
        case .collection where depth == Self.maximumDepth: "holds collections at most \(Self.maximumDepth) deep"
        case .collection(let geometries): all(geometries) { $0.shapeFault(depth: depth + 1) }
        }
    }

    /// Whether both are stored identically, which 0 and -0 are not.
    package func isSame(as other: Geometry) -> Bool {
        guard self == other else { return false }
        return zip(positions, other.positions).allSatisfy { $0.isSame(as: $1) }
    }
}

extension Location {
    /// Whether both are stored identically, which 0 and -0 are not.
    package func isSame(as other: Location) -> Bool {
        latitude.bitPattern == other.latitude.bitPattern && longitude.bitPattern == other.longitude.bitPattern
    }
}

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
