import Testing

@testable import SkyrowJSON

@Suite struct JSONNumberLengthTests {
    /// What `SELECT length('…'::numeric::text)` of PostgreSQL says.
    @Test(arguments: [
        ("0", 1), ("12", 2), ("-12", 3), ("1.5", 3), ("1.50", 4), ("1e5", 6), ("1.5e3", 4), ("1.50e1", 4),
        ("0.001e5", 3), ("0.001e1", 4), ("1e-3", 5), ("-1.25E-2", 7), ("0e5", 1), ("0e-5", 7), ("0.00", 4), ("1e+2", 3),
        ("12.5e-1", 4), ("1e131071", 131_072), ("1e-16000", 16_002), ("1e99999999999999999999", 1_000_001),
    ])
    func aNumberIsAsLongAsPostgreSQLWritesIt(text: String, length: Int) throws {
        #expect(try JSONDocument(Array(text.utf8)).withRoot { $0.plainLength } == length)
    }

    @Test(arguments: ["null", "true", "\"1e5\"", "[1e5]", "{}"])
    func anythingElseHasNone(text: String) throws {
        #expect(try JSONDocument(Array(text.utf8)).withRoot { $0.plainLength } == 0)
    }
}
