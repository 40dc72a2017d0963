import NIOHTTP1
import Testing

@testable import SkyrowHTTP

@Suite struct TraceParentTests {
    static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    static let span = "00f067aa0ba902b7"

    @Test(arguments: [
        ("00-\(trace)-\(span)-01", true),
        ("00-\(trace)-\(span)-00", false),
        // Flags that are not ours to know.
        ("00-\(trace)-\(span)-ff", true),
        ("00-\(trace)-\(span)-fe", false),
        // A newer version, alone and with what it may add.
        ("01-\(trace)-\(span)-01", true),
        ("cc-\(trace)-\(span)-01-what-the-future-will-be-like", true),
        ("cc-\(trace)-\(span)-01-", true),
    ])
    func wellFormedFieldsAreRead(text: String, isSampled: Bool) throws {
        let parent = try #require(TraceParent(text))
        #expect(parent.traceID.description == Self.trace)
        #expect(parent.spanID.description == Self.span)
        #expect(parent.isSampled == isSampled)
        #expect(parent.description == "00-\(Self.trace)-\(Self.span)-\(isSampled ? "01" : "00")")
    }

    @Test(arguments: [
        "", "00", "-", "---", "00-", "00--\(span)-01",
        // The version that is forbidden, and more than version 00 has.
        "ff-\(trace)-\(span)-01", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01-x", "00-\(trace)-\(span)-011",
        "cc-\(trace)-\(span)-01.what", "cc-\(trace)-\(span)-011",
        // Nothing but zeros.
        "00-\(String(repeating: "0", count: 32))-\(span)-01", "00-\(trace)-\(String(repeating: "0", count: 16))-01",
        // Uppercase, other letters, other digits.
        "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span.uppercased())-01", "0A-\(trace)-\(span)-01",
        "00-\(trace.dropLast())g-\(span)-01", "00-\(trace)-\(span)-0x", "00-\(trace.dropLast())٣-\(span)-01",
        // Too short and too long.
        "0-\(trace)-\(span)-01", "00-\(trace.dropLast())-\(span)-01", "00-\(trace)0-\(span)-01",
        "00-\(trace)-\(span.dropLast())-01", "00-\(trace)-\(span)0-01", "00-\(trace)-\(span)-1",
        // Spaces and other separators.
        " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-01 ", "00_\(trace)_\(span)_01", "00-\(trace)-\(span)",
        "00 \(trace) \(span) 01", "00-\(trace)-\(span)-01\n",
    ])
    func anythingElseIsNone(text: String) {
        #expect(TraceParent(text) == nil)
    }

    @Test func aTraceThatNamesItselfTwiceIsNone() {
        let field = "00-\(Self.trace)-\(Self.span)-01"
        func headers(_ values: [String]) -> RequestHeaders {
            RequestHeaders(.init(values.map { ("TraceParent", $0) }))
        }
        #expect(headers([field]).traceParent?.traceID.description == Self.trace)
        #expect(headers([field, field]).traceParent == nil)
        #expect(headers([field, field, field]).traceParent == nil)
        #expect(headers(["00-\(Self.trace)", field]).traceParent == nil)
        #expect(headers([]).traceParent == nil)
    }
}
