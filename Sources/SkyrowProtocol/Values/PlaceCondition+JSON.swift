import SkyrowJSON
import SkyrowModel

extension RecordPredicate {
    /// Reads the operands of `["near", keypath, geo, 5000]`, `["within_box", keypath, geo, geo]` or
    /// `["within_polygon", keypath, [geo, …]]`.
    init(place form: QueryOperator.Operands, _ operands: inout OperandReader, count: Int) throws(SkyrowError) {
        let misuse = operands.misuse
        let path = try operands.next { json throws(SkyrowError) in
            guard json.isObject, let path = try FieldPath(json: json) else { throw misuse }
            return path
        }
        func location() throws(SkyrowError) -> Location {
            try operands.next { json throws(SkyrowError) in try Location(operand: json) }
        }
        switch form {
        case .near:
            let center = try location()
            let radius =
                count < 3
                ? nil
                : try operands.next { json throws(SkyrowError) in
                    guard let radius = json.double else { throw misuse }
                    return radius
                }
            self = .place(path, .near(center, radius: radius))
        case .box:
            self = .place(path, .inBox(southWest: try location(), northEast: try location()))
        default:
            self = .place(path, .inPolygon(try operands.next(rings)))
        }
    }
}

/// The rings of a polygon of GeoJSON, or the one of a list of locations.
private func rings(_ json: JSONView) throws(SkyrowError) -> [[Location]] {
    guard json.isObject else { return [try ring(json)] }
    guard case .geometry(.polygon(let rings))? = try RecordValue(json, field: "predicate") else {
        throw malformed("A polygon must be a list of locations, or a GeoJSON polygon.")
    }
    return rings
}

/// The vertices of a polygon; one more than it may have closes it.
private func ring(_ json: JSONView) throws(SkyrowError) -> [Location] {
    guard json.isArray else { throw malformed("A polygon must be a list of locations.") }
    guard json.count <= PlaceCondition.maximumVertices + 1 else {
        throw malformed("A polygon can have at most \(PlaceCondition.maximumVertices) vertices.")
    }
    var vertices: [Location] = []
    vertices.reserveCapacity(json.count)
    for element in json.elements {
        do throws(SkyrowError) { vertices.append(try Location(operand: element)) } catch {
            throw error.at(vertices.count)
        }
    }
    return vertices
}

extension Location {
    /// A location in a query; throws `108 InvalidArgument` for anything else.
    init(operand json: JSONView) throws(SkyrowError) {
        guard json.isObject, case .location(let location)? = try RecordValue(json, field: "predicate") else {
            throw malformed("This must be a location, {\"$type\":\"geo\",\"$lng\":114.15,\"$lat\":22.28}.")
        }
        self = location
    }
}

private func malformed(_ message: String) -> SkyrowError {
    .invalidArgument(message, "predicate")
}

extension JSONWriter {
    /// The operands behind the key path.
    func place(_ condition: PlaceCondition) {
        switch condition {
        case .near(let center, let radius):
            location(center)
            if let radius { number(radius) }
        case .inBox(let southWest, let northEast):
            location(southWest)
            location(northEast)
        case .inPolygon(let rings):
            guard rings.count <= 1 else {
                // Those of GeoJSON end where they begin.
                return geometry(.polygon(rings.map { $0.first == $0.last ? $0 : $0 + $0.prefix(1) }))
            }
            beginArray()
            for vertex in rings.first ?? [] { location(vertex) }
            endArray()
        }
    }
}
