internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Distances and places. The search path of the service's sessions is empty, so that each function of PostGIS is named with
// the schema of the extension, which the catalogue says of the column.

extension QueryText {
    /// `("r"."at" OPERATOR("postgis".<->) $1::"postgis".geography)`
    ///
    /// The distance on the sphere, in the form by which an index gives the order.
    func distance(of column: ResolvedColumn, from center: Location) -> SQL {
        let home = home(of: column)
        return "(\(stored(column)) OPERATOR(\(home).<->) \(center.ewkb)::\(home).geography)"
    }

    func place(_ column: ResolvedColumn, _ place: ResolvedPlace) -> SQL {
        let home = home(of: column)
        let location = value(column)
        let point: SQL = "\(location)::\(home).geometry"
        switch place {
        // What psql wrote as POINT EMPTY is no location and has no distance.
        case .anywhere: return "NOT \(home).ST_IsEmpty(\(point))"
        case .within(let center, let metres):
            return "\(home).ST_DWithin(\(location), \(center.ewkb)::\(home).geography, \(metres), false)"
        case .boxes(let boxes):
            return Self.any(
                boxes.map { box in
                    // The keys of the index are rounded outwards to single precision; the numbers decide.
                    """
                    (\(point) OPERATOR(\(home).&&) \(home).ST_MakeEnvelope(\(box.west), \(box.south), \(box.east), \
                    \(box.north), 4326) AND \(home).ST_X(\(point)) BETWEEN \(box.west) AND \(box.east) \
                    AND \(home).ST_Y(\(point)) BETWEEN \(box.south) AND \(box.north))
                    """
                }
            )
        case .polygon(let polygon):
            return Self.any(
                polygon.copies.map { rings in
                    let area: SQL = "\(WellKnownBinary(polygon: rings).bytes)::\(home).geometry"
                    // ST_Covers makes a tree of the edges, in which a polygon whose edges lie above each other costs 20 times as much.
                    return "(\(point) OPERATOR(\(home).&&) \(area) AND \(home).ST_DWithin(\(area), \(point), 0))"
                }
            )
        }
    }

    private static func any(_ conditions: [SQL]) -> SQL {
        conditions.count == 1 ? conditions[0] : "(\(conditions.joined(separator: " OR ")))"
    }

    /// The schema of PostGIS as the catalogue has it.
    private func home(of column: ResolvedColumn) -> SQLIdentifier {
        self.column(column)?.home ?? "postgis"
    }

    /// Whether an index gives the records in the order of a key, the nearest first.
    func isNearest(_ key: ResolvedSort) -> Bool {
        guard case .distance = key.column.reading, key.direction == .ascending, !key.missingComesFirst,
            key.column.join == nil, key.column.onlyOwner == nil, case .field(let field, _) = key.column.place
        else { return false }
        return root.indexes.contains { $0.hasDistances(of: field) }
    }
}
