import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import Testing

@Suite struct FunctionActionTests {
    /// Makes addresses of the names.
    private final class Links: AssetLinks {
        func withAddress(of name: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
            Array("https://x/\(String(decoding: name, as: UTF8.self))".utf8).withUnsafeBytes { body($0) }
        }
    }

    private static let name = "7b0e2a7c-7135-4912-a6c9-1c7dbec0f5ef-cat.png"
    private static let address = #""$url":"https://x/\#(name)""#

    static let texts: [(String, String)] = [
        (#"{"$type":"asset","$name":"\#(name)"}"#, #"{"$type":"asset","$name":"\#(name)",\#(address)}"#),
        // As py-skygear writes it.
        (
            #"{"a": [{"$name": "\#(name)", "$type": "asset"}, 1.50]}"#,
            #"{"a":[{"$name":"\#(name)","$type":"asset",\#(address)},1.50]}"#
        ),
        // A sent address is replaced.
        (
            #"{"$type":"asset","$url":"https://evil","$name":"\#(name)"}"#,
            #"{"$type":"asset","$name":"\#(name)",\#(address)}"#
        ),
        (#"{"$type":"asset","$name":"no name"}"#, #"{"$type":"asset","$name":"no name"}"#),
        (#"{"kind":"asset", "n": "\u0041"}"#, #"{"kind":"asset","n":"\u0041"}"#),
        (#"{"$type": "date", "b": 1}"#, #"{"$type": "date", "b": 1}"#),
        (#""asset""#, #""asset""#),
        ("[]", "[]"),
    ]

    @Test(
        arguments: [
            (#"{"$type":"asset","$name":"9d5a3e1c-7b1c-4f4e-8f0a-1b2c3d4e5f60-a.png"}"#, 1),
            (#"{"a":[{"$type":"asset","$name":"9d5a3e1c-7b1c-4f4e-8f0a-1b2c3d4e5f60-a.png"}]}"#, 1),
            (#"[{"$type":"\u0061sset","$name":"9d5a3e1c-7b1c-4f4e-8f0a-1b2c3d4e5f60-a.png"}]"#, 1),
            (#"[{"\u0024type":"asset","$name":"9d5a3e1c-7b1c-4f4e-8f0a-1b2c3d4e5f60-a.png"}]"#, 1),
            (#"[{"$type":"asset"}, {"$name":"a.png"}, "asset", "\n"]"#, 0),
        ] as [(String, Int)]
    )
    func filesAreFoundHoweverTheyAreWritten(text: String, count: Int) {
        #expect(JSONText(validated: Array(text.utf8)).fileNames.count == count)
    }

    @Test(arguments: texts)
    func filesGetAddresses(text: String, linked: String) {
        let json = JSONText(validated: Array(text.utf8))
        let result = json.linkingFiles(by: Links())
        #expect(String(decoding: result.utf8, as: UTF8.self) == linked)
        #expect(json.linkingFiles(by: nil) == json)
    }

    @Test(
        arguments: [
            (#"{"name":"hello"}"#, nil, nil),
            (#"{"name":"hello","args":{"a":1},"limit":3,"count":true}"#, #"{"a":1}"#, #"{"limit":3,"count":true}"#),
            (#"{"name":"hello","args":[1],"predicate":["eq",1,2],"sort":null}"#, "[1]", #"{"predicate":["eq",1,2]}"#),
            (
                #"{"name":"hello","database_id":"_union","before":"a","last":true,"select":["a"],"required":true}"#,
                nil,
                #"{"database_id":"_union","before":"a","last":true,"select":["a"],"required":true}"#
            ),
            (
                #"{"name":"hello","desired_keys":["a"],"omit":[],"include_form":"table","idempotency_key":"k"}"#, nil,
                #"{"desired_keys":["a"],"omit":[],"include_form":"table"}"#
            ),
        ] as [(String, String?, String?)]
    )
    func aCallIsReadAndWritten(text: String, arguments: String?, query: String?) throws {
        let call = try read(text)
        #expect(call.name.rawValue == "hello")
        #expect(call.arguments.map { String(decoding: $0.utf8, as: UTF8.self) } == arguments)
        #expect(call.query.map { String(decoding: $0.utf8, as: UTF8.self) } == query)
        let writer = JSONWriter()
        Actions.functionCall.parameters.write(call, writer)
        let again = try read(String(decoding: writer.bytes, as: UTF8.self))
        #expect(again.arguments == call.arguments && again.query == call.query)
    }

    @Test(arguments: [
        (#"{"name":"1"}"#, ErrorCode.invalidArgument), ("{}", .invalidArgument),
        (#"{"name":"a","args":"x"}"#, .badRequest), (#"{"name":"a","sort":1}"#, .badRequest),
        (#"{"name":"a","limit":-1}"#, .invalidArgument), (#"{"name":"a","count":1}"#, .badRequest),
        (#"{"name":"a","idempotency_key":""}"#, .invalidArgument), (#"{"name":"a","before":1}"#, .badRequest),
        (#"{"name":"a","select":"b"}"#, .badRequest), (#"{"name":"a","omit":{}}"#, .badRequest),
        (#"{"name":"a","desired_keys":1}"#, .badRequest), (#"{"name":"a","last":"yes"}"#, .badRequest),
        (#"{"name":"a","required":1}"#, .badRequest), (#"{"name":"a","include_form":true}"#, .badRequest),
        (#"{"name":"a","database_id":1}"#, .badRequest),
    ])
    func aWrongCallIsRefused(text: String, code: ErrorCode) {
        let error = #expect(throws: SkyrowError.self) { try read(text) }
        #expect(error?.code == code)
    }

    private func read(_ text: String) throws -> FunctionInvocation {
        try JSONDocument(Array(text.utf8)).withRoot { json throws(SkyrowError) in
            try Actions.functionCall.read(json, rules: .rpc)
        }
    }
}
