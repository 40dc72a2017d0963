import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

/// The JSON form of a file, and its form in CSV.
@Suite struct AssetValueTests {
    private static let cat = asset("cat.png")

    private final class Links: AssetLinks {
        func withAddress(of name: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
            "https://files.example.org/\(String(decoding: name, as: UTF8.self))?expiredAt=1&signature=x".withBytes(body)
        }
    }

    @Test func onlyTheNameCountsAndAClientKeepsTheAddress() throws {
        let name = Self.cat.name
        let rows: [(text: String, url: String?)] = [
            (#"{"$type":"asset","$name":"\#(name)"}"#, nil),
            (
                #"{"$type":"asset","$name":"\#(name)","$url":"https://x.org/a","$content_type":"image/png"}"#,
                "https://x.org/a"
            ),
            (#"{"$type":"asset","$name":"\#(name)","$url":null,"$size":[1]}"#, nil),
        ]
        for row in rows {
            let value = try readJSON(row.text) { try RecordValue($0, field: "photo") }
            guard case .asset(let found)? = value else {
                Issue.record("\(row.text) is \(String(describing: value))")
                continue
            }
            #expect(found == Self.cat && found.url == row.url)
            #expect(writtenJSON { $0.value(.asset(found)) } == rows[0].text)
        }
    }

    @Test(arguments: [
        #"{"$type":"asset"}"#, #"{"$type":"asset","$name":null}"#, #"{"$type":"asset","$name":1}"#,
        #"{"$type":"asset","$name":""}"#, #"{"$type":"asset","$name":"cat.png"}"#,
        #"{"$type":"asset","$name":"../7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png"}"#,
        #"{"$type":"asset","$name":"7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-"}"#,
        #"{"$type":"asset","$name":"7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-a/b"}"#,
        #"{"$type":"asset","$name":"7B0E2A7C-7135-4912-A6C9-7C1DBEC0F5EF-cat.png"}"#,
        #"{"$type":"asset","$url":"https://files.example.org/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.png"}"#,
    ])
    func anotherNameIsRefusedWithItsField(text: String) throws {
        let error = try #require(try refusal(text) { try RecordValue($0, field: "photo") })
        #expect(error.code == .invalidArgument && error.arguments == ["photo"])
    }

    @Test func theAddressIsWrittenWhereThereAreLinks() throws {
        let name = Self.cat.name
        let plain = #"{"$type":"asset","$name":"\#(name)"}"#
        let linked =
            #"{"$type":"asset","$name":"\#(name)","$url":"https://files.example.org/\#(name)?expiredAt=1&signature=x"}"#
        let writer = JSONWriter()
        writer.beginArray()
        writer.value(.asset(Self.cat))
        writer.links = Links()
        writer.value(.asset(Self.cat))
        writer.value(.string(name.rawValue))
        writer.endArray()
        #expect(String(decoding: writer.bytes, as: UTF8.self) == #"[\#(plain),\#(linked),"\#(name)"]"#)
        let read = try JSONDocument(Array(linked.utf8)).withRoot { json throws(SkyrowError) in
            try RecordValue(json, field: "photo")
        }
        #expect(read == .asset(Self.cat))
    }

    /// psql may have made a row with any name; it is shown as it is, and not linked.
    @Test func anyTextOfAColumnIsWritten() {
        let text = #"a"\b"#
        let written = writtenJSON { writer in
            writer.links = Links()
            text.withBytes { writer.value(BorrowedValue.asset($0)) }
        }
        #expect(written == #"{"$type":"asset","$name":"a\"\\b"}"#)
        text.withBytes { #expect(RecordValue(.asset($0)) == nil) }
    }

    @Test func aFileIsItsNameInCSV() throws {
        let name = Self.cat.name.rawValue
        #expect(try FieldType.asset.value(inText: name) == .asset(Self.cat))
        #expect(try FieldType.asset.value(.string(name)) == .asset(Self.cat))
        #expect(try FieldType.asset.value(.asset(Self.cat)) == .asset(Self.cat))
        #expect(!FieldType.asset.isSuggested(by: name))
        for text in ["", "cat.png", "\(name)/x"] {
            let fault = #expect(throws: FieldFault.self) { try FieldType.asset.value(inText: text) }
            #expect(fault?.reason == "is not the name of a file")
        }
        #expect(throws: FieldFault.self) { try FieldType.asset.value(.integer(1)) }
        var texts: [String] = []
        RecordValue.asset(Self.cat).withBorrowed { value in
            value.withText(JSONWriter()) { bytes, isText in
                texts.append("\(String(decoding: bytes, as: UTF8.self)) \(isText)")
            }
        }
        #expect(texts == ["\(name) true"])
    }
}
