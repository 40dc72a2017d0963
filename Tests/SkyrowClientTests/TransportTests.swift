import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowClient

/// What every transport must do; a new one is tested by adding it here.
@Suite struct TransportTests {
    private let transport: any Transport = URLSessionTransport(timeout: patience)

    private func request(_ url: URL, _ body: String = "{}") -> TransportRequest {
        TransportRequest(
            url: url,
            headers: [("Content-Type", "application/json"), ("X-Skygear-API-Key", "k"), ("Authorization", "Bearer t")],
            body: Array(body.utf8)
        )
    }

    @Test func itPostsHeadersAndBody() async throws {
        let server = try LocalServer(["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"])
        let response = try await transport.send(request(server.url, #"{"é":1}"#))
        #expect(response.status == 200)
        #expect(response.body == Array("{}".utf8))
        let head = try #require(server.receivedHeads.first)
        #expect(head.hasPrefix("POST /rpc HTTP/1.1\r\n"))
        let lines = head.lowercased().split(separator: "\r\n")
        for line in ["content-type: application/json", "x-skygear-api-key: k", "authorization: bearer t"] {
            #expect(lines.contains(where: { $0 == line }), "\(line)")
        }
        #expect(server.receivedBodies == [Array(#"{"é":1}"#.utf8)])
    }

    @Test(arguments: [400, 401, 404, 409, 500, 503])
    func itPassesEveryStatusOn(status: Int) async throws {
        let server = try LocalServer(["HTTP/1.1 \(status) X\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"])
        let response = try await transport.send(request(server.url))
        #expect(response.status == status)
        #expect(response.body == Array("body".utf8))
    }

    @Test func itReadsAnEmptyAnswer() async throws {
        let server = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        let response = try await transport.send(request(server.url))
        #expect(response.status == 204)
        #expect(response.body.isEmpty)
    }

    /// A redirection must not carry key and token to another host.
    @Test(arguments: [301, 302, 307, 308])
    func itPassesRedirectionsOnInsteadOfFollowingThem(status: Int) async throws {
        let other = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        let head =
            "HTTP/1.1 \(status) X\r\nLocation: \(other.url.absoluteString)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try LocalServer([head])
        let response = try await transport.send(request(server.url))
        #expect(response.status == status)
        #expect(other.receivedHeads.isEmpty)
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
    func itThrowsWhenTheConnectionBreaks(response: String) async throws {
        let server = try LocalServer([response])
        await #expect(throws: (any Error).self) { try await transport.send(request(server.url)) }
    }

    @Test func itThrowsWhenNobodyListens() async throws {
        // The server ends its only connection and its port, and nobody else is given that port at once.
        let server = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        _ = try await transport.send(request(server.url))
        await #expect(throws: (any Error).self) { try await transport.send(request(server.url)) }
    }

    @Test func aClientSpeaksThroughIt() async throws {
        let body = #"{"jsonrpc":"2.0","id":1,"result":{"record_types":{}}}"#
        let server = try LocalServer([
            "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        ])
        let client = SkyrowClient(
            endpoint: server.url.deletingLastPathComponent(),
            apiKey: "k",
            transport: transport,
            retryPolicy: .never
        )
        #expect(try await client.schema().types.isEmpty)
        #expect(server.receivedHeads.first?.hasPrefix("POST /rpc ") == true)
    }

    // MARK: Streams

    private static let streamHead =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Skyrow-Access-Token: new\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func aStreamArrivesWhileItIsOpen() async throws {
        let server = try LocalServer([Self.streamHead + "3\r\none\r\n"], keepsOpen: true)
        let stream = try await transport.stream(request(server.url, #"{"a":1}"#))
        #expect(stream.isEventStream)
        #expect(stream.headers.contains { $0.name == "X-Skyrow-Access-Token" && $0.value == "new" })
        var pieces = stream.body.makeAsyncIterator()
        #expect(try await pieces.next() == Array("one".utf8))
        #expect(server.receivedBodies == [Array(#"{"a":1}"#.utf8)])
        // The end of the connection is no end of the body.
        server.closeConnection()
        await #expect(throws: (any Error).self) {
            while try await pieces.next() != nil {}
        }
    }

    @Test func aStreamEndsWithItsBody() async throws {
        let server = try LocalServer([Self.streamHead + "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"])
        var text = ""
        for try await bytes in try await transport.stream(request(server.url)).body {
            text += String(decoding: bytes, as: UTF8.self)
        }
        #expect(text == "onetwo")
    }

    @Test(arguments: [401, 404, 503])
    func aStreamHasEveryStatus(status: Int) async throws {
        let server = try LocalServer([
            "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
        ])
        let stream = try await transport.stream(request(server.url))
        #expect(stream.status == status && !stream.isEventStream)
        var body: [UInt8] = []
        for try await bytes in stream.body { body += bytes }
        #expect(body == Array("{}".utf8))
    }

    @Test func aStreamFollowsNoRedirection() async throws {
        let other = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        let head =
            "HTTP/1.1 307 X\r\nLocation: \(other.url.absoluteString)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try LocalServer([head])
        #expect(try await transport.stream(request(server.url)).status == 307)
        #expect(other.receivedHeads.isEmpty)
    }

    @Test func aStreamThatIsNotThereThrows() async throws {
        let server = try LocalServer([""])
        await #expect(throws: (any Error).self) { try await transport.stream(request(server.url)) }
    }

    @Test func aStreamThatIsNotReadAnyMoreIsClosed() async throws {
        let server = try LocalServer([Self.streamHead + "3\r\none\r\n"], keepsOpen: true)
        do {
            var pieces = try await transport.stream(request(server.url)).body.makeAsyncIterator()
            #expect(try await pieces.next() != nil)
        }
        try await waiting(until: "the client closes the connection") { server.departed == 1 }
    }

    @Test func aStreamEndsWithItsTask() async throws {
        let server = try LocalServer([Self.streamHead + "3\r\none\r\n"], keepsOpen: true)
        let address = request(server.url)
        let transport = transport
        let task = Task {
            for try await _ in try await transport.stream(address).body {}
        }
        try await waiting(until: "the request arrives") { !server.receivedHeads.isEmpty }
        task.cancel()
        try await waiting(until: "the client closes the connection") { server.departed == 1 }
        _ = await task.result
    }

    // MARK: Files

    @Test func aFileIsPostedFromDisk() async throws {
        let body = #"{"result":{}}"#
        let server = try LocalServer([
            "HTTP/1.1 201 Created\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        ])
        let directory = try ScratchDirectory()
        let text = String(repeating: "0123456789abcdef", count: 20_000)
        let progress = FileClient.Noted<Int64>()
        let response = try await transport.upload(
            TransportUpload(
                url: server.url,
                headers: [("Content-Type", "image/png"), ("X-Skygear-API-Key", "k")],
                content: .file(try directory.file("cat.png", text))
            ) { progress.note($0) }
        )
        #expect(response.status == 201)
        #expect(response.body == Array(body.utf8))
        #expect(server.receivedBodies == [Array(text.utf8)])
        let head = try #require(server.receivedHeads.first).lowercased()
        #expect(head.hasPrefix("post /rpc http/1.1\r\n"))
        #expect(head.contains("content-type: image/png\r\n") && head.contains("content-length: 320000\r\n"))
        #expect(progress.all.last == 320_000)
        #expect(progress.all == progress.all.sorted())
    }

    @Test func bytesAreHandedOverAsTheyArrive() async throws {
        let server = try LocalServer([
            "HTTP/1.1 206 X\r\nContent-Length: 5\r\nContent-Range: bytes 2-6/9\r\nETag: \"t\"\r\nConnection: close\r\n\r\nbytes"
        ])
        let bytes = FileClient.Noted<Data>()
        let heads = FileClient.Noted<TransportResponse>()
        let response = try await transport.download(
            TransportDownload(url: server.url, headers: [("Range", "bytes=2-6")]) { head, data in
                heads.note(head)
                bytes.note(data)
            }
        )
        #expect(response.status == 206 && response.body.isEmpty)
        #expect(bytes.all.reduce(Data(), +) == Data("bytes".utf8))
        let head = try #require(heads.all.first)
        #expect(head.header("content-range") == "bytes 2-6/9" && head.header("etag") == "\"t\"")
        #expect(head.header("content-length") == "5")
        let sent = try #require(server.receivedHeads.first)
        #expect(sent.hasPrefix("GET /rpc ") && sent.lowercased().contains("range: bytes=2-6\r\n"))
    }

    @Test(arguments: [401, 404, 413, 416, 500])
    func theBodyOfARefusalIsReturned(status: Int) async throws {
        let response = "HTTP/1.1 \(status) X\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
        let server = try LocalServer([response, response])
        let download = try await transport.download(
            TransportDownload(url: server.url, headers: []) { _, _ in Issue.record("this is no file") }
        )
        #expect(download.status == status && download.body == Array("{}".utf8))
        let upload = TransportUpload(url: server.url, headers: [], content: .data(Data([1, 2])))
        #expect(try await transport.upload(upload).status == status)
    }

    @Test func aReceiverThatThrowsEndsTheDownload() async throws {
        let server = try LocalServer(["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"], keepsOpen: true)
        let error = await #expect(throws: ClientError.self) {
            try await transport.download(
                TransportDownload(url: server.url, headers: []) { _, _ in throw ClientError(.localFile, "full") }
            )
        }
        #expect(error?.code == .localFile)
        try await waiting(until: "the client closes the connection") { server.departed == 1 }
    }

    @Test func transfersThrowWhenTheConnectionBreaks() async throws {
        let server = try LocalServer(["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", ""])
        await #expect(throws: (any Error).self) {
            try await transport.download(TransportDownload(url: server.url, headers: []) { _, _ in })
        }
        await #expect(throws: (any Error).self) {
            try await transport.upload(TransportUpload(url: server.url, headers: [], content: .data(Data([1]))))
        }
    }

    @Test func transfersFollowNoRedirection() async throws {
        let other = try LocalServer(["HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"])
        let head =
            "HTTP/1.1 307 X\r\nLocation: \(other.url.absoluteString)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try LocalServer([head, head])
        let download = TransportDownload(url: server.url, headers: []) { _, _ in }
        #expect(try await transport.download(download).status == 307)
        let upload = TransportUpload(url: server.url, headers: [], content: .data(Data([1])))
        #expect(try await transport.upload(upload).status == 307)
        #expect(other.receivedHeads.isEmpty)
    }

    @Test func aTransferEndsWithItsTask() async throws {
        let server = try LocalServer(["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"], keepsOpen: true)
        let (address, transport) = (server.url, transport)
        let task = Task {
            try await transport.download(TransportDownload(url: address, headers: []) { _, _ in })
        }
        try await waiting(until: "the request arrives") { !server.receivedHeads.isEmpty }
        task.cancel()
        try await waiting(until: "the client closes the connection") { server.departed == 1 }
        await #expect(throws: (any Error).self) { try await task.value }
    }
}
