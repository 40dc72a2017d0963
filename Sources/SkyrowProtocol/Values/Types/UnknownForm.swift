import SkyrowJSON
import SkyrowModel

// The JSON form of what no field type stands for: `{"$type":"unknown","$underlying_type":"money"}`, which is ignored when a
// client sends it back.

extension JSONWriter {
    func unknown(_ type: UnsafeRawBufferPointer) {
        separate()
        append("{\"$type\":\"unknown\",\"$underlying_type\":")
        string(utf8: type)
        append("}")
    }

    /// A double of a column; NaN and the infinities, which only psql can have put there, go as an unknown value.
    ///
    /// As `null` they would be wiped out by the next client that saves back what it read.
    func columnNumber(_ value: Double) {
        if value.isFinite {
            number(value)
        } else {
            let type: StaticString = "double precision"
            unknown(UnsafeRawBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount))
        }
    }
}
