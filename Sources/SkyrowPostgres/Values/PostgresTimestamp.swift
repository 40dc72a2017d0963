/// A point in time of `timestamptz`: microseconds since the start of 2000 in UTC, or one of the two infinities.
package struct PostgresTimestamp: Hashable, Sendable {
    /// The start of 2000 in seconds of Unix time.
    private static let epoch: Int64 = 946_684_800

    package var microsecondsSince2000: Int64

    package init(microsecondsSince2000: Int64) {
        self.microsecondsSince2000 = microsecondsSince2000
    }

    /// Earlier than every other timestamp.
    package static let negativeInfinity = PostgresTimestamp(microsecondsSince2000: .min)

    /// Creates a timestamp from Unix time; nil when it is out of range.
    package init?(microsecondsSince1970: Int64) {
        let (value, overflow) = microsecondsSince1970.subtractingReportingOverflow(Self.epoch * 1_000_000)
        guard !overflow, value != .min else { return nil }
        self.init(microsecondsSince2000: value)
    }
}

extension PostgresTimestamp: Comparable {
    package static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
        left.microsecondsSince2000 < right.microsecondsSince2000
    }
}

extension PostgresTimestamp: PostgresArrayElement, PostgresDecodable {
    package static var postgresType: PostgresOID { .timestamptz }
    package static var postgresArrayType: PostgresOID { .timestamptzArray }

    package func encode(into encoder: inout PostgresEncoder) {
        encoder.append(microsecondsSince2000)
    }

    package static func decode(
        _ bytes: UnsafeRawBufferPointer?,
        type: PostgresOID
    ) throws(PostgresError) -> PostgresTimestamp {
        let bytes = try Self.bytes(bytes, type: type, oneOf: .timestamptz, .timestamp)
        return PostgresTimestamp(microsecondsSince2000: try integer(bytes, type: type))
    }
}
