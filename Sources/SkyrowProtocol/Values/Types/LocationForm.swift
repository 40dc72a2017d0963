import SkyrowJSON
package import SkyrowModel

// The JSON form of a location: `{"$type":"geo","$lng":114.15,"$lat":22.28}`.

extension RecordValue {
    init(location json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        guard let longitude = json["$lng"]?.double, let latitude = json["$lat"]?.double else {
            throw .invalidArgument("A location must have the members $lng and $lat in degrees.", field())
        }
        do throws(SkyrowError) {
            self = .location(try Location(latitude: latitude, longitude: longitude))
        } catch {
            throw .invalidArgument(error.message, field())
        }
    }
}

extension JSONView {
    var double: Double? {
        switch number {
        case .integer(let value): Double(value)
        case .double(let value): value
        case .outOfRange, nil: nil
        }
    }
}

extension JSONWriter {
    func location(_ location: Location) {
        beginObject()
        member("$type", "geo")
        key("$lng")
        number(location.longitude)
        key("$lat")
        number(location.latitude)
        endObject()
    }
}

/// The form of locations in CSV: the WKT of PostGIS and `ST_AsText`, `POINT(114.15 22.28)`, longitude first.
struct LocationForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let value = CSVText.location(text) else {
            throw FieldFault("is not a location, such as POINT(longitude latitude) in degrees")
        }
        return .location(value)
    }

    func suggests(_ text: String) -> Bool { CSVText.location(text) != nil }
}

extension Location {
    package var csvText: String { "POINT(\(CSVText.number(longitude)) \(CSVText.number(latitude)))" }
}

extension CSVText {
    /// Parses a point in WKT, with or without `SRID=4326;`, or the hexadecimal EWKB that psql prints.
    package static func location(_ text: String) -> Location? {
        if text.utf8.count == 50, let bytes = Hexadecimal.bytes(text.utf8[...]) {
            return bytes.withUnsafeBytes { Location(ewkb: $0) }
        }
        var rest = text[...]
        if rest.hasPrefix("SRID=4326;") { rest = rest.dropFirst(10) }
        guard rest.hasPrefix("POINT"), rest.hasSuffix(")") else { return nil }
        rest = rest.dropFirst(5)
        if rest.first == " " { rest = rest.dropFirst() }
        guard rest.first == "(" else { return nil }
        let numbers = rest.dropFirst().dropLast().split(separator: " ").map { number(String($0)) }
        guard numbers.count == 2, let longitude = numbers[0], let latitude = numbers[1] else { return nil }
        return Location(validLatitude: latitude, longitude: longitude)
    }

    /// Returns the shortest text that reads back as the number.
    fileprivate static func number(_ value: Double) -> String {
        let writer = JSONWriter(capacity: 32)
        writer.number(value)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
