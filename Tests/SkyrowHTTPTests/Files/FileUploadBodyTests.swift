import NIOCore
import NIOPosix
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions
@testable import SkyrowHTTP

/// How the body of an upload is read, and when it is not.
@Suite struct FileUploadBodyTests {
    private static let gif = "GIF89a, and the rest of an image"

    /// Nothing is asked for that is refused by its head.
    @Test func aRefusedClientIsNotAskedForItsBody() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let expect = ("Expect", "100-continue")
            let rows: [(path: String, length: Int, key: String?, token: String?, status: Int, code: Int)] = [
                ("/files?filename=a", (1 << 20) + 1, TestService.apiKey, ann.token, 413, 129),
                ("/files?filename=a", 1000, TestService.apiKey, nil, 401, 101),
                ("/files?filename=a", 1000, "wrong", nil, 401, 103),
                ("/files?filename=a", 100_000, nil, nil, 401, 101),
                ("/files?filename=", 1000, TestService.apiKey, ann.token, 400, 108),
                ("/files/7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef-cat.gif", 1000, TestService.apiKey, nil, 400, 107),
            ]
            for row in rows {
                try await withConnection(port: service.port) { connection in
                    let headers = [expect, ("Content-Length", "\(row.length)")]
                    try await connection.send(
                        TestService.head("POST", row.path, key: row.key, token: row.token, headers: headers)
                    )
                    let response = try await connection.response()
                    #expect(response.status == row.status, "\(row)")
                    #expect(try JSONValue(response.body)["error"]["code"].integer == row.code, "\(row)")
                    #expect(response["connection"] == "close")
                    #expect(try await connection.isClosedByServer())
                }
            }
            try await withConnection(port: service.port) { connection in
                let headers = [expect, ("Content-Length", "5"), ("Content-Type", "text/plain")]
                try await connection.send(
                    TestService.head("POST", "/files?filename=a.txt", token: ann.token, headers: headers)
                )
                #expect(try await connection.response().status == 100)
                #expect(storage.incoming == 1)
                try await connection.send("hello")
                #expect(try await connection.response().status == 201)
            }
        }
    }

    /// Neither a full quota nor a disk with too little free space asks for a body.
    @Test func whatDoesNotFitIsRefusedByItsHead() async throws {
        try await withFileService(quota: 40) { service, storage in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            _ = try await service.upload(Self.gif, token: ann.token)
            let rows: [(length: Int, token: String, free: Int64?, status: Int, code: Int?)] = [
                (8, ann.token, nil, 100, nil), (9, ann.token, nil, 413, 129), (40, bob.token, nil, 100, nil),
                (41, bob.token, nil, 413, 129), (40, bob.token, 1 << 30, 507, 135), (40, bob.token, 1 << 40, 100, nil),
            ]
            for row in rows {
                storage.setFreeSpace(row.free)
                try await withConnection(port: service.port) { connection in
                    let headers = [("Expect", "100-continue"), ("Content-Length", "\(row.length)")]
                    try await connection.send(
                        TestService.head("POST", "/files?filename=a", token: row.token, headers: headers)
                    )
                    let response = try await connection.response()
                    #expect(response.status == row.status, "\(row)")
                    guard row.status != 100 else { return }
                    #expect(try JSONValue(response.body)["error"]["code"].integer == row.code, "\(row)")
                    #expect(try await connection.isClosedByServer())
                }
                try await waiting(until: "the upload was discarded") { storage.incoming == 0 }
            }
            storage.setFreeSpace(nil)
            let parameters = #"{"filename":"a","content-type":"image/gif","content-size":9}"#
            let announced = try await service.v1("/asset/put", parameters, token: ann.token)
            #expect(announced.status == 413)
            let error = try JSONValue(announced.body)["error"]
            #expect(error["code"].integer == 129 && error["info"]["limit"].integer == 40)
            #expect(error["info"]["used"].integer == Self.gif.utf8.count)
            #expect(storage.names.count == 1)
        }
    }

    @Test func aBodyOfUnknownLengthIsBounded() async throws {
        try await withFileService(maximum: 100_000) { service, storage in
            let ann = try await service.signUp("ann")
            for (size, status) in [(100_000, 201), (100_001, 413)] {
                try await withConnection(port: service.port) { connection in
                    let headers = [("Transfer-Encoding", "chunked"), ("Content-Type", "text/plain")]
                    try await connection.send(
                        TestService.head("POST", "/files?filename=a.txt", token: ann.token, headers: headers)
                    )
                    let content = String(repeating: "x", count: size)
                    try await connection.send("\(String(size, radix: 16))\r\n\(content)\r\n0\r\n\r\n")
                    let response = try await connection.response()
                    #expect(response.status == status)
                    if status == 413 {
                        let error = try JSONValue(response.body)["error"]
                        #expect(error["code"].integer == 129)
                        #expect(error["info"]["limit"].integer == 100_000)
                    }
                }
            }
            #expect(storage.names.count == 1)
        }
    }

    @Test func aStalledUploadIsGivenUp() async throws {
        try await withFileService(limits: HTTPLimits(bodyWindow: .milliseconds(200))) { service, storage in
            let ann = try await service.signUp("ann")
            try await withConnection(port: service.port) { connection in
                let headers = [("Content-Length", "1000"), ("Content-Type", "text/plain")]
                try await connection.send(
                    TestService.head("POST", "/files?filename=a.txt", token: ann.token, headers: headers) + "a part"
                )
                #expect(try await connection.response().status == 408)
                #expect(try await connection.isClosedByServer())
            }
            try await waiting(until: "the upload was discarded") { storage.incoming == 0 }
            #expect(storage.names.isEmpty)
        }
    }

    @Test func theUploadOfAClientThatLeavesIsDiscarded() async throws {
        try await withFileService { service, storage in
            let ann = try await service.signUp("ann")
            let action = try await service.announce("a.gif", size: 1000, token: ann.token)
            let form = String(TestForm().file(String(repeating: "x", count: 1000)).body.prefix(500))
            for (path, body) in [("/files?filename=a.txt", "a part"), (action, form)] {
                try await withConnection(port: service.port) { connection in
                    let type = path == action ? TestForm.contentType : "text/plain"
                    let headers = [("Content-Length", "1500"), ("Content-Type", type)]
                    try await connection.send(TestService.head("POST", path, token: ann.token, headers: headers) + body)
                    try await waiting(until: "the upload has begun") { storage.incoming == 1 }
                }
                try await waiting(until: "the upload was discarded") { storage.incoming == 0 }
            }
            #expect(storage.names.isEmpty)
        }
    }

    @Test func aSlowStorageHoldsTheClientBack() async throws {
        try await withFileService(maximum: 16 << 20) { service, storage in
            let ann = try await service.signUp("ann")
            let gate = Gate<Void>("the storage to go on")
            storage.hold(at: gate)
            let content = String(repeating: "x", count: 8 << 20)
            async let response = service.send(
                "POST",
                "/files?filename=a.txt",
                content,
                token: ann.token,
                headers: [("Content-Type", "text/plain")]
            )
            try await waiting(until: "the storage has something to write") { storage.largestPart > 0 }
            try await waiting(until: "as much waits as may") {
                service.counts.statistics.bodyBytes >= 64 * 1024
            }
            #expect(service.counts.statistics.bodyBytes <= StreamTests.bufferBound)
            gate.open()
            #expect(try await response.status == 201)
            #expect(storage.largestPart <= UploadParts.maximumBytes)
        }
    }

    /// What waits for the storage, and a part in it for each upload.
    @Test func uploadsAtOnceTakeLittleMemory() async throws {
        try await withFileService { service, storage in
            let gate = Gate<Void>("the storage to go on")
            storage.hold(at: gate)
            let content = String(repeating: "x", count: 1 << 20)
            let uploads = 32
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<uploads {
                    group.addTask {
                        try await service.send("POST", "/files?filename=a.txt", content, key: TestService.masterKey)
                            .status
                    }
                }
                try await waiting(until: "as much waits as may") {
                    storage.incoming == uploads
                        && service.counts.statistics.bodyBytes >= uploads * RequestLifecycle.window
                }
                let inStorage = uploads * UploadParts.maximumBytes
                #expect(service.counts.statistics.bodyBytes + inStorage <= 16 << 20)
                gate.open()
                for try await status in group { #expect(status == 201) }
            }
            #expect(storage.largestPart <= UploadParts.maximumBytes)
        }
    }

    /// Parts are collected while the storage writes, and none is lost or out of order.
    @Test func partsOfABodyAreJoinedInTheirOrder() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let parts = try await loop.submit {
            let stream = RequestBodyStream(on: loop)
            for length in [10, 100_000, 31_000, 62, 1, 200_000, 5] {
                stream.push(ByteBuffer(repeating: UInt8(length % 251), count: length))
            }
            stream.finish()
            return stream
        }.get()
        // Away from the event loop each part comes by itself.
        #expect(parts.arrived(atMost: .max).isEmpty)
        let taken = try await loop.submit {
            ([10_000, 100_010, 31_062, 0, 1, .max] as [Int]).map { parts.arrived(atMost: $0).map(\.readableBytes) }
        }.get()
        #expect(taken == [[10], [100_000], [31_000, 62], [], [1], [200_000, 5]])
        #expect(try await parts.next() == nil)
    }
}
