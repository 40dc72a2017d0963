/// A condition of a query on a location.
public enum PlaceCondition: Hashable, Sendable {
    /// At most this many metres from a location, or at any distance; a query without a sort returns the nearest records first.
    case near(Location, radius: Double?)
    /// Between two parallels and two meridians, edges included. The box extends eastwards from its western edge, so a box whose
    /// western edge has the greater longitude crosses the meridian of 180 degrees.
    case inBox(southWest: Location, northEast: Location)
    /// Inside a polygon or on its edge: the outer ring, then the rings of its holes. Edges are straight lines in longitude and
    /// latitude (RFC 7946); one between longitudes that are more than 180 degrees apart crosses the meridian of 180 degrees.
    case inPolygon([[Location]])

    /// Upper bound on the vertices of all rings of a polygon.
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
