import SkyrowJSON
import SkyrowModel

// The JSON form of a location: `{"$type":"geo","$lng":114.15,"$lat":22.28}`.

extension RecordValue {
    init(location json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        guard let longitude = json["$lng"]?.degrees, let latitude = json["$lat"]?.degrees else {
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
    var degrees: Double? {
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
        key("$type")
        string("geo")
        key("$lng")
        number(location.longitude)
        key("$lat")
        number(location.latitude)
        endObject()
    }
}
