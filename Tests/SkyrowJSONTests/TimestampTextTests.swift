import Foundation
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON

@Suite struct TimestampTextTests {
    @Test(
        arguments: [
            ("2000-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00Z", -946_684_800_000_000),
            ("2019-02-07T06:42:59.871181Z", 602_836_979_871_181), ("1999-12-31T23:59:59.999999Z", -1),
            ("2000-02-29T00:00:00.5Z", 5_097_600_500_000), ("0001-01-01T00:00:00Z", -63_082_281_600_000_000),
            ("9999-12-31T23:59:59.999999Z", 252_455_615_999_999_999), ("0000-03-01T00:00:00Z", -63_108_720_000_000_000),
            ("-000043-03-15T12:00:00Z", -64_464_465_600_000_000),
            ("+010000-01-01T00:00:00Z", 252_455_616_000_000_000),
            ("+294276-12-31T23:59:59.999999Z", 9_223_371_331_199_999_999),
            ("-004713-11-24T00:00:00Z", -211_813_488_000_000_000),
            ("infinity", .max), ("-infinity", .min),
        ] as [(String, Int64)]
    )
    func instantsAreWrittenInOneWayAndReadBack(text: String, microseconds: Int64) throws {
        #expect(try Timestamp(rfc3339: text) == Timestamp(microseconds: microseconds))
        #expect(Timestamp(microseconds: microseconds).rfc3339 == text)
    }

    @Test(arguments: [
        ("2019-03-01T09:00:00+02:00", "2019-03-01T07:00:00Z"), ("2019-03-01T00:30:00-05:30", "2019-03-01T06:00:00Z"),
        ("2019-03-01T09:00:00-00:00", "2019-03-01T09:00:00Z"), ("2019-03-01t09:00:00z", "2019-03-01T09:00:00Z"),
        ("2019-03-01T09:00:00.1234567Z", "2019-03-01T09:00:00.123457Z"),
        ("2019-03-01T09:00:00.1234564999Z", "2019-03-01T09:00:00.123456Z"),
        ("2019-12-31T23:59:59.9999999Z", "2020-01-01T00:00:00Z"), ("2019-03-01T09:00:00.000Z", "2019-03-01T09:00:00Z"),
        ("2019-12-31T23:00:00-02:00", "2020-01-01T01:00:00Z"), ("2000-02-29T23:59:59+23:59", "2000-02-29T00:00:59Z"),
        ("+294277-01-01T00:30:00+01:00", "+294276-12-31T23:30:00Z"),
        ("-004713-11-23T23:30:00-01:00", "-004713-11-24T00:30:00Z"),
    ])
    func everyOffsetAndPrecisionIsBroughtToUTC(text: String, normal: String) throws {
        #expect(try Timestamp(rfc3339: text).rfc3339 == normal)
    }

    @Test(arguments: [
        "", "2019", "2019-03-01", "2019-03-01T09:00:00", "2019-03-01 09:00:00Z", "2019-3-1T09:00:00Z",
        "2019-03-01T09:00Z",
        "2019-03-01T09:00:00.Z", "2019-03-01T09:00:00,5Z", "2019-03-01T09:00:00+0200", "2019-03-01T09:00:00+2:00",
        "2019-03-01T09:00:00Zx", " 2019-03-01T09:00:00Z", "2019-03-01T09:00:00Z ", "12019-03-01T09:00:00Z",
        "-0043-03-15T00:00:00Z", "-000000-01-01T00:00:00Z", "+2019-03-01T00:00:00Z", "2019-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z", "2019-04-31T00:00:00Z", "2019-00-01T00:00:00Z", "2019-13-01T00:00:00Z",
        "2019-01-00T00:00:00Z", "2019-01-01T24:00:00Z", "2019-01-01T00:60:00Z", "2016-12-31T23:59:60Z",
        "2019-01-01T00:00:00+24:00", "2019-01-01T00:00:00+00:60", "+294277-01-01T00:00:00Z", "-004713-11-23T23:59:59Z",
        "Infinity", "now", "２019-03-01T09:00:00Z",
        // Their microseconds have more than 64 bits.
        "+294277-01-10T00:00:00Z", "+999999-12-31T23:59:59Z", "-999999-01-01T00:00:00Z", "-290308-12-21T00:00:00Z",
    ])
    func whatIsNoInstantIsRefused(text: String) {
        #expect { try Timestamp(rfc3339: text) } throws: { ($0 as? SkyrowError)?.code == .invalidArgument }
    }

    /// Every year that can be written, of which PostgreSQL holds a part.
    @Test func everyTextOfTheFormIsAnInstantOrRefused() {
        var random = SeededGenerator.forTest()
        let bounds = (first: Int64(-211_813_488_000_000_000), end: Int64(9_223_371_331_200_000_000))
        func digits(_ count: Int, _ range: ClosedRange<Int>) -> String {
            let number = String(Int.random(in: range, using: &random))
            return String(repeating: "0", count: count - number.count) + number
        }
        for _ in 0..<20_000 {
            let year = ["", "+", "-"].randomElement(using: &random) ?? ""
            let zone =
                ["Z", "+\(digits(2, 0...23)):\(digits(2, 0...59))", "-23:59"].randomElement(using: &random) ?? ""
            let text = """
                \(year)\(year.isEmpty ? digits(4, 0...9999) : digits(6, 0...999_999))-\(digits(2, 1...12))-\(digits(2, 1...31))\
                T\(digits(2, 0...23)):\(digits(2, 0...59)):\(digits(2, 0...59)).\(digits(7, 0...9_999_999))\(zone)
                """
            guard let instant = try? Timestamp(rfc3339: text) else { continue }
            #expect(instant.microseconds >= bounds.first && instant.microseconds < bounds.end, "\(text)")
            let again = try? Timestamp(rfc3339: instant.rfc3339)
            #expect(again == instant, "\(text) is \(instant.rfc3339)")
        }
    }

    @Test func refusalsSayWhatIsWrong() {
        func message(_ text: String) -> String? {
            do { _ = try Timestamp(rfc3339: text) } catch { return error.message }
            return nil
        }
        #expect(message("2023-02-29T00:00:00Z") == "This date does not exist.")
        #expect(message("2016-12-31T23:59:60Z")?.hasPrefix("Leap seconds") == true)
        #expect(message("2019-01-01T25:00:00Z") == "This time of day does not exist.")
    }

    @Test func calendarIsThatOfFoundation() throws {
        var generator = SeededGenerator.forTest()
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for _ in 0..<2_000 {
            // Foundation's calendars change to Julian dates in 1582.
            let seconds = Int64.random(in: -12_000_000_000...250_000_000_000, using: &generator)
            let date = Date(timeIntervalSince1970: TimeInterval(seconds))
            let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
            func padded(_ value: Int?, _ width: Int) -> String {
                let digits = String(value ?? -1)
                return String(repeating: "0", count: max(0, width - digits.count)) + digits
            }
            let text =
                "\(padded(parts.year, 4))-\(padded(parts.month, 2))-\(padded(parts.day, 2))"
                + "T\(padded(parts.hour, 2)):\(padded(parts.minute, 2)):\(padded(parts.second, 2))Z"
            let timestamp = Timestamp(microseconds: seconds * 1_000_000 - Timestamp.unixEpochOffset)
            #expect(timestamp.rfc3339 == text)
            #expect(try Timestamp(rfc3339: text) == timestamp)
        }
    }

    @Test func everyMicrosecondIsReadBack() throws {
        var generator = SeededGenerator.forTest()
        for _ in 0..<5_000 {
            let value = Timestamp(
                microseconds: .random(in: -211_813_488_000_000_000..<9_223_371_331_200_000_000, using: &generator)
            )
            #expect(try Timestamp(rfc3339: value.rfc3339) == value, "\(value.rfc3339)")
        }
    }
}
