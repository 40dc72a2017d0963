import SkyrowJSON
import SkyrowModel

extension RecordPredicate {
    /// Reads `["near", keypath, geo, 5000]`, `["within_box", keypath, geo, geo]` or `["within_polygon", keypath, [geo, …]]`.
    init(place json: JSONView, _ name: String) throws(SkyrowError) {
        let operands = Array(json.elements.dropFirst())
        let (counts, form) =
            switch name {
            case "near": (2...3, "\"near\" takes a key path, a location and optionally a number of metres.")
            case "within_box": (3...3, "\"within_box\" takes a key path and two locations.")
            default: (2...2, "\"within_polygon\" takes a key path and a polygon.")
            }
        guard counts.contains(operands.count) else { throw malformed(form) }
        guard operands[0].isObject else { throw malformed(form).at(1) }
        let path: FieldPath
        do throws(SkyrowError) {
            guard let read = try FieldPath(json: operands[0]) else { throw malformed(form) }
            path = read
        } catch {
            throw error.at(1)
        }
        let first = operands[1]
        switch name {
        case "near":
            let center = try location(first, at: 2)
            let radius = operands.count == 3 ? operands[2].double : nil
            guard operands.count == 2 || radius != nil else { throw malformed(form).at(3) }
            self = .place(path, .near(center, radius: radius))
        case "within_box":
            self = .place(
                path,
                .inBox(southWest: try location(first, at: 2), northEast: try location(operands[2], at: 3))
            )
        default:
            do throws(SkyrowError) { self = .place(path, .inPolygon(try rings(first))) } catch { throw error.at(2) }
        }
    }
}

private func location(_ json: JSONView, at place: Int) throws(SkyrowError) -> Location {
    do throws(SkyrowError) { return try Location(operand: json) } catch { throw error.at(place) }
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
    for element in json.elements { vertices.append(try location(element, at: vertices.count)) }
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

extension JSONView {
    fileprivate var double: Double? {
        switch number {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .outOfRange, nil: nil
        }
    }
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
