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

/// Writes `NaN` and the infinities as PostgreSQL spells them; nil for all other numbers.
func spelling(ofSpecial number: Double) -> StaticString? {
    number.isNaN ? "NaN" : number == .infinity ? "Infinity" : number == -.infinity ? "-Infinity" : nil
}
