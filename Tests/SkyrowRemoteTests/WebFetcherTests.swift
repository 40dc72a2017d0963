import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowRemote

@Suite struct WebFetcherTests {
    // MARK: Which addresses

    @Test(arguments: [
        ("8.8.8.8", true), ("2606:4700::1111", true), ("127.0.0.1", false), ("127.255.0.1", false), ("10.0.0.1", false),
        ("172.15.255.255", true), ("172.16.0.1", false), ("172.31.255.255", false), ("172.32.0.1", true),
        ("192.168.1.1", false), ("169.254.169.254", false), ("100.64.0.1", false), ("100.128.0.1", true),
        ("0.0.0.0", false), ("224.0.0.1", false), ("255.255.255.255", false), ("198.18.0.1", false),
        ("::1", false), ("::", false), ("fe80::1", false), ("fc00::1", false), ("fd12::1", false), ("ff02::1", false),
        ("::ffff:10.0.0.1", false), ("::ffff:8.8.8.8", true), ("64:ff9b::a00:1", false), ("2002:a00:1::", false),
        ("2001:0:a00:1::", false), ("2001:db8::1", false), ("2001:4860:4860::8888", true),
    ])
    func privateAddressesAreNotAdmitted(_ text: String, _ isAdmitted: Bool) throws {
        #expect(AddressGate().admits(try #require(ClientAddress(text))) == isAdmitted)
    }

    @Test func exceptionsAreAdmittedAlone() throws {
        let network = try #require(AddressRange("10.1.0.0/16"))
        let gate = AddressGate(exceptions: [network])
        #expect(gate.admits(try #require(ClientAddress("10.1.2.3"))))
        #expect(!gate.admits(try #require(ClientAddress("10.2.0.1"))))
        #expect(!gate.admits(try #require(ClientAddress("127.0.0.1"))))
        let loopback = AddressGate(admitsLoopback: true)
        #expect(loopback.admits(try #require(ClientAddress("127.0.0.1"))))
        #expect(loopback.admits(try #require(ClientAddress("::1"))))
        #expect(!loopback.admits(try #require(ClientAddress("10.1.2.3"))))
    }

    @Test(arguments: [
        ("https://id.example.org", "id.example.org", false),
        ("https://ID.example.org:8443/a?b=c", "id.example.org", false),
        ("https://[2001:db8::1]:443/", "2001:db8::1", false), ("http://127.0.0.1:80/keys", "127.0.0.1", true),
        ("http://[::1]/keys", "::1", true), ("http://localhost/keys", "localhost", true),
        ("https://127.0.0.1/keys", "127.0.0.1", false),
    ])
    func addressesAreRead(_ text: String, _ host: String, _ isLoopback: Bool) throws {
        let address = try #require(WebAddress(text, allowsLoopback: true))
        #expect(address.host == host && address.isLoopback == isLoopback && address.description == text)
        #expect((WebAddress(text) == nil) == isLoopback)
    }

    @Test(arguments: [
        "", "id.example.org", "http://id.example.org", "http://127.0.0.1.example.org", "http://127.0.0.2",
        "ftp://id.example.org", "file:///etc/passwd", "https://", "https:///keys", "https://user@id.example.org",
        "https://a:b@id.example.org", "https://id.example.org#x", "https://id.example.org/ x",
        "https://id.example.org\\@a",
        "https://id.example.org:0", "https://id.example.org:65536", "https://id.example.org:", "https://[::1",
        "https://[x]",
        "https://id_x.example.org", "https://exämple.org", "https://a\r\nb",
        "https://id.example.org/\(String(repeating: "x", count: 2000))",
    ])
    func otherTextsAreNoAddresses(_ text: String) {
        #expect(WebAddress(text, allowsLoopback: true) == nil)
    }

    // MARK: What is fetched

    @Test func aDocumentComesWithItsAge() async throws {
        try await withIdentityProvider { provider in
            let address = try #require(WebAddress(provider.keys, allowsLoopback: true))
            let document = try await WebFetcher(timeout: patience).document(at: address)
            #expect(document.maximumAge == .seconds(600))
            #expect(String(decoding: document.bytes, as: UTF8.self).hasPrefix(#"{"keys": [{"#))
        }
    }

    @Test(arguments: [
        (TemporaryIdentityProvider.Mode.redirect, "status 302"), (.otherPort, "status 302"),
        (.large, "larger than 262144 bytes"), (.failing, "status 500"), (.slow, "could not be fetched"),
    ])
    func whatMisbehavesIsNotTaken(_ mode: TemporaryIdentityProvider.Mode, _ reason: String) async throws {
        try await withIdentityProvider { provider in
            try await provider.set(mode)
            let fetcher = try WebFetcher(timeout: mode == .slow ? .milliseconds(300) : patience)
            let address = try #require(WebAddress(provider.keys, allowsLoopback: true))
            let failure = await #expect(throws: WebFailure.self) { try await fetcher.document(at: address) }
            #expect(failure?.description.contains(reason) == true, "\(failure?.description ?? "")")
        }
    }

    @Test func aFormIsSentAndEachStatusComesBack() async throws {
        try await withIdentityProvider { provider in
            let token = try #require(WebAddress("\(provider.issuer)/token?secret=x", allowsLoopback: true))
            let fetcher = try WebFetcher(timeout: patience)
            let request = WebRequest(
                try #require(WebAddress("\(provider.issuer)/token", allowsLoopback: true)),
                fields: [(name: "Authorization", value: "Basic eA==")],
                form: [(name: "code", value: "a b&c=d"), (name: "é", value: "")]
            )
            let response = try await fetcher.response(to: request)
            #expect(response.status == 400)
            #expect(String(decoding: response.bytes, as: UTF8.self) == #"{"error": "invalid_grant"}"#)
            #expect(try await provider.lastExchange() == #"{"code": "a b&c=d", "authorization": "Basic eA=="}"#)
            // What would begin a header field of its own is not sent.
            for value in ["x\r\nHost: evil", "x\n", "\u{e4}"] {
                await #expect(throws: WebFailure.self) {
                    try await fetcher.response(to: WebRequest(token, fields: [(name: "Accept", value: value)]))
                }
            }
            try await provider.set(.largeTokens)
            var failing = request
            failing.form = [(name: "code", value: String(repeating: "c", count: 10))]
            #expect(try await fetcher.response(to: failing).status == 400)
            // A query may be secret, and is in no text.
            try await provider.set(.slow)
            let impatient = try WebFetcher(timeout: .milliseconds(300))
            let keys = try #require(WebAddress("\(provider.keys)?secret=x", allowsLoopback: true))
            let failure = await #expect(throws: WebFailure.self) {
                try await impatient.response(to: WebRequest(keys))
            }
            #expect(failure?.description.contains("secret") == false)
        }
    }

    @Test func aNameOfThisMachineIsNotConnectedTo() async throws {
        try await withIdentityProvider { provider in
            let before = try await provider.requests()
            // By TLS the machine itself is an address like any other, which is judged when the connection is opened: the name
            // was resolved by then.
            for host in ["localhost", "127.0.0.1"] {
                let port = try #require(provider.issuer.split(separator: ":").last)
                let address = try #require(WebAddress("https://\(host):\(port)/keys"))
                let failure = await #expect(throws: WebFailure.self) {
                    try await WebFetcher(timeout: patience).document(at: address)
                }
                #expect(failure?.description.contains("not a public address") == true, "\(failure?.description ?? "")")
            }
            let after = try await provider.requests()
            #expect(after == before)
        }
    }

    @Test(
        arguments: [
            ("Cache-Control: max-age=600", 600), ("cache-control:public , MAX-AGE = 60", 60),
            ("Cache-Control: no-store", 0),
            ("Cache-Control: max-age=60, no-cache", 0), ("Cache-Control: public", nil),
            ("Cache-Control: max-age=x", nil),
            ("Cache-Control: max-age=-1", nil), ("Age: max-age=60", nil), ("HTTP/1.1 200 OK", nil), ("", nil),
        ] as [(String, Int?)]
    )
    func theAgeIsReadFromTheHeader(_ line: String, _ seconds: Int?) {
        #expect(maximumAge(ofHeader: line + "\r\n") == seconds.map { .seconds($0) })
    }
}
