/// Where a location is, as a query asks for it.
public enum PlaceCondition: Hashable, Sendable {
    /// At most this many metres away from a location, or anywhere; a query without a sort has the nearest records first.
    case near(Location, radius: Double?)
    /// Between two parallels and two meridians, edges included; from the west of the box eastwards, so that a box whose
    /// western edge has the greater longitude crosses the meridian of 180 degrees.
    case inBox(southWest: Location, northEast: Location)
    /// Inside of a polygon or on its edge: the ring around it, then the rings of its holes. Edges are straight lines in
    /// longitude and latitude (RFC 7946); one between longitudes that are more than 180 degrees apart crosses the meridian
    /// of 180 degrees.
    case inPolygon([[Location]])

    /// How many vertices the rings of a polygon have together.
    package static let maximumVertices = 1000

    /// The name of the operator.
    package var name: String {
        switch self {
        case .near: "near"
        case .inBox: "within_box"
        case .inPolygon: "within_polygon"
        }
    }
}
