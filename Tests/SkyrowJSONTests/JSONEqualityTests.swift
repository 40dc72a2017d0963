import SkyrowJSON
import Testing

@Suite("Equality of JSON values")
struct JSONEqualityTests {
    /// Texts of one row are the same value, and no other row has it.
    static let values: [[String]] = [
        ["null", " null "], ["true"], ["false"],
        ["0", "-0", "0.0", "0e5", "-0.00e-7"],
        ["1", "1.0", "10e-1", "0.1E1", "0.01e+2"],
        ["-1", "-1.000"], ["10", "1e1"], ["0.1", "1e-1", "0.100"],
        ["9007199254740993", "9007199254740993.0"], ["9007199254740992"],
        ["1e131071"], ["1e131072"],
        [#""""#], [#""a""#, #""\u0061""#], [#""A""#], [#""é""#, #""\u00e9""#], [#""e\u0301""#],
        [#""\ud83d\ude00""#, #""😀""#],
        [#""1""#], [#""null""#],
        ["[]", "[ ]"], ["[[]]"], ["[null]"], ["[1,2]", "[1.0, 2]"], ["[2,1]"], ["[1]"], ["[[1],2]"], ["[[1,2]]"],
        ["{}"], [#"{"a":null}"#], [#"{"a":1,"b":2}"#, #"{"b":2.0,"a":1}"#, #"{"b":3,"a":1,"b":2}"#], [#"{"a":1}"#],
        [#"{"a":{"b":[{}]}}"#], [#"{"a":{"b":[[]]}}"#], [#"{"":1}"#], [#"[{"a":1}]"#],
    ]

    @Test func valuesAreComparedAsPostgreSQLDoes() throws {
        for (place, row) in Self.values.enumerated() {
            for (otherPlace, other) in Self.values.enumerated() {
                for (a, b) in row.flatMap({ a in other.map { (a, $0) } }) {
                    let first = try JSONDocument(Array(a.utf8))
                    let second = try JSONDocument(Array(b.utf8))
                    let (isSame, hasSameIdentity) = first.withRoot { x in
                        second.withRoot { y in (x.isSameValue(as: y), JSONIdentity(x) == JSONIdentity(y)) }
                    }
                    #expect(isSame == (place == otherPlace), "\(a) \(b)")
                    #expect(hasSameIdentity == isSame, "\(a) \(b)")
                }
            }
        }
    }

    @Test func decimalsAreOrderedByTheirValue() throws {
        let ascending = [
            "-1e400", "-12", "-11.5", "-2", "-1e-400", "0", "1e-400", "0.09", "0.1", "0.11", "1", "1.5", "2", "10",
            "1e1000",
        ].compactMap { JSONDecimal($0) }
        #expect(ascending.count == 15)
        for (place, value) in ascending.enumerated() {
            for (otherPlace, other) in ascending.enumerated() {
                #expect((value < other) == (place < otherPlace))
            }
        }
        #expect(JSONDecimal("-0.0") == JSONDecimal("0"))
        #expect(JSONDecimal("a") == nil)
        #expect(JSONDecimal("[1]") == nil)
    }
}
