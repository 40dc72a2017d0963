import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

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

extension CSVText {
    /// Returns the GeoJSON of a geometry in EWKB; nil if GeoJSON cannot express it.
    static func geometry(ewkb: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let geometry = Geometry(ewkb: ewkb) else { return nil }
        let writer = JSONWriter(capacity: 256)
        writer.geoJSON(geometry)
        return writer.bytes
    }
}
