public import Foundation
public import SkyrowModel

extension Record {
    /// The value of a field; nil when the field has no value.
    public subscript(_ field: String) -> RecordValue? {
        guard let name = try? FieldName(field) else { return nil }
        return fields[name]
    }
}

extension RecordValue {
    public var stringValue: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The value of an integer, or of a number without a fraction.
    public var integerValue: Int64? {
        switch self {
        case .integer(let value): value
        case .number(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The value of a number; the service sends a whole number without a fraction, so it arrives as an integer.
    public var numberValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }

    public var booleanValue: Bool? {
        if case .boolean(let value) = self { value } else { nil }
    }

    public var dateValue: Date? {
        if case .datetime(let value) = self { value.date } else { nil }
    }

    public var referenceValue: RecordID? {
        if case .reference(let id) = self { id } else { nil }
    }

    public var bytesValue: [UInt8]? {
        if case .bytes(let bytes) = self { bytes } else { nil }
    }

    /// The file, with the address at which it can be downloaded for some minutes.
    public var assetValue: Asset? {
        if case .asset(let asset) = self { asset } else { nil }
    }

    /// The JSON text of an array or object, for any decoder.
    public var jsonValue: Data? {
        if case .json(let text) = self { Data(text.utf8) } else { nil }
    }

    /// A date, to the microsecond.
    public static func date(_ date: Date) -> RecordValue {
        .datetime(Timestamp(date))
    }

    /// Parses an array or object in JSON; throws `108 InvalidArgument` when the data is neither.
    public static func json(_ data: Data) throws(SkyrowError) -> RecordValue {
        .json(try JSONText(data))
    }
}

extension Timestamp {
    /// Rounds a date to the microsecond; a date that PostgreSQL cannot store becomes one of the infinities.
    public init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        let offset = Double(Timestamp.unixEpochOffset)
        switch Int64(exactly: microseconds - offset) {
        case let value?: self.init(microseconds: value)
        case nil: self = microseconds > 0 ? .infinity : .negativeInfinity
        }
    }

    /// The date; an infinity becomes the distant past or future.
    public var date: Date {
        switch self {
        case .infinity: .distantFuture
        case .negativeInfinity: .distantPast
        default:
            Date(
                timeIntervalSince1970: Double(microseconds) / 1_000_000 + Double(Timestamp.unixEpochOffset) / 1_000_000
            )
        }
    }
}
