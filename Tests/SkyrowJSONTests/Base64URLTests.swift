import SkyrowJSON
import Testing

@Suite struct Base64URLTests {
    @Test(
        arguments: [
            ("", []), ("Zg", [0x66]), ("Zm8", [0x66, 0x6F]), ("Zm9v", [0x66, 0x6F, 0x6F]), ("-_8", [0xFB, 0xFF]),
            ("AA", [0]), ("____", [0xFF, 0xFF, 0xFF]),
        ] as [(String, [UInt8])]
    )
    func bytesHaveOneText(text: String, bytes: [UInt8]) {
        #expect(Base64URL.encode(bytes) == text)
        #expect(Base64URL.decode(text) == bytes)
    }

    @Test(arguments: ["Z", "Zh", "Zm9", "Zg==", "+/8", "Zm 9v", "Zm9v\n", "é", "Zm9vZ"])
    func noOtherTextIsRead(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func everyLengthIsReadAsItWasWritten() {
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + count) }
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text) == bytes)
        }
    }
}
