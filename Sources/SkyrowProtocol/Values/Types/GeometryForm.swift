package import SkyrowJSON
package import SkyrowModel

// The JSON form of a geometry: `{"$type":"geojson","$val":{"type":"Point","coordinates":[114.15,22.28]}}`.

extension RecordValue {
    init(geometry json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        guard let value = json["$val"] else {
            throw .invalidArgument("A geometry must have the member $val with a GeoJSON geometry.", field())
        }
        do throws(GeometryFault) { self = .geometry(try Geometry(geoJSON: value)) } catch {
            throw .invalidArgument(error.message, field())
        }
    }
}

/// Why a text is no geometry; a sentence.
package struct GeometryFault: Error, Hashable {
    package var message: String
}

extension Geometry {
    /// Reads a geometry object of RFC 7946. Its `bbox` is passed over; other members have no place in a column, and are refused.
    package init(geoJSON json: JSONView) throws(GeometryFault) {
        var reader = GeoJSONReader()
        self = try reader.geometry(json)
        if let fault { throw GeometryFault(message: "A field of this type \(fault).") }
    }
}

private struct GeoJSONReader {
    private var count = 0

    mutating func geometry(_ json: JSONView, depth: Int = 1) throws(GeometryFault) -> Geometry {
        guard json.isObject, let type = json["type"]?.string else {
            throw GeometryFault(message: "A GeoJSON geometry must be an object with the member type.")
        }
        let isCollection = type == "GeometryCollection"
        guard depth <= Geometry.maximumDepth else {
            throw GeometryFault(message: "Collections can be nested at most \(Geometry.maximumDepth) deep.")
        }
        for (name, _) in json.members
        where !["type", "bbox", isCollection ? "geometries" : "coordinates"].contains(name.string) {
            throw GeometryFault(
                message:
                    "A GeoJSON geometry can only have the members type and \(isCollection ? "geometries" : "coordinates")."
            )
        }
        if isCollection {
            return .collection(
                try list(json["geometries"]) { reader, part throws(GeometryFault) in
                    try reader.geometry(part, depth: depth + 1)
                }
            )
        }
        let coordinates = json["coordinates"]
        switch type {
        case "Point": return .point(try position(coordinates))
        case "MultiPoint": return .multiPoint(try positions(coordinates))
        case "LineString": return .lineString(try positions(coordinates))
        case "MultiLineString": return .multiLineString(try lines(coordinates))
        case "Polygon": return .polygon(try lines(coordinates))
        case "MultiPolygon":
            return .multiPolygon(try list(coordinates) { reader, part throws(GeometryFault) in try reader.lines(part) })
        case "Feature", "FeatureCollection":
            throw GeometryFault(message: "A field holds the geometry of a feature, not the feature.")
        default:
            throw GeometryFault(message: "GeoJSON has no geometry of this type.")
        }
    }

    private mutating func lines(_ json: JSONView?) throws(GeometryFault) -> [[Location]] {
        try list(json) { reader, part throws(GeometryFault) in try reader.positions(part) }
    }

    private mutating func positions(_ json: JSONView?) throws(GeometryFault) -> [Location] {
        try list(json) { reader, part throws(GeometryFault) in try reader.position(part) }
    }

    private mutating func position(_ json: JSONView?) throws(GeometryFault) -> Location {
        count += 1
        guard count <= Geometry.maximumPositions else {
            throw GeometryFault(message: "A geometry can have at most \(Geometry.maximumPositions) positions.")
        }
        guard let json, json.isArray, json.count == 2 else {
            throw GeometryFault(message: "A position must be an array of a longitude and a latitude.")
        }
        var numbers = json.elements
        guard let longitude = numbers.next()?.double, let latitude = numbers.next()?.double else {
            throw GeometryFault(message: "A position must have two numbers.")
        }
        do throws(SkyrowError) { return try Location(latitude: latitude, longitude: longitude) } catch {
            throw GeometryFault(message: error.message)
        }
    }

    private mutating func list<Part>(
        _ json: JSONView?,
        _ part: (inout Self, JSONView) throws(GeometryFault) -> Part
    ) throws(GeometryFault) -> [Part] {
        guard let json, json.isArray else {
            throw GeometryFault(message: "The coordinates of a geometry must be arrays.")
        }
        var parts: [Part] = []
        for element in json.elements { parts.append(try part(&self, element)) }
        return parts
    }
}

extension JSONWriter {
    /// A geometry that a row lends in EWKB; one that GeoJSON does not have is shown as of an unknown type.
    func geometry(ewkb: UnsafeRawBufferPointer) {
        guard let geometry = Geometry(ewkb: ewkb) else {
            let type: StaticString = "geometry"
            return unknown(UnsafeRawBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount))
        }
        self.geometry(geometry)
    }

    func geometry(_ geometry: Geometry) {
        beginObject()
        member("$type", "geojson")
        key("$val")
        geoJSON(geometry)
        endObject()
    }

    /// The geometry object of RFC 7946.
    package func geoJSON(_ geometry: Geometry) {
        beginObject()
        key("type")
        switch geometry {
        case .point(let point): coordinates("Point") { position(point) }
        case .multiPoint(let points): coordinates("MultiPoint") { positions(points) }
        case .lineString(let line): coordinates("LineString") { positions(line) }
        case .multiLineString(let lines): coordinates("MultiLineString") { array(lines) { positions($0) } }
        case .polygon(let rings): coordinates("Polygon") { array(rings) { positions($0) } }
        case .multiPolygon(let polygons):
            coordinates("MultiPolygon") { array(polygons) { array($0) { positions($0) } } }
        case .collection(let geometries):
            string("GeometryCollection")
            key("geometries")
            array(geometries) { geoJSON($0) }
        }
        endObject()
    }

    private func coordinates(_ type: String, _ write: () -> Void) {
        string(type)
        key("coordinates")
        write()
    }

    private func array<Element>(_ elements: [Element], _ write: (Element) -> Void) {
        beginArray()
        for element in elements { write(element) }
        endArray()
    }

    private func positions(_ positions: [Location]) {
        array(positions) { position($0) }
    }

    private func position(_ position: Location) {
        beginArray()
        number(position.longitude)
        number(position.latitude)
        endArray()
    }
}

/// The form of geometries in CSV: GeoJSON text, which PostGIS reads too, or the hexadecimal EWKB that psql prints.
struct GeometryForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        if let bytes = Hexadecimal.bytes(text.utf8[...]), !bytes.isEmpty {
            guard let geometry = bytes.withUnsafeBytes({ Geometry(ewkb: $0) }), geometry.fault == nil else {
                throw FieldFault("is not a GeoJSON geometry")
            }
            return .geometry(geometry)
        }
        guard let document = try? JSONDocument(Array(text.utf8)) else {
            throw FieldFault("is not a GeoJSON geometry object")
        }
        do throws(GeometryFault) {
            return .geometry(try document.withRoot { json throws(GeometryFault) in try Geometry(geoJSON: json) })
        } catch {
            throw FieldFault("is not a geometry: \(error.message)")
        }
    }
}
