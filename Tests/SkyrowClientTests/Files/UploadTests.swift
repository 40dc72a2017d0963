import Foundation
import Testing

@testable import SkyrowClient

/// Uploads against the request that each sends and the response that it reads.
@Suite struct UploadTests {
    private let name = AssetName("\(FileTransport.id)-cat.png")

    @Test func bytesArePostedWithTheirNameAndType() async throws {
        let scripted = FileClient([.uploaded])
        let data = Data([1, 2, 3, 4])
        let progress = scripted.progress
        let asset = try await scripted.client.upload(
            data,
            filename: "Kätzchen +&1.png",
            contentType: "image/png"
        ) { progress.note($0) }
        #expect(asset.name == name)
        #expect(asset.url == "http://service.example/base/files/x?expiredAt=1&signature=s")
        let upload = try #require(scripted.transport.uploads.first)
        #expect(
            upload.url.absoluteString
                == "http://service.example/base/files?filename=K%C3%A4tzchen%20%2B%261.png"
        )
        #expect(upload.content == .data(data))
        #expect(
            upload.headers.lines == [
                "Content-Type: image/png", "Accept: application/json", "X-Skygear-API-Key: key",
                "Authorization: Bearer t",
            ]
        )
        #expect(
            progress.all == [FileProgress(completed: 2, total: 4), FileProgress(completed: 4, total: 4)]
        )
        #expect(progress.all.map(\.fraction) == [0.5, 1])
    }

    @Test func aFileOnDiskIsLeftToTheTransport() async throws {
        let scripted = FileClient([.uploaded], session: nil)
        let directory = try ScratchDirectory()
        let file = try directory.file("cat.png", "12345678")
        let progress = scripted.progress
        let asset = try await scripted.client.upload(contentsOf: file) { progress.note($0) }
        #expect(asset.name == name)
        let upload = try #require(scripted.transport.uploads.first)
        #expect(upload.content == .file(file))
        #expect(upload.url.query == "filename=cat.png")
        #expect(upload.headers["Content-Type"] == "application/octet-stream")
        #expect(upload.headers["Authorization"] == nil)
        #expect(progress.all.last == FileProgress(completed: 8, total: 8))
    }

    @Test func aFileThatIsNotThereIsNotSent() async throws {
        let scripted = FileClient([])
        let directory = try ScratchDirectory()
        let file = directory.url.appendingPathComponent("missing.png")
        let error = await #expect(throws: ClientError.self) { try await scripted.client.upload(contentsOf: file) }
        #expect(error?.code == .localFile)
        #expect(scripted.transport.uploads.isEmpty)
    }

    @Test(arguments: ["image/png\r\nX-Skygear-API-Key: other", "bild/ä"])
    func aTypeThatIsNoTypeIsNotSent(type: String) async throws {
        let scripted = FileClient([])
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.upload(Data([1]), filename: "a", contentType: type)
        }
        #expect(error?.serverCode == .invalidArgument)
        #expect(scripted.transport.uploads.isEmpty)
    }

    struct Refusal: Sendable {
        var line: FileTransport.Line
        var code: ClientError.Code
        var serverCode: Int?
        /// How often the file is sent.
        var attempts: Int
    }

    @Test(arguments: [
        Refusal(line: .error(102, "PermissionDenied", status: 403), code: .refused, serverCode: 102, attempts: 1),
        Refusal(line: .error(108, "InvalidArgument", status: 400), code: .refused, serverCode: 108, attempts: 1),
        Refusal(line: .error(129, "AssetSizeTooLarge", status: 413), code: .refused, serverCode: 129, attempts: 1),
        Refusal(line: .error(131, "RateLimited", status: 429), code: .refused, serverCode: 131, attempts: 4),
        Refusal(line: .error(135, "Overloaded", status: 503), code: .refused, serverCode: 135, attempts: 4),
        // The disk is full, and stays so.
        Refusal(line: .error(135, "Overloaded", status: 507), code: .refused, serverCode: 135, attempts: 1),
        Refusal(line: .lost, code: .noResponse, attempts: 4),
        Refusal(line: .response("<html>", status: 413), code: .invalidResponse, attempts: 1),
        Refusal(line: .response("<html>", status: 502), code: .noResponse, attempts: 4),
        Refusal(line: .response(#"{"result":{}}"#, status: 201), code: .invalidResponse, attempts: 1),
        Refusal(
            line: .response(#"{"result":{"$type":"asset","$name":"cat.png"}}"#),
            code: .invalidResponse,
            attempts: 1
        ),
        Refusal(line: .response(#"{}"#, status: 307), code: .invalidResponse, attempts: 1),
    ])
    func refusalsAreThoseOfOtherCalls(refusal: Refusal) async throws {
        let scripted = FileClient(Array(repeating: refusal.line, count: 4))
        let error = await #expect(throws: ClientError.self) {
            try await scripted.client.upload(Data([1, 2, 3]), filename: "a.png")
        }
        #expect(error?.code == refusal.code)
        #expect(error?.serverCode?.rawValue == refusal.serverCode)
        #expect(scripted.transport.uploads.count == refusal.attempts)
        #expect(scripted.pauses == refusal.attempts - 1)
    }

    @Test func aLostUploadIsSentAgain() async throws {
        let scripted = FileClient([.lost, .error(135, "Overloaded", status: 503), .uploaded])
        let asset = try await scripted.client.upload(Data([1]), filename: "a.png")
        #expect(asset.name == name)
        #expect(scripted.transport.uploads.count == 3)
    }

    @Test func aRenewedTokenIsKeptAndAnEndedSessionForgotten() async throws {
        guard case .response(let body, let status, _) = FileTransport.Line.uploaded else { return }
        let renewing = FileTransport.Line.response(
            body,
            status: status,
            headers: [(name: "x-skyrow-access-token", value: "t2")]
        )
        let scripted = FileClient([renewing, .error(104, "AccessTokenNotAccepted", status: 401)])
        _ = try await scripted.client.upload(Data([1]), filename: "a.png")
        #expect(scripted.client.session?.accessToken == "t2")
        await #expect(throws: ClientError.self) { try await scripted.client.upload(Data([1]), filename: "a.png") }
        #expect(scripted.transport.uploads.last?.headers["Authorization"] == "Bearer t2")
        #expect(scripted.client.session == nil)
    }

    @Test func aTransportWithoutFilesSaysSo() async throws {
        let client = ScriptedClient([]).client
        let upload = await #expect(throws: ClientError.self) { try await client.upload(Data([1]), filename: "a") }
        #expect(upload?.code == .unsupported)
        let asset = Asset(try #require(name))
        let download = await #expect(throws: ClientError.self) { try await client.download(asset) }
        #expect(download?.code == .unsupported)
    }

    // MARK: Records with files

    private let record = #"[{"_id":"note/1","_type":"record","_access":null}]"#

    @Test func aDraftWithFilesUploadsThemFirst() async throws {
        let scripted = FileClient([.uploaded, .uploaded], calls: [.result(record)])
        let directory = try ScratchDirectory()
        let photo = LocalFile(contentsOf: try directory.file("cat.png", "123456"), contentType: "image/png")
        let sound = LocalFile(Data([1, 2, 3, 4]), filename: "meow.mp3")
        let progress = scripted.progress
        let saved = try await scripted.client.publicDatabase.save(
            RecordDraft("note/1", ["title": "Milk", "photo": .null]),
            uploading: ["photo": photo, "sound": sound]
        ) { progress.note($0) }
        #expect(saved.id.description == "note/1")
        #expect(scripted.transport.uploads.map(\.url.query) == ["filename=cat.png", "filename=meow.mp3"])
        let value = #"{"$type":"asset","$name":"\#(FileTransport.id)-cat.png"}"#
        let sent = try #require(scripted.transport.calls.bodies.first)
        #expect(sent.contains(#"{"_id":"note/1","title":"Milk","photo":\#(value),"sound":\#(value)}"#))
        #expect(progress.all.map(\.completed) == [3, 6, 8, 10])
        #expect(progress.all.allSatisfy { $0.total == 10 })
        #expect(photo.asset?.name == name)
    }

    @Test func aSaveThatIsRepeatedSendsNoFileAgain() async throws {
        let refused = ScriptedTransport.Line.result(
            #"[{"_id":"note/1","_type":"error","name":"PermissionDenied","code":102,"message":"No."}]"#
        )
        let scripted = FileClient([.uploaded], calls: [refused, .result(record)])
        let photo = LocalFile(Data([1, 2, 3]), filename: "cat.png")
        let database = scripted.client.publicDatabase
        await #expect(throws: ClientError.self) {
            try await database.save(RecordDraft("note/1"), uploading: ["photo": photo])
        }
        try await database.save(RecordDraft("note/1"), uploading: ["photo": photo])
        #expect(scripted.transport.uploads.count == 1)
        #expect(scripted.transport.isAtItsEnd)
    }

    @Test func aFileThatTheServiceNoLongerHasIsSentAgain() async throws {
        let gone = ScriptedTransport.Line.result(
            #"[{"_id":"note/1","_type":"error","name":"InvalidArgument","code":108,"message":"The file does not exist.","info":{"arguments":["photo"]}}]"#
        )
        let scripted = FileClient([.uploaded, .uploaded, .uploaded], calls: [gone, .result(record), .result(record)])
        let photo = LocalFile(Data([1, 2, 3]), filename: "cat.png")
        let database = scripted.client.publicDatabase
        await #expect(throws: ClientError.self) {
            try await database.save(RecordDraft("note/1"), uploading: ["photo": photo])
        }
        try await database.save(RecordDraft("note/1"), uploading: ["photo": photo])
        #expect(scripted.transport.uploads.count == 2)
        // Another user may not put it into a record.
        scripted.sessions.store(Session(userID: "bob", accessToken: "b"))
        try await database.save(RecordDraft("note/1"), uploading: ["photo": photo])
        #expect(scripted.transport.uploads.count == 3)
    }

    @Test func nothingIsSavedWithoutItsFiles() async throws {
        let scripted = FileClient([.error(129, "AssetSizeTooLarge", status: 413)])
        let database = scripted.client.publicDatabase
        let photo = LocalFile(Data([1, 2, 3]), filename: "cat.png")
        let large = await #expect(throws: ClientError.self) {
            try await database.save(RecordDraft("note/1"), uploading: ["photo": photo])
        }
        #expect(large?.serverCode?.rawValue == 129)
        let unnamed = await #expect(throws: ClientError.self) {
            try await database.save(RecordDraft("note/1"), uploading: ["photo": photo, "_id": photo])
        }
        #expect(unnamed?.serverCode == .invalidArgument)
        #expect(scripted.transport.uploads.count == 1)
        #expect(scripted.transport.calls.requests.isEmpty)
    }

    // MARK: Actions

    @Test func theActionsOfFilesHaveTheirParameters() async throws {
        let name = try #require(name)
        let scripted = ScriptedClient([
            .result(
                #"""
                {"asset":{"$type":"asset","$name":"\#(name)","$content_type":"image/png","$size":9,"$url":"http://x/f"},
                 "post-request":{"action":"/files/\#(name)?expiredAt=1&signature=s","extra-fields":{}}}
                """#
            ),
            .result(#"{"urls":{"\#(name)":"http://x/files/\#(name)?expiredAt=1&signature=s"}}"#),
            .result(#"{"deleted":1}"#),
            .result(#"{"unreferenced":3,"deleted":2}"#),
        ])
        let announced = try await scripted.client.announceFile("cat.png", contentType: "image/png", size: 9)
        #expect(announced.file.asset.name == name)
        #expect(announced.request.action == "/files/\(name)?expiredAt=1&signature=s")
        let other = try #require(AssetName("\(FileTransport.id)-dog.png"))
        let signed = try await scripted.client.privateDatabase.signFiles([other, name], in: RecordID("note/1"))
        #expect(signed.map(\.url) == ["http://x/files/\(name)?expiredAt=1&signature=s"])
        #expect(try await scripted.client.deleteFiles([name], forces: true) == 1)
        let collection = try await scripted.client.collectFiles(isDryRun: true)
        #expect(collection == FileCollection(unreferenced: 3, deleted: 2))
        #expect(
            (0..<4).map { scripted.parameters($0) } == [
                #"asset:put {"filename":"cat.png","content-type":"image/png","content-size":9}"#,
                #"file:sign {"record":"note/1","names":["\#(other)","\#(name)"],"database_id":"_private"}"#,
                #"file:delete {"names":["\#(name)"],"force":true}"#,
                #"file:collect {"dry_run":true}"#,
            ]
        )
    }

    @Test func filesInsideOfJSONHaveNoAddress() throws {
        let text = #"[{"$type":"asset","$name":"\#(FileTransport.id)-cat.png","$url":"http://evil.example/"}]"#
        let elements = try RecordValue.json(Data(text.utf8)).arrayValue
        let asset = try #require(elements?.first?.assetValue)
        #expect(asset.name == name)
        #expect(asset.url == nil)
    }
}
