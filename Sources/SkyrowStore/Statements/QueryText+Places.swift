internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Conditions on locations and geometries. The search path of the service's sessions is empty, so each PostGIS function is
// qualified with the schema of the extension, which the catalog has for the column.

extension QueryText {
    /// `("r"."at" OPERATOR("postgis".<->) $1::"postgis".geography)`
    ///
    /// The distance on the sphere, in the form for which an index provides the order.
    func distance(of column: ResolvedColumn, from center: Location) -> SQL {
        let home = home(of: column)
        return "(\(stored(column)) OPERATOR(\(home).<->) \(center.ewkb)::\(home).geography)"
    }

    func place(_ column: ResolvedColumn, _ place: ResolvedPlace) -> SQL {
        if column.kind == .geometry { return geometry(column, place) }
        let home = home(of: column)
        let location = value(column)
        let point: SQL = "\(location)::\(home).geometry"
        switch place {
        // POINT EMPTY, which psql can write, is no location and has no distance.
        case .anywhere: return "NOT \(home).ST_IsEmpty(\(point))"
        case .within(let center, let metres):
            return "\(home).ST_DWithin(\(location), \(center.ewkb)::\(home).geography, \(metres), false)"
        case .boxes(let boxes):
            return Self.any(
                boxes.map { box in
                    // The keys of the index are rounded outwards to single precision, so the coordinates are compared too.
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
                    // ST_Covers builds a tree of the edges, which costs 20 times as much if edges of a polygon lie above each
                    // other.
                    return "(\(point) OPERATOR(\(home).&&) \(area) AND \(home).ST_DWithin(\(area), \(point), 0))"
                }
            )
        }
    }

    // MARK: Geometries

    /// `"postgis".ST_DWithin("r"."area", $1::"postgis".geometry, 0)`
    ///
    /// `ST_Covers` would compute where the lines of a geometry cross themselves, which takes hours for a long line and cannot be
    /// cancelled; `ST_DWithin` computes the distance to a location edge by edge.
    func covers(_ column: ResolvedColumn, _ location: Location) -> SQL {
        let home = home(of: column)
        return "\(home).ST_DWithin(\(value(column)), \(location.ewkb)::\(home).geometry, 0)"
    }

    /// Returns the condition that a geometry lies entirely in a place; NULL if there is no geometry. The index narrows by boxes.
    private func geometry(_ column: ResolvedColumn, _ place: ResolvedPlace) -> SQL {
        let home = home(of: column)
        let value = value(column)
        switch place {
        case .boxes(let boxes) where boxes.count == 1:
            let box = boxes[0]
            return "(\(value) OPERATOR(\(home).&&) \(box.envelope(home)) AND \(box.covers(value, home)))"
        case .boxes(let boxes):
            let near = boxes.map { "\(value) OPERATOR(\(home).&&) \($0.envelope(home))" as SQL }
            let part = boxes.map { "(\($0.covers("\"d\".\"geom\"", home)))" as SQL }
            return """
                (\(Self.any(near)) AND CASE WHEN \(value) IS NOT NULL THEN NOT EXISTS (\
                SELECT FROM \(home).ST_Dump(\(value)) AS "d" WHERE NOT (\(part.joined(separator: " OR ")))) END)
                """
        case .polygon(let polygon):
            let copies = polygon.copies.map { "\(WellKnownBinary(polygon: $0).bytes)::\(home).geometry" as SQL }
            let near = copies.map { "\(value) OPERATOR(\(home).&&) \($0)" as SQL }
            let edge = copies.map { "\(home).ST_Covers(\($0), \"e\".\"edge\")" as SQL }
            // In a polygon without holes that does not cross itself, a geometry lies inside if each of its edges does.
            return """
                (\(Self.any(near)) AND CASE WHEN \(value) IS NULL THEN NULL \
                WHEN (SELECT (\(home).ST_IsValidDetail(\(copies[0]))).valid) THEN NOT EXISTS (\
                SELECT FROM (\(Self.edges(of: value, home))) AS "e" WHERE NOT (\(edge.joined(separator: " OR ")))) ELSE false END)
                """
        case .anywhere: return "NOT \(home).ST_IsEmpty(\(value))"
        case .within(let center, let metres):
            return """
                \(home).ST_DWithin(\(value)::\(home).geography, \(center.ewkb)::\(home).geography, \(metres), false)
                """
        }
    }

    /// The edges of a geometry, and its points.
    private static func edges(of value: SQL, _ home: SQLIdentifier) -> SQL {
        """
        SELECT CASE WHEN "p"."next" IS NULL OR "p"."next"::bytea = "p"."geom"::bytea THEN "p"."geom" \
        ELSE \(home).ST_MakeLine("p"."geom", "p"."next") END AS "edge" FROM (\
        SELECT "d"."geom", lead("d"."geom") OVER (\
        PARTITION BY "d"."path"[1:cardinality("d"."path") - 1] ORDER BY "d"."path") AS "next" \
        FROM \(home).ST_DumpPoints(\(value)) AS "d") AS "p"
        """
    }

    private static func any(_ conditions: [SQL]) -> SQL {
        conditions.count == 1 ? conditions[0] : "(\(conditions.joined(separator: " OR ")))"
    }

    /// The schema of PostGIS according to the catalog.
    private func home(of column: ResolvedColumn) -> SQLIdentifier {
        self.column(column)?.home ?? "postgis"
    }

    /// Whether an index provides the order of a key, nearest first.
    func isNearest(_ key: ResolvedSort) -> Bool {
        guard case .distance = key.column.reading, key.direction == .ascending, !key.missingComesFirst,
            key.column.join == nil, key.column.limit == nil, case .field(let field, _) = key.column.place
        else { return false }
        return root.indexes.contains { $0.hasDistances(of: field) }
    }
}

extension PlaceBox {
    fileprivate func envelope(_ home: SQLIdentifier) -> SQL {
        "\(home).ST_MakeEnvelope(\(west), \(south), \(east), \(north), 4326)"
    }

    /// The condition that all positions of a geometry are in the box.
    fileprivate func covers(_ value: SQL, _ home: SQLIdentifier) -> SQL {
        """
        \(home).ST_XMin(\(value)) >= \(west) AND \(home).ST_XMax(\(value)) <= \(east) \
        AND \(home).ST_YMin(\(value)) >= \(south) AND \(home).ST_YMax(\(value)) <= \(north)
        """
    }
}
