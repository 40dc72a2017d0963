import SkyrowJSON
import SkyrowModel
import SkyrowStore

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
    var csvText: String {
        "POINT(\(CSVText.number(longitude)) \(CSVText.number(latitude)))"
    }
}

extension CSVText {
    /// Parses a point in WKT, with or without `SRID=4326;`, or the hexadecimal EWKB that psql prints.
    static func location(_ text: String) -> Location? {
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
