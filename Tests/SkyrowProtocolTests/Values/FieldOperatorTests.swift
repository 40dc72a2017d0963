import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

@Suite struct FieldOperatorTests {
    private func json(_ text: String) -> JSONText { JSONText(validated: Array(text.utf8)) }

    private func read(_ text: String, rules: ReadingRules = .rpc) throws -> FieldOperator? {
        try readJSON(text) { try FieldOperator($0, of: "f", rules: rules) }
    }

    private static func json(_ text: String) -> JSONText { JSONText(validated: Array(text.utf8)) }
    private static func path(_ text: String) -> MemberPath { MemberPath(unchecked: text) }

    static let forms: [(String, FieldOperator)] = [
        (#"{"$op":"inc","$val":1}"#, .increment(by: 1)),
        (#"{"$op":"inc","$val":-1.5}"#, .increment(by: -1.5)),
        (#"{"$op":"mul","$val":2}"#, .multiply(by: 2)),
        (#"{"$op":"min","$val":"a"}"#, .min("a")),
        (
            #"{"$op":"max","$val":{"$type":"date","$date":"2000-01-01T00:00:00Z"}}"#,
            .max(.datetime(Timestamp(microseconds: 0)))
        ),
        (#"{"$op":"unset"}"#, .unset),
        (#"{"$op":"set_on_insert","$val":{"$type":"ref","$id":"a/1"}}"#, .setOnInsert(.reference(id("a/1")))),
        (#"{"$op":"set_on_insert","$val":null}"#, .setOnInsert(.null)),
        (
            #"{"$op":"push","$val":["a",{"b":null}]}"#,
            FieldOperator(.push(.json(json(#"["a",{"b":null}]"#)), at: .last))
        ),
        (#"{"$op":"push","$val":[1],"$at":0}"#, FieldOperator(.push(.json(json("[1]")), at: .first))),
        (#"{"$op":"add_to_set","$val":[1.0,1]}"#, FieldOperator(.addToSet(.json(json("[1.0,1]"))))),
        (#"{"$op":"pull","$val":[]}"#, FieldOperator(.pull(.json(json("[]"))))),
        (#"{"$op":"pop","$from":"first"}"#, .popFirst),
        (#"{"$op":"pop","$from":"last"}"#, .popLast),
        (
            #"{"$op":"pull","$where":["gt",{"$type":"keypath","$val":"$.a.b"},5]}"#,
            FieldOperator(.pullWhere(.comparison(.gt, .keyPath(FieldPath(unchecked: "$.a.b")), .value(5))))
        ),
        (#"{"$op":"set_at","$index":0,"$val":null}"#, FieldOperator(.setElement(0, .json(json("null"))))),
        (
            #"{"$op":"set_path","$path":"a.b","$val":{"c":[]}}"#,
            FieldOperator(.setMember(path("a.b"), json(#"{"c":[]}"#)))
        ),
        (
            #"{"$op":"set_path","$path":"a","$val":{"$op":"mul","$val":1e300}}"#,
            FieldOperator(.computeMember(path("a"), .multiply, json("1e300")))
        ),
        (#"{"$op":"unset_path","$path":"é.b"}"#, .unsetMember("é.b")),
        (
            #"{"$op":"all","$val":[{"$op":"inc","$val":1},{"$op":"max","$val":0.5},{"$op":"unset"}]}"#,
            .all(.increment(by: 1), .max(0.5), .unset)
        ),
    ]

    @Test(arguments: forms)
    func operatorsAreReadAsTheyAreWritten(_ text: String, _ change: FieldOperator) throws {
        #expect(try read(text) == change)
        #expect(writtenJSON { $0.fieldOperator(change) } == text)
    }

    @Test func oneValueIsAListOfOne() throws {
        #expect(try read(#"{"$op":"push","$val":"a"}"#) == FieldOperator(.push(.json(json(#"["a"]"#)), at: .last)))
        #expect(try read(#"{"$op":"pull","$val":{"a":1}}"#) == FieldOperator(.pull(.json(json(#"[{"a":1}]"#)))))
        let change = try #require(try read(#"{"$op":"push","$val":{"$type":"ref","$id":"post/$1"}}"#))
        guard case .push(.json(let elements), _) = change.kind else { throw UnexpectedOutcome() }
        let resolved = try elements.resolved { _ throws(SkyrowError) in id("post/7") }
        #expect(resolved == json(#"[{"$type":"ref","$id":"post/7"}]"#))
    }

    @Test(arguments: ["{}", #"{"$type":"date","$op":"inc"}"#, #"{"a":{"$op":"inc","$val":1}}"#])
    func whatIsNoOperatorIsAValue(_ text: String) throws {
        #expect(try read(text) == nil)
    }

    @Test func integersOfTheEnvelopeOfSkygearAreNumbers() throws {
        #expect(try read(#"{"$op":"inc","$val":1}"#, rules: .v1) == .increment(by: 1.0))
        #expect(try read(#"{"$op":"set_on_insert","$val":1}"#, rules: .v1) == .setOnInsert(1.0))
    }

    private static let deep = String(repeating: "[", count: 59) + String(repeating: "]", count: 59)

    static let refused: [(String, String)] = [
        (#"{"$op":"frob","$val":1}"#, "f.$op"), (#"{"$op":7}"#, "f.$op"), (#"{"$op":null}"#, "f.$op"),
        (#"{"$op":"relation","$val":[]}"#, "f.$op"), (#"{"$op":"INC","$val":1}"#, "f.$op"),
        (#"{"$op":"inc"}"#, "f"), (#"{"$op":"inc","$val":"1"}"#, "f.$val"), (#"{"$op":"inc","$val":null}"#, "f.$val"),
        (#"{"$op":"inc","$val":1,"$by":2}"#, "f.$by"), (#"{"$op":"inc","$val":1e999}"#, "f.$val"),
        (#"{"$op":"mul","$val":[2]}"#, "f.$val"), (#"{"$op":"min","$val":true}"#, "f.$val"),
        (#"{"$op":"max","$val":{"$type":"date","$date":"x"}}"#, "f.$val"),
        (#"{"$op":"set_on_insert","$val":{"$op":"inc","$val":1}}"#, "f.$val"),
        (#"{"$op":"push","$val":["a","\u0000"]}"#, "f.$val[1]"),
        (#"{"$op":"push","$val":[0,[1,{"a":1e999}]]}"#, "f.$val[1]"),
        (#"{"$op":"push","$val":[1],"$at":1}"#, "f.$at"), (#"{"$op":"push","$val":[1],"$at":-1}"#, "f.$at"),
        (#"{"$op":"push","$at":0}"#, "f"),
        (#"{"$op":"pop"}"#, "f"), (#"{"$op":"pop","$from":"middle"}"#, "f.$from"),
        (#"{"$op":"set_at","$index":-1,"$val":1}"#, "f.$index"),
        (#"{"$op":"set_at","$index":0.5,"$val":1}"#, "f.$index"),
        (#"{"$op":"set_at","$index":"0","$val":1}"#, "f.$index"), (#"{"$op":"set_at","$index":0}"#, "f"),
        (#"{"$op":"set_path","$path":"","$val":1}"#, "f.$path"),
        (#"{"$op":"set_path","$path":"a..b","$val":1}"#, "f.$path"),
        (#"{"$op":"set_path","$path":"a\u0000","$val":1}"#, "f.$path"),
        (#"{"$op":"set_path","$path":7,"$val":1}"#, "f.$path"),
        (#"{"$op":"set_path","$path":"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a","$val":1}"#, "f.$path"),
        (#"{"$op":"set_path","$path":"a","$val":{"$op":"push","$val":1}}"#, "f.$val.$op"),
        (#"{"$op":"set_path","$path":"a","$val":{"$op":"inc","$val":"x"}}"#, "f.$val.$val"),
        (#"{"$op":"set_path","$path":"a","$val":{"$op":"inc","$val":1,"x":1}}"#, "f.$val.x"),
        (#"{"$op":"set_path","$path":"a.b","$val":\#(deep)}"#, "f.$val"),
        (#"{"$op":"unset_path","$path":"a","$val":1}"#, "f.$val"),
        (#"{"$op":"relate"}"#, "f"), (#"{"$op":"relate","$val":["a"]}"#, "f.$val[0]"),
        (#"{"$op":"relate","$val":[{"$type":"ref","$id":"post/1"},7]}"#, "f.$val[1]"),
        (#"{"$op":"unrelate","$val":{"$type":"ref","$id":"post"}}"#, "f.$val"),
        (#"{"$op":"unrelate","$val":[],"$at":0}"#, "f.$at"),
        (#"{"$op":"all","$val":[]}"#, "f.$val"), (#"{"$op":"all","$val":{"$op":"unset"}}"#, "f.$val"),
        (#"{"$op":"all","$val":[{"$op":"unset"},7]}"#, "f.$val[1]"),
        (#"{"$op":"all","$val":[{"$op":"unset"},{"a":1}]}"#, "f.$val[1].$op"),
        (#"{"$op":"all","$val":[{"$op":"all","$val":[{"$op":"unset"}]}]}"#, "f.$val[0].$op"),
        (#"{"$op":"all","$val":[{"$op":"inc","$val":1},{"$op":"pop","$from":"last"}]}"#, "f.$val[1]"),
        (#"{"$op":"all","$val":[{"$op":"push","$val":[{"a":"\u0000"}]}]}"#, "f.$val[0].$val[0]"),
    ]

    @Test(arguments: refused)
    func whatMakesNoSenseIsRefusedByItsPath(_ text: String, _ path: String) throws {
        let error = try #require(try refusal(text) { try FieldOperator($0, of: "f") })
        #expect(error.code == .invalidArgument)
        #expect(error.path == path)
        #expect(error.arguments == ["f"])
        // As part of a request.
        let request = #"{"records":[{"_id":"n/1"},{"_id":"n/2","f":\#(text)}]}"#
        let items = try readJSON(request) { try SaveRequest(parameters: $0).items }
        guard case .draft = items[0], case .failure(let failure, let id) = items[1] else { throw UnexpectedOutcome() }
        #expect(failure.path == "records[1].\(path)")
        #expect(id == "n/2")
    }

    @Test func limitsAreKept() throws {
        func list(_ count: Int, _ element: String) -> String {
            "[" + Array(repeating: element, count: count).joined(separator: ",") + "]"
        }
        let unset = #"{"$op":"unset"}"#
        #expect(try read(#"{"$op":"all","$val":\#(list(32, unset))}"#)?.steps.count == 32)
        #expect(
            try refusal(#"{"$op":"all","$val":\#(list(33, unset))}"#) { try FieldOperator($0, of: "f") }?.path
                == "f.$val"
        )
        #expect(try read(#"{"$op":"push","$val":\#(list(10_000, "1"))}"#) != nil)
        let error = try refusal(#"{"$op":"push","$val":\#(list(10_001, "1"))}"#) { try FieldOperator($0, of: "f") }
        #expect(error?.path == "f.$val")

        func record(_ count: Int) -> String {
            let fields = (0..<count).map { #""f\#($0)":{"$op":"all","$val":\#(list(16, unset))}"# }
            return #"{"_id":"n/1",\#(fields.joined(separator: ","))}"#
        }
        #expect(try readJSON(record(16)) { try RecordDraft($0).operators.count } == 16)
        #expect(try refusal(record(17)) { try RecordDraft($0) }?.path == "f16")

        let pull = #"{"$op":"pull","$where":["eq",{"$type":"keypath","$val":"$"},1]}"#
        #expect(try readJSON(#"{"_id":"n/1","a":\#(pull),"b":1}"#) { try RecordDraft($0).operators.count } == 1)
        #expect(try refusal(#"{"_id":"n/1","a":\#(pull),"b":\#(pull)}"#) { try RecordDraft($0) }?.path == "b")
        let all = #"{"_id":"n/1","a":{"$op":"all","$val":[\#(pull),\#(pull)]}}"#
        #expect(try refusal(all) { try RecordDraft($0) }?.path == "a")
    }

    @Test func aFieldHoldsAValueOrAnOperator() throws {
        func draft(_ text: String) throws -> RecordDraft { try readJSON(text) { try RecordDraft($0) } }
        let inc = #"{"$op":"inc","$val":1}"#
        let both = try draft(#"{"_id":"n/1","a":1,"b":\#(inc),"c":"x"}"#)
        #expect(both.fields.map(\.name.rawValue) == ["a", "c"] && both.operators.map(\.name.rawValue) == ["b"])
        // The last one counts.
        let value = try draft(#"{"_id":"n/1","a":\#(inc),"b":2,"a":1}"#)
        #expect(value.operators.isEmpty && value.fields.map(\.value) == [2, 1])
        let change = try draft(#"{"_id":"n/1","a":1,"b":2,"a":\#(inc),"a":{"$op":"unset"}}"#)
        #expect(change.fields.map(\.value) == [2] && change.operators.map(\.change) == [.unset])
        // Of many fields too.
        let many = (0..<40).map { #""f\#($0)":\#($0)"# }.joined(separator: ",")
        let mixed = try draft(#"{"_id":"n/1",\#(many),"f3":\#(inc),"f39":7}"#)
        #expect(mixed.fields.count == 39 && mixed.fields.last?.value == 7 && mixed.operators.count == 1)
        let written = writtenJSON { $0.draft(mixed) }
        #expect(try draft(written) == mixed)
    }

    @Test func aRequestSaysWhatIsReturnedOfItsRecords() throws {
        func read(_ more: String) throws -> SaveRequest {
            try readJSON(#"{"records":[{"_id":"n/1"}],"idempotency_key":"k"\#(more)}"#) {
                try SaveRequest(parameters: $0)
            }
        }
        let (whole, named, changed) = (
            try read(""), try read(#","return":"record""#), try read(#","return":"changed""#)
        )
        #expect(whole.returnedMembers == .record && named.returnedMembers == .record)
        #expect(changed.returnedMembers == .changed)
        // A retry asks for the same.
        #expect(whole.fingerprintSource == named.fingerprintSource)
        #expect(whole.fingerprintSource != changed.fingerprintSource)
        let request = SaveRequest(
            database: .everyone,
            items: [.draft(RecordDraft("n/1"))],
            returnedMembers: .changed,
            idempotencyKey: "k"
        )
        let written = writtenJSON { Actions.recordSave.parameters.write(request, $0) }
        #expect(try readJSON(written) { try SaveRequest(parameters: $0).returnedMembers } == .changed)
    }

    @Test func anAccountsProfileTakesNoOperators() throws {
        let text = #"{"auth_data":{"username":"a"},"password":"x","profile":{"n":{"$op":"inc","$val":1}}}"#
        #expect(try refusal(text) { try Actions.authSignUp.read($0, rules: .rpc) }?.arguments == ["n"])
    }
}
