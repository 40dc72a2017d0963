import SkyrowModel
import SkyrowTestSupport
import Testing

@Suite struct FieldTypeTests {
    private static let values: [(RecordValue, FieldType?, String)] = [
        (.null, nil, ""), (.string(""), .string, "string"), (.integer(0), .integer, "integer"),
        (.number(0), .number, "number"), (.boolean(false), .boolean, "boolean"),
        (.datetime(.infinity), .datetime, "datetime"), (.json(JSONText(validated: Array("[]".utf8))), .json, "json"),
        (.reference(id("note/1")), .reference(type("note")), "ref(note)"), (.sequence, .sequence, "sequence"),
        (.bytes([]), .bytes, "bytes"),
        (.location(try! Location(latitude: 0, longitude: 0)), .location, "location"),
        (.geometry(.point(try! Location(latitude: 0, longitude: 0))), .geometry, "geometry"),
        (.asset(asset("cat.png")), .asset, "asset"),
    ]

    @Test(arguments: values)
    func aTypeHasOneName(value: RecordValue, type: FieldType?, name: String) throws {
        #expect(value.fieldType == type)
        guard let type else { return }
        #expect(type.name == name)
        #expect(try FieldType(name: name) == type)
    }

    @Test(arguments: [
        (ElementType.string, "array(string)"), (.integer, "array(integer)"), (.number, "array(number)"),
        (.boolean, "array(boolean)"), (.reference(type("tag")), "array(ref(tag))"),
    ])
    func anArrayIsNamedByItsElements(element: ElementType, name: String) throws {
        #expect(FieldType.array(element).name == name)
        #expect(try FieldType(name: name) == .array(element))
        #expect(ElementType(element.fieldType) == element)
    }

    @Test(arguments: [
        "", "text", "unknown", "ref", "ref()", "ref(_a)", "location ", "array", "array()", "array(json)",
        "array(bytes)", "array(asset)", "asset(cat)",
        "array(array(string))", "array(ref())", "array(string", "array(string) ",
    ])
    func anyOtherNameIsRefused(name: String) {
        #expect(throws: SkyrowError.self) { try FieldType(name: name) }
        #expect(FieldType.unknown("money").name == "unknown")
    }

    @Test(arguments: [(91.0, 0.0), (-90.1, 0), (0, 180.1), (0, -181), (.nan, 0), (0, .infinity)])
    func aLocationBeyondTheRangesIsRefused(latitude: Double, longitude: Double) {
        let error = #expect(throws: SkyrowError.self) { try Location(latitude: latitude, longitude: longitude) }
        #expect(error?.code == .invalidArgument)
    }
}

@Suite struct FieldPathTests {
    @Test(
        arguments: [
            ("title", ["title"]), ("a.b.c", ["a", "b", "c"]),
            // A mark that combines with the dot is part of the name behind it.
            ("meta.\u{301}x", ["meta", "\u{301}x"]), ("\u{301}.x", ["\u{301}", "x"]),
        ]
    )
    func aPathIsNamesBetweenDots(text: String, names: [String]) throws {
        #expect(try FieldPath(text).components == names)
        #expect(FieldPath(unchecked: text).description == text)
    }

    @Test(arguments: ["", ".", "a.", ".a", "a..b"]) func aNameIsNotEmpty(text: String) {
        #expect(throws: SkyrowError.self) { try FieldPath(text) }
    }
}
