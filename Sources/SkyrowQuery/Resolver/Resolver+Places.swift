internal import SkyrowJSON
internal import SkyrowModel

extension Resolver {
    /// `["near", keypath, geo, 5000]`, `["within_box", keypath, geo, geo]` and `["within_polygon", keypath, [geo, …]]`
    mutating func place(_ path: KeyPath, _ condition: PlaceCondition) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        // If the distance is the sort key, it is part of the page's cursor, and records without a distance do not match.
        let isOrder = if case .near = condition { ordersByDistance } else { false }
        let (column, path) = try asking(isOrder ? .order : asking) { resolver throws(SkyrowError) in
            try resolver.subject(.keyPath(path), at: 1)
        }
        try Comparison(column, path, OperatorTable.row(of: condition), literalAt: 2).requireMeaning()
        switch condition {
        case .near(let center, let radius):
            do throws(SkyrowError) { try admitNear(column.distance(from: center), path) } catch { throw error.at(0) }
            guard let radius else { return .place(column, .anywhere) }
            guard radius >= 0, radius.isFinite else {
                throw .predicateInvalid("The radius of \"near\" must be a number of metres, 0 or more.", path).at(3)
            }
            return .place(column, .within(metres: radius, of: center))
        case .inBox(let southWest, let northEast):
            guard southWest.latitude <= northEast.latitude else {
                throw .predicateInvalid("The first corner of a box must be the southern one.", path).at(3)
            }
            return .place(column, .boxes(PlaceBox.boxes(from: southWest, to: northEast)))
        case .inPolygon(let rings):
            let polygon: PlacePolygon
            do throws(SkyrowError) { polygon = try PlacePolygon(rings, path) } catch { throw error.at(2) }
            guard column.kind == .location || !polygon.hasHoles else {
                throw .predicateInvalid("A polygon that geometries are compared with cannot have holes.", path).at(2)
            }
            return .place(column, .polygon(polygon))
        }
    }

    /// Sets the order by distance for a query without another order.
    private mutating func admitNear(_ distance: ResolvedColumn, _ path: KeyPath) throws(SkyrowError) {
        use.nears += 1
        guard use.nears == 1 else { throw .predicateInvalid("A predicate can have only one \"near\".", path) }
        guard ordersByDistance else { return }
        guard alternatives == 0 else {
            throw .recordQueryInvalid(
                "A query with \"near\" inside \"or\", \"not\" or \"none\" requires \"sort\".",
                path
            )
        }
        nearest = distance
    }
}

extension Comparison {
    /// A distance less than a number, or equal to it: as in Skygear, `lt` includes the boundary, as the index search does.
    func isWithin(_ center: Location, _ value: RecordValue) throws(SkyrowError) -> ResolvedPredicate {
        let metres: Double =
            switch cast(value, .number) {
            case .number(let number): number
            case .integer(let number): Double(number)
            default: throw .literalInvalid("a number", path)
            }
        var location = column
        location.kind = .location
        location.reading = .stored
        return metres < 0 ? .constant(column, false) : .place(location, .within(metres: metres, of: center))
    }
}

extension ResolvedPlace {
    /// More than half the circumference of the Earth, in metres.
    private static let everywhere = 20_100_000.0

    fileprivate static func within(metres: Double, of center: Location) -> ResolvedPlace {
        metres < everywhere ? .within(center, metres: metres) : .anywhere
    }
}

extension ResolvedColumn {
    /// Returns the distance of a location from another one.
    func distance(from center: Location) -> ResolvedColumn {
        var column = self
        column.kind = .number
        column.reading = .distance(center)
        return column
    }
}
