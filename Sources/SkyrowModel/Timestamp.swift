/// A point in time with the precision and range of PostgreSQL's `timestamptz`.
///
/// It counts microseconds since 2000-01-01T00:00:00Z, PostgreSQL's epoch, so that a value passes from a binary row to a result
/// without arithmetic. `infinity` and `-infinity` are distinct values, as in PostgreSQL.
public struct Timestamp: Hashable, Sendable, Comparable {
    public var microseconds: Int64

    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    public static let infinity = Timestamp(microseconds: .max)
    public static let negativeInfinity = Timestamp(microseconds: .min)

    /// Microseconds from the Unix epoch to PostgreSQL's.
    public static let unixEpochOffset: Int64 = 946_684_800_000_000

    public static func < (a: Timestamp, b: Timestamp) -> Bool {
        a.microseconds < b.microseconds
    }
}
