import SkyrowModel
import SkyrowWire

/// Turns records into the text of a file, piece by piece.
protocol RecordFileWriter: RecordSink {
    /// - Parameter columns: the names of the members, in the order in which they are emitted.
    init(columns: [String], format: FileFormat)
    /// What was written since the last time.
    mutating func take() -> [UInt8]
    /// Writes what stands behind the last record.
    mutating func finish()
}

extension RecordFileWriter {
    // Records of an export bring no others along.
    mutating func beginTransients() {}
    mutating func transient(_ name: String) {}
    mutating func missingTransient() {}
    mutating func beginList(count: Int?) {}
    mutating func endList() {}
    mutating func endTransients() {}
}

/// Writes `NaN` and the infinities as PostgreSQL spells them; nil for all other numbers.
func spelling(ofSpecial number: Double) -> StaticString? {
    number.isNaN ? "NaN" : number == .infinity ? "Infinity" : number == -.infinity ? "-Infinity" : nil
}
