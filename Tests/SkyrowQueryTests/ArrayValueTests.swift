import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowQuery

@Suite struct ArrayValueTests {
    @Test func anArrayIsHeldAsItsTableHoldsIt() {
        var record = Record(id: id("note/1"))
        record.fields = [
            field("texts"): ["a", .null], field("numbers"): [1.5], field("flags"): [true],
            field("tags"): .array([.reference(id("tag/1")), .reference(id("tag/2"))]),
        ]
        let stored = StoredRecord(record, in: .user("ann")) { $0.id == "1" ? "~ann/1" : $0.id }
        #expect(
            stored.fields == [
                field("texts"): .array([.text("a"), nil]), field("numbers"): .array([.number(1.5)]),
                field("flags"): .array([.boolean(true)]), field("tags"): .array([.text("~ann/1"), .text("2")]),
            ]
        )
    }

    @Test func anArrayHasAKindOfItsOwn() {
        #expect(ValueKind(.array(.integer)) == .array(.integer))
        // A reference is followed, an array of them is not.
        #expect(ValueKind(.array(.reference(type("tag")))).target == nil)
        #expect(ValueKind(.array(.string)).isText && !ValueKind(.array(.integer)).isText)
    }
}
