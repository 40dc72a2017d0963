import SkyrowModel
import SkyrowProtocol

/// Writes records as the text of a file, piece by piece.
protocol RecordFileWriter: RecordSink {
    /// Returns the text written since the last call.
    mutating func take() -> [UInt8]
    /// Writes the text after the last record.
    mutating func finish()
}
