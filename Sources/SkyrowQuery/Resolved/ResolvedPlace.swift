package import SkyrowModel

/// A resolved condition on a location; unknown for a missing location.
package enum ResolvedPlace: Hashable, Sendable {
    /// Anywhere on the Earth.
    case anywhere
    /// At most this distance in metres from a location.
    case within(Location, metres: Double)
    /// In one of these boxes; a box that crosses the meridian of 180 degrees is split into two.
    case boxes([PlaceBox])
    case polygon(PlacePolygon)
}

/// The area between two parallels and two meridians, in degrees, edges included.
package struct PlaceBox: Hashable, Sendable {
    package var west: Double
    package var south: Double
    package var east: Double
    package var north: Double

    /// Returns the box from one corner eastwards to the other, split into two if it crosses the meridian of 180 degrees.
    static func boxes(from southWest: Location, to northEast: Location) -> [PlaceBox] {
        func box(_ west: Double, _ east: Double) -> PlaceBox {
            PlaceBox(west: west, south: southWest.latitude, east: east, north: northEast.latitude)
        }
        let (west, east) = (southWest.longitude, northEast.longitude)
        return west <= east ? [box(west, east)] : [box(west, 180), box(-180, east)]
    }

    package func covers(_ location: Location) -> Bool {
        (west...east).contains(location.longitude) && (south...north).contains(location.latitude)
    }
}

/// A polygon on the plane of longitude and latitude.
package struct PlacePolygon: Hashable, Sendable {
    package struct Position: Hashable, Sendable {
        package var x: Double
        package var y: Double

        fileprivate init(_ location: Location) {
            x = location.longitude
            y = location.latitude
        }

        fileprivate init(x: Double, y: Double) {
            self.x = x
            self.y = y
        }

        fileprivate func isInBox(of a: Position, _ b: Position) -> Bool {
            (min(a.x, b.x)...max(a.x, b.x)).contains(x) && (min(a.y, b.y)...max(a.y, b.y)).contains(y)
        }

        fileprivate func isOnLine(from a: Position, to b: Position) -> Bool {
            (b.x - a.x) * (y - a.y) == (x - a.x) * (b.y - a.y) && isInBox(of: a, b)
        }
    }

    /// The outer ring and those of the holes; the last position of each is the first.
    package typealias Rings = [[Position]]

    /// The polygon, with longitudes above 180 if it crosses that meridian. In that case there is a second copy, shifted by 360
    /// degrees, since locations past the meridian have longitudes from -180 on.
    package let copies: [Rings]

    /// Whether there are rings of holes.
    package var hasHoles: Bool { copies.contains { $0.count > 1 } }

    /// Throws `108 InvalidArgument` for rings of too few or too many vertices, and for a ring around a pole.
    init(_ rings: [[Location]], _ path: KeyPath) throws(SkyrowError) {
        let open = rings.map { $0.count > 1 && $0.first == $0.last ? Array($0.dropLast()) : $0 }
        guard !open.isEmpty, open.allSatisfy({ $0.count >= 3 }) else {
            throw .predicateInvalid("A polygon must have at least 3 vertices.", path)
        }
        guard open.reduce(0, { $0 + $1.count }) <= PlaceCondition.maximumVertices else {
            throw .predicateInvalid("A polygon can have at most \(PlaceCondition.maximumVertices) vertices.", path)
        }
        var result: Rings = []
        var (least, most) = (0.0, 0.0)
        for ring in open {
            guard var positions = Self.unwound(ring) else {
                throw .predicateInvalid("A polygon cannot enclose a pole.", path)
            }
            let start = positions.reduce(.infinity) { min($0, $1.x) }
            if result.isEmpty {
                Self.move(&positions, by: start < -180 ? 360 * ((-180 - start) / 360).rounded(.up) : 0)
                least = positions.reduce(.infinity) { min($0, $1.x) }
                most = positions.reduce(-.infinity) { max($0, $1.x) }
                guard most - least <= 360 else {
                    throw .predicateInvalid("A polygon can span at most 360 degrees of longitude.", path)
                }
            } else {
                // Shifts a hole to the longitudes of the polygon.
                Self.move(&positions, by: 360 * ((least - start) / 360).rounded(.up))
            }
            result.append(positions)
        }
        guard most > 180 else {
            copies = [result]
            return
        }
        var behind = result
        for place in behind.indices { Self.move(&behind[place], by: -360) }
        copies = [result, behind]
    }

    /// Returns the closed ring with longitudes that continue past the meridian of 180 degrees; nil for a ring around a pole.
    private static func unwound(_ ring: [Location]) -> [Position]? {
        var turns = 0.0
        var positions: [Position] = []
        positions.reserveCapacity(ring.count + 1)
        var previous = ring[0].longitude
        for location in ring + [ring[0]] {
            let step = location.longitude - previous
            if step > 180 { turns -= 360 } else if step < -180 { turns += 360 }
            previous = location.longitude
            positions.append(Position(x: location.longitude + turns, y: location.latitude))
        }
        return turns == 0 ? positions : nil
    }

    private static func move(_ ring: inout [Position], by degrees: Double) {
        guard degrees != 0 else { return }
        for place in ring.indices { ring[place].x += degrees }
    }

    // MARK: Points

    /// Whether a location is inside or on an edge, and not inside a hole.
    package func covers(_ location: Location) -> Bool {
        let point = Position(location)
        return copies.contains { Self.covers($0, point) }
    }

    fileprivate static func covers(_ rings: Rings, _ point: Position) -> Bool {
        for (place, ring) in rings.enumerated() {
            switch side(of: ring, point) {
            case .edge: return true
            case .outside where place == 0: return false
            case .inside where place > 0: return false
            case .inside, .outside: break
            }
        }
        return true
    }

    private enum Side {
        case inside, edge, outside
    }

    /// Computes the winding number of a ring around a point, as PostGIS does (point_in_ring of lwgeom_functions_analytic.c), so
    /// that self-intersecting rings have the same inside.
    private static func side(of ring: [Position], _ point: Position) -> Side {
        var turns = 0
        for (a, b) in zip(ring, ring.dropFirst()) where a != b {
            let side = (b.x - a.x) * (point.y - a.y) - (point.x - a.x) * (b.y - a.y)
            if side == 0, point.isInBox(of: a, b) { return .edge }
            if a.y <= point.y, point.y < b.y, side > 0 {
                turns += 1
            } else if b.y <= point.y, point.y < a.y, side < 0 {
                turns -= 1
            }
        }
        return turns == 0 ? .outside : .inside
    }
}

extension ResolvedPlace {
    /// The number of positions that a location is compared with.
    var positionCount: Int {
        switch self {
        case .anywhere: 1
        // A distance needs several trigonometric functions.
        case .within: 8
        case .boxes(let boxes): boxes.count
        case .polygon(let polygon): polygon.copies.reduce(0) { $0 + $1.reduce(0) { $0 + $1.count } }
        }
    }
}

// MARK: Geometries

extension PlaceBox {
    /// Whether all positions of a geometry are in the box, and so the whole geometry.
    fileprivate func covers(_ geometry: Geometry) -> Bool { geometry.positions.allSatisfy { covers($0) } }
}

extension ResolvedPlace {
    /// Whether the whole geometry meets the condition; nil if only the database can evaluate it.
    func holds(for geometry: Geometry) -> Bool? {
        switch self {
        case .boxes(let boxes): geometry.parts.allSatisfy { part in boxes.contains { $0.covers(part) } }
        case .anywhere, .within, .polygon: nil
        }
    }
}

extension Geometry {
    /// Whether a location is on the geometry, or inside one of its polygons.
    func covers(_ location: Location) -> Bool {
        let point = PlacePolygon.Position(location)
        return parts.contains { part in
            switch part {
            case .point(let other): other == location
            case .lineString(let line):
                zip(line, line.dropFirst()).contains { point.isOnLine(from: .init($0), to: .init($1)) }
            case .polygon(let rings):
                PlacePolygon.covers(rings.map { $0.map { PlacePolygon.Position($0) } }, point)
            case .multiPoint, .multiLineString, .multiPolygon, .collection: false
            }
        }
    }
}
