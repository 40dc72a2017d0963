import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct ParameterSchemaTests {
    private static let person = #"""
        {"type":"object","required":["name","tags"],"additionalProperties":false,"properties":{
          "name":{"type":"string","minLength":2,"maxLength":5},
          "age":{"type":["integer","null"],"minimum":0,"maximum":150},
          "color":{"enum":["red",1,{"a":[1.0]}]},
          "code":{"type":"string","pattern":"^[A-Z]{2}-\\d+$"},
          "at":{"type":"string","format":"date-time"},
          "tags":{"type":"array","items":{"type":"string"},"default":[]},
          "place":{"type":"object","required":["city"],"properties":{"city":{"type":"string"},"zip":{"default":"-"}},
                   "additionalProperties":{"type":"number"}}}}
        """#

    private func reading(_ text: String) throws -> ParameterSchema {
        try readJSON(text) { try ParameterSchema($0) }
    }

    @Test(
        arguments: [
            (#"{"name":"Ann"}"#, []),
            (#"{"name":"Ann","tags":["a"],"age":7,"color":"red","code":"DE-1","at":"2026-01-01T00:00:00Z"}"#, []),
            (#"{"name":"Käse1","age":null}"#, []), (#"{"name":"Ann","age":150.0}"#, []),
            (#"{"name":"Ann","color":1.0}"#, []), (#"{"name":"Ann","color":{"a":[1]}}"#, []),
            (#"{"name":"Ann","place":{"city":"Ulm","x":1}}"#, []),
            (#"{}"#, ["name"]), (#"{"name":1}"#, ["name"]), (#"{"name":"A"}"#, ["name"]),
            (#"{"name":"Annika"}"#, ["name"]), (#"{"name":null}"#, ["name"]),
            (#"{"name":"Ann","age":-1}"#, ["age"]), (#"{"name":"Ann","age":151}"#, ["age"]),
            (#"{"name":"Ann","age":1.5}"#, ["age"]), (#"{"name":"Ann","age":"7"}"#, ["age"]),
            (#"{"name":"Ann","color":"blue"}"#, ["color"]), (#"{"name":"Ann","color":null}"#, ["color"]),
            (#"{"name":"Ann","code":"xDE-1"}"#, ["code"]), (#"{"name":"Ann","code":"DE-1x"}"#, ["code"]),
            (#"{"name":"Ann","at":"yesterday"}"#, ["at"]), (#"{"name":"Ann","at":"infinity"}"#, ["at"]),
            (#"{"name":"Ann","tags":["a",1,"b",{}]}"#, ["tags[1]", "tags[3]"]),
            (#"{"name":"Ann","place":{}}"#, ["place.city"]),
            (#"{"name":"Ann","place":{"city":"Ulm","x":"y"}}"#, ["place.x"]),
            (#"{"name":"Ann","more":1,"other":2}"#, ["more", "other"]),
            // A value with $type is an object like any other.
            (#"{"name":{"$type":"date","$date":"2026-01-01T00:00:00Z"}}"#, ["name"]),
            (#"[]"#, ["args"]), (#"null"#, ["args"]),
        ] as [(String, [String])]
    )
    func argumentsAreChecked(arguments: String, paths: [String]) throws {
        let schema = try reading(Self.person)
        guard !paths.isEmpty else { return try readJSON(arguments) { try schema.check($0) } }
        let error = try refusal(arguments) { try schema.check($0) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.arguments == paths)
    }

    @Test func noArgumentsAreAnObjectWithoutMembers() throws {
        try reading(#"{"properties":{"a":{"type":"string"}}}"#).check(nil)
        let required = try reading(#"{"required":["a"]}"#)
        let error = #expect(throws: SkyrowError.self) { try required.check(nil) }
        #expect(error?.arguments == ["a"])
    }

    @Test func errorsNameAtMostTenPlaces() throws {
        let schema = try reading(#"{"items":{"type":"string"}}"#)
        let list = "[" + (0..<100).map { "\($0)" }.joined(separator: ",") + "]"
        let error = try refusal(list) { try schema.check($0) }
        #expect(error?.arguments.count == 10)
    }

    @Test(
        arguments: [
            (#"{"name":"Ann"}"#, #"{"name":"Ann","tags":[]}"#),
            (#"{"place":{"city":"Ulm"},"name":"Ann"}"#, #"{"place":{"city":"Ulm","zip":"-"},"name":"Ann","tags":[]}"#),
            (#"{"tags":["a"]}"#, nil), (#"[1]"#, nil), (#"{"tags":null,"place":{"zip":1}}"#, nil),
        ] as [(String, String?)]
    )
    func defaultsAreApplied(arguments: String, result: String?) throws {
        let schema = try reading(Self.person)
        let text = try readJSON(arguments) { schema.applyingDefaults($0) }
        #expect(text.map { String(decoding: $0.utf8, as: UTF8.self) } == result)
    }

    @Test func defaultsAreAppliedToNoArguments() throws {
        let text = try reading(#"{"properties":{"a":{"default":1},"b":{}}}"#).applyingDefaults(nil)
        #expect(text == JSONText(validated: Array(#"{"a":1}"#.utf8)))
        let none = try reading(#"{"properties":{"b":{}}}"#).applyingDefaults(nil)
        #expect(none == nil)
    }

    @Test(
        arguments: [
            ("[]", "params"), ("true", "params"), (#"{"type":"text"}"#, "params.type"),
            (#"{"type":[]}"#, "params.type"),
            (#"{"type":1}"#, "params.type"), (#"{"oneOf":[]}"#, "params.oneOf"), (##"{"$ref":"#/a"}"##, "params.$ref"),
            (#"{"properties":[]}"#, "params.properties"), (#"{"properties":{"a":1}}"#, "params.properties.a"),
            (#"{"required":"a"}"#, "params.required"), (#"{"required":[1]}"#, "params.required"),
            (#"{"enum":[]}"#, "params.enum"), (#"{"enum":{}}"#, "params.enum"), (#"{"minimum":"1"}"#, "params.minimum"),
            (#"{"maxLength":-1}"#, "params.maxLength"), (#"{"minLength":1.5}"#, "params.minLength"),
            (#"{"format":"hostname"}"#, "params.format"), (#"{"pattern":1}"#, "params.pattern"),
            (#"{"pattern":"(a+)+"}"#, "params.pattern"),
            (#"{"additionalProperties":1}"#, "params.additionalProperties"),
            (#"{"items":[{}]}"#, "params.items"), (#"{"items":{"type":"x"}}"#, "params.items.type"),
            (#"{"type":"string","default":1}"#, "params.default"),
        ]
    )
    func schemasAreRefused(text: String, place: String) {
        let fault = #expect(throws: RegistrationFault.self) { try reading(text) }
        #expect(fault?.description.contains("\"\(place)\"") == true, "\(text)")
    }

    @Test func schemasHaveBounds() throws {
        func nested(_ levels: Int) -> String {
            String(repeating: #"{"items":"#, count: levels - 1) + "{}" + String(repeating: "}", count: levels - 1)
        }
        _ = try reading(nested(16))
        #expect(throws: RegistrationFault.self) { try reading(nested(17)) }
        let many = (0..<1000).map { #""p\#($0)":{}"# }.joined(separator: ",")
        #expect(throws: RegistrationFault.self) { try reading(#"{"properties":{\#(many)}}"#) }
        let long = String(repeating: "x", count: ParameterSchema.maximumBytes)
        #expect(throws: RegistrationFault.self) { try reading(#"{"description":"\#(long)"}"#) }
    }

    @Test func theTextIsCanonical() throws {
        let one = try reading(#"{"type":"object", "properties":{"b":{},"a":{}}}"#)
        let other = try reading(#"{"properties":{"a":{},"b":{}},"type":"object"}"#)
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        let different = try reading(#"{"type":"array"}"#)
        #expect(one != different)
    }

    @Test(
        arguments: [
            ("date", "2026-02-28", true), ("date", "2026-02-30", false), ("date", "2026-1-1", false),
            ("date-time", "2026-02-28T10:00:00+01:00", true), ("date-time", "2026-02-28", false),
            ("email", "ann@example.com", true), ("email", "ann", false), ("email", "a@b@c", false),
            ("email", "a b@c", false),
            ("uri", "https://example.com/a?b", true), ("uri", "example", false), ("uri", "1a:b", false),
            ("uri", "a:b c", false),
            ("uuid", "6ba7b810-9dad-41d1-80b4-00c04fd430c8", true), ("uuid", "6ba7b8109dad41d180b400c04fd430c8", false),
            ("uuid", "6ba7b810-9dad-41d1-80b4-00c04fd430cg", false),
        ]
    )
    func formatsAreChecked(format: String, text: String, fits: Bool) throws {
        let schema = try reading(#"{"format":"\#(format)"}"#)
        let accepts = try readJSON("\"\(text)\"") { json in (try? schema.check(json)) != nil }
        #expect(accepts == fits)
    }

    // MARK: Patterns

    @Test(
        arguments: [
            ("", "x", true), ("^$", "", true), ("^$", "x", false), ("b", "abc", true), ("^b", "abc", false),
            ("c$", "abc", true), ("b$", "abc", false), ("^a.c$", "abc", true), ("^a.c$", "ac", false),
            ("^a?b*c+$", "bbc", true), ("^a?b*c+$", "ab", false), ("^[a-c_]{2,3}$", "a_c", true),
            ("^[a-c_]{2,3}$", "a", false), ("^[a-c_]{2,3}$", "abca", false), ("^[^0-9]+$", "abc", true),
            ("^[^0-9]+$", "ab1", false), ("^\\d{3,}$", "1234", true), ("^\\d{3,}$", "12", false),
            ("^\\w\\W\\s\\S\\D$", "a- bc", true),
            ("^a{0}b$", "b", true), ("^x{2}$", "xx", true), ("^\\$\\.\\[$", "$.[", true), ("a\\$", "a$b", true),
            ("^[\\]\\-a-]+$", "]-a", true), ("^ä.€$", "ä🧀€", true),
            ("^a*a*a*b$", "aaaaaaaaaaaaaaaaaaaaaaaaaaac", false),
            ("a{2}b", "xaab", true), ("a{2}b", "xab", false),
        ]
    )
    func patternsMatch(pattern: String, text: String, matches: Bool) throws {
        var steps = 100_000
        let result = try SimplePattern(pattern).matches(text, within: &steps)
        #expect(result == matches)
    }

    @Test(arguments: [
        "(a)", "a|b", "a**", "*a", "a{2", "a{2}{3}", "a{,3}", "a{3,2}", "a{99999}", "[", "[]", "[^]", "[b-a]",
        "[a-\\d]", "[\\D]",
        "a^b", "a$b", "\\", "\\b", "\\1", "\\p{L}", "]", "}", "a{600}b{600}", "a+?", "[[:alpha:]]",
    ])
    func patternsAreRefused(pattern: String) {
        #expect(throws: RegistrationFault.self) { try SimplePattern(pattern) }
    }

    @Test func patternsTakeBoundedSteps() throws {
        let schema = try reading(#"{"pattern":"^a{500}a{400}$"}"#)
        let error = try refusal("\"" + String(repeating: "a", count: 5000) + "\"") { try schema.check($0) }
        #expect(error?.message.contains("too long") == true)
        var steps = 10
        let matches = try SimplePattern("a{10}").matches("aaaaaaaaaa", within: &steps)
        #expect(!matches)
        #expect(steps < 0)
    }
}
