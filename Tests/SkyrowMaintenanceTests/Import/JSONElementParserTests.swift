import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance

@Suite struct JSONElementParserTests {
    static func parse(_ text: String, _ format: FileFormat, size: Int) -> [Result<JSONElement, LineFault>] {
        var parser = JSONElementParser(format: format)
        var elements: [Result<JSONElement, LineFault>] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            parser.take(Array(rest.prefix(size)), into: &elements)
            rest = rest.dropFirst(size)
        }
        parser.finish(into: &elements)
        return elements
    }

    static func element(_ line: Int, _ text: String) -> Result<JSONElement, LineFault> {
        .success(JSONElement(line: line, text: Array(text.utf8)))
    }

    static func fault(_ line: Int, _ reason: String) -> Result<JSONElement, LineFault> {
        .failure(LineFault(line: line, reason: reason, endsFile: true))
    }

    @Test(arguments: [
        ("", []),
        ("[]", []),
        (" [ {\"a\": 1} ,\n {\"b\": [2, {}]}\n] ", [element(1, "{\"a\": 1}"), element(2, "{\"b\": [2, {}]}")]),
        ("{\"a\": 1}\n{\"b\": 2}", [element(1, "{\"a\": 1}"), element(2, "{\"b\": 2}")]),
        ("[{\"a\": \"}\\\"]\"}]", [element(1, "{\"a\": \"}\\\"]\"}")]),
        ("[1, \"x\", null]", [element(1, "1"), element(1, "\"x\""), element(1, "null")]),
        ("[\n\n{}\n", [element(3, "{}"), fault(4, "the array is not closed")]),
        ("[\n{\"a\": [", [fault(2, "the file ends inside the value that begins here")]),
        ("[{}] x", [element(1, "{}"), fault(1, "there is text after the array")]),
        ("}", [fault(1, "a bracket closes nothing")]),
        ("[}", [fault(1, "a bracket closes nothing")]),
        (",", [fault(1, "a comma stands where a value should")]),
        ("[{},\n]", [element(1, "{}"), fault(2, "a comma stands where a value should")]),
        ("[,{}]", [fault(1, "a comma stands where a value should")]),
        ("[1,,2]", [element(1, "1"), fault(1, "a comma stands where a value should")]),
        ("[1 , 2,3]", [element(1, "1"), element(1, "2"), element(1, "3")]),
        ("[{}\n{}]", [element(1, "{}"), fault(2, "a comma is missing before this value")]),
        ("[\"a\"\"b\"]", [element(1, "\"a\"\"b\"")]),
        ("{}, {}", [element(1, "{}"), fault(1, "a comma stands where a value should")]),
        ("1,", [element(1, "1"), fault(1, "a comma stands where a value should")]),
    ])
    func aTextBecomesItsElementsHoweverItIsCut(text: String, elements: [Result<JSONElement, LineFault>]) {
        for size in [1, 2, Int.max] {
            #expect(Self.parse(text, .json, size: size) == elements)
        }
    }

    @Test func aFaultyLineLeavesTheNextOnesReadable() {
        let elements = Self.parse("{\"a\":1}\n\n{\"a\"\r\n{\"a\":3}", .ndjson, size: 5)
        #expect(elements == [Self.element(1, "{\"a\":1}"), Self.element(3, "{\"a\"\r"), Self.element(4, "{\"a\":3}")])
    }
}
