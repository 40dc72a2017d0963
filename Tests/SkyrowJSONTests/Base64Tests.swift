import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowJSON

@Suite struct Base64Tests {
    @Test func bytesAreWrittenAsFoundationWritesThem() {
        var generator = SeededGenerator.forTest()
        for length in 0..<200 {
            let bytes = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            let text = Data(bytes).base64EncodedString()
            #expect(writtenJSON { writer in bytes.withUnsafeBytes { writer.base64($0) } } == "\"\(text)\"")
            #expect(decodeBase64(text.utf8) == bytes)
        }
    }

    @Test(arguments: [
        "A", "AA", "AAA", "AA=A", "=AAA", "AAA==", "AB==", "AAB=", "AA-_", "AA A", "AA\n==", "====", "AAAA=",
        "AAAAA===",
    ])
    func whatIsNotStrictBase64IsRefused(text: String) {
        #expect(decodeBase64(text.utf8) == nil)
    }
}
