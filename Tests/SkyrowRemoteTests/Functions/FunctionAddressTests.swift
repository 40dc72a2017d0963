import Testing

@testable import SkyrowRemote

@Suite struct FunctionAddressTests {
    @Test(
        arguments: [
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000", nil, "127.0.0.1:8000"),
            ("http://functions.internal/a/b", "http://functions.internal/a/b", nil, "functions.internal"),
            ("https://fn.example", "https://fn.example", nil, "fn.example"),
            ("http://[::1]:8000/", "http://[::1]:8000/", nil, "[::1]:8000"),
            ("http+unix://%2Frun%2Fmail.sock", "http://localhost", "/run/mail.sock", "/run/mail.sock"),
            ("http+unix://%2frun%2Fmail.sock/hooks", "http://localhost/hooks", "/run/mail.sock", "/run/mail.sock"),
        ] as [(String, String, String?, String)]
    )
    func addressesAreRead(_ text: String, _ url: String, _ socket: String?, _ server: String) throws {
        let address = try #require(FunctionAddress(text))
        #expect(address.url == url && address.socket == socket && address.server == server)
        #expect(address.description == text)
    }

    @Test(arguments: [
        "", "127.0.0.1:8000", "ftp://fn.example", "http://", "http:///a", "http://user@fn.example",
        "http://fn.example?a=b",
        "http://fn.example#a", "http://fn.example/a b", "http://fn.example:0", "http://fn.example:65536",
        "http://fn_x.example",
        "http://fn.example/a\r\nHost: b", "http+unix:///run/mail.sock", "http+unix://run%2Fmail.sock",
        "http+unix://%2Frun%2", "http+unix://%2Frun%zz", "http+unix://%2Frun%00", "http+unix://%2F%ff",
        "http+unix://%2F\(String(repeating: "a", count: 107))",
        "http://fn.example/\(String(repeating: "a", count: 1000))",
    ])
    func otherTextsAreNoAddresses(_ text: String) {
        #expect(FunctionAddress(text) == nil)
    }
}
