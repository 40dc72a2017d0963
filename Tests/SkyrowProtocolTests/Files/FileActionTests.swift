import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON
@testable import SkyrowProtocol

/// The parameters and results of actions with files.
@Suite struct FileActionTests {
    private static let name = "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png"

    struct Row: Sendable, CustomTestStringConvertible {
        let json: String
        /// What is written of the value; the same text unless it is given.
        var written: String?
        var code: ErrorCode?
        var argument = ""

        var testDescription: String { String(json.prefix(100)) }
    }

    private func check<Parameters, Result>(_ action: Action<Parameters, Result>, _ row: Row) throws {
        let document = try JSONDocument(Array(row.json.utf8))
        do {
            let value = try document.withRoot { json throws(SkyrowError) in try action.read(json, rules: .v1) }
            let writer = JSONWriter()
            action.parameters.write(value, writer)
            #expect(row.code == nil)
            #expect(String(decoding: writer.bytes, as: UTF8.self) == row.written ?? row.json)
        } catch let error as SkyrowError {
            #expect(error.code == row.code, "\(error)")
            #expect(error.info["arguments"] == .list([.string(row.argument)]))
        }
    }

    @Test(
        arguments: [
            Row(json: #"{"filename":"cat.png","content-type":"image/png","content-size":1024}"#),
            Row(json: #"{"filename":"Kätzchen 1.png","content-type":"text/plain; charset=utf-8","content-size":1}"#),
            Row(
                json: #"{"content-type":"image/png","content-size":1}"#,
                code: .invalidArgument,
                argument: "filename"
            ),
            Row(json: #"{"filename":"a","content-size":1}"#, code: .invalidArgument, argument: "content-type"),
            Row(json: #"{"filename":"a","content-type":"a/b"}"#, code: .invalidArgument, argument: "content-size"),
            Row(
                json: #"{"filename":"","content-type":"a/b","content-size":1}"#,
                code: .invalidArgument,
                argument: "filename"
            ),
            Row(
                json: #"{"filename":"a\u0000","content-type":"a/b","content-size":1}"#,
                code: .invalidArgument,
                argument: "filename"
            ),
            Row(
                json: #"{"filename":"a","content-type":"png","content-size":1}"#,
                code: .invalidArgument,
                argument: "content-type"
            ),
            Row(
                json: #"{"filename":"a","content-type":"","content-size":1}"#,
                code: .invalidArgument,
                argument: "content-type"
            ),
            Row(
                json: #"{"filename":"a","content-type":"a/b","content-size":0}"#,
                code: .invalidArgument,
                argument: "content-size"
            ),
            Row(
                json: #"{"filename":"a","content-type":"a/b","content-size":"1"}"#,
                code: .badRequest,
                argument: "content-size"
            ),
        ]
    ) func announcements(_ row: Row) throws { try check(Actions.assetPut, row) }

    @Test(
        arguments: [
            Row(json: #"{"record":"note/1","names":["\#(name)"]}"#),
            Row(json: #"{"record":"note/1","names":[],"database_id":"_private"}"#),
            Row(
                json: #"{"record":"note/1","names":[],"database_id":"_public"}"#,
                written: #"{"record":"note/1","names":[]}"#
            ),
            Row(json: #"{"record":"note/1"}"#, code: .invalidArgument, argument: "names"),
            Row(json: #"{"record":"note/1","names":["cat.png"]}"#, code: .invalidArgument, argument: "names"),
            Row(json: #"{"record":"note/1","names":["../\#(name)"]}"#, code: .invalidArgument, argument: "names"),
            Row(json: #"{"record":1,"names":[]}"#, code: .badRequest, argument: "record"),
        ]
    ) func signings(_ row: Row) throws { try check(Actions.fileSign, row) }

    @Test(
        arguments: [
            Row(json: #"{"names":["\#(name)"],"force":true}"#),
            Row(json: #"{"names":["\#(name)"],"force":false}"#, written: #"{"names":["\#(name)"]}"#),
            Row(json: #"{"names":"\#(name)"}"#, code: .badRequest, argument: "names"),
            Row(
                json: #"{"names":["# + Array(repeating: "\"\(name)\"", count: 1001).joined(separator: ",") + "]}",
                code: .invalidArgument,
                argument: "names"
            ),
        ]
    ) func deletions(_ row: Row) throws { try check(Actions.fileDelete, row) }

    @Test(
        arguments: [
            Row(json: #"{"dry_run":true}"#), Row(json: "{}"), Row(json: #"{"dry_run":false}"#, written: "{}"),
            Row(json: #"{"dry_run":1}"#, code: .badRequest, argument: "dry_run"),
        ]
    ) func collections(_ row: Row) throws { try check(Actions.fileCollect, row) }

    @Test func resultsAreReadAsTheyAreWritten() throws {
        let name = try #require(AssetName(Self.name))
        let file = UploadedFile(
            asset: Asset(name, url: "https://files.example/files/\(name)"),
            contentType: "image/png",
            size: 1024
        )
        let announced = AnnouncedFile(file: file, request: AnnouncedFile.Request(action: "/files/\(name)?expiredAt=1"))
        let text = """
            {"asset":{"$type":"asset","$name":"\(name)","$content_type":"image/png","$size":1024,\
            "$url":"https://files.example/files/\(name)"},\
            "post-request":{"action":"/files/\(name)?expiredAt=1","extra-fields":{}}}
            """
        let read = try result(of: Actions.assetPut, writing: announced, text)
        #expect(read == announced && read.file.asset.url == file.asset.url)
        var image = announced
        image.file.dimensions = PixelSize(width: 64, height: 48)
        let sized = text.replacing(#""$size":1024,"#, with: #""$size":1024,"$width":64,"$height":48,"#)
        #expect(try result(of: Actions.assetPut, writing: image, sized) == image)
        let addresses = [name: "https://files.example/files/\(name)"]
        let signed = #"{"urls":{"\#(name)":"https://files.example/files/\#(name)"}}"#
        #expect(try result(of: Actions.fileSign, writing: addresses, signed) == addresses)
        #expect(try result(of: Actions.fileDelete, writing: 2, #"{"deleted":2}"#) == 2)
        let collection = FileCollection(unreferenced: 1, deleted: 2)
        let counts = #"{"unreferenced":1,"deleted":2}"#
        #expect(try result(of: Actions.fileCollect, writing: collection, counts) == collection)
    }

    private func result<Parameters, Result>(
        of action: Action<Parameters, Result>,
        writing value: Result,
        _ text: String
    ) throws -> Result {
        let writer = JSONWriter()
        action.result.write(value, writer)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == text)
        return try JSONDocument(writer.bytes).withRoot { json throws(SkyrowError) in
            try action.result.read(json, "result")
        }
    }

    // MARK: Kept results

    private final class Links: AssetLinks {
        func withAddress(of name: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
            let address = Array("x:".utf8) + name.prefix(8)
            address.withUnsafeBytes { body($0) }
        }
    }

    @Test(
        arguments: [
            (#"{}"#, #"{}"#),
            (#"{"$type":"asset","$name":"\#(name)"}"#, #"{"$type":"asset","$name":"\#(name)","$url":"x:7b0e2a7c"}"#),
            (
                #"[{"a":{"$type":"asset","$name":"\#(name)"},"b":{"$type":"asset","$name":"\#(name)"}}]"#,
                #"[{"a":{"$type":"asset","$name":"\#(name)","$url":"x:7b0e2a7c"},"b":{"$type":"asset","$name":"\#(name)","$url":"x:7b0e2a7c"}}]"#
            ),
            // As PostgreSQL writes a value of `jsonb`.
            (#"{"$name": "\#(name)", "$type": "asset"}"#, #"{"$name": "\#(name)", "$type": "asset"}"#),
            // As a text.
            (#""{\"$type\":\"asset\",\"$name\":\"\#(name)\"}""#, #""{\"$type\":\"asset\",\"$name\":\"\#(name)\"}""#),
            // What psql has put into a column.
            (#"{"$type":"asset","$name":"cat\"}"}"#, #"{"$type":"asset","$name":"cat\"}"}"#),
            (#"{"$type":"asset","$name":"../\#(name)"}"#, #"{"$type":"asset","$name":"../\#(name)"}"#),
            (#"{"$type":"asset","$name":""#, #"{"$type":"asset","$name":""#),
        ]
    ) func filesOfAKeptResultGetTheirAddresses(_ text: String, _ expected: String) {
        for (links, expected) in [(Links(), expected), (nil, text)] as [(Links?, String)] {
            let writer = JSONWriter()
            writer.links = links
            Array(text.utf8).withUnsafeBytes { writer.json(linking: $0) }
            #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
        }
    }
}
