import SkyrowModel
import SkyrowStore
import Testing

@testable import SkyrowActions

@Suite struct UploadPlanTests {
    private static let png = FilesFixture.png

    static func plan(
        _ filename: String = "cat.png",
        _ contentType: String? = nil,
        size: Int64? = nil,
        maximum: Int64 = 1000,
        types: String = "*/*"
    ) throws -> UploadPlan {
        try UploadPlan(
            filename: filename,
            contentType: contentType,
            size: size,
            maximum: maximum,
            types: try #require(FileTypes(types))
        )
    }

    @Test(
        arguments: [
            ("a", nil, nil), (String(repeating: "a", count: 255), 1000, nil), ("a", 1, nil),
            ("a", 1001, .assetSizeTooLarge), ("a", .max, .assetSizeTooLarge), ("a", 0, .invalidArgument),
            ("a", -1, .invalidArgument), ("", 1, .invalidArgument), ("a\u{0}", 1, .invalidArgument),
            (String(repeating: "ä", count: 128), 1, .invalidArgument),
        ] as [(String, Int64?, ErrorCode?)]
    ) func anUploadIsJudgedBeforeItsFirstByte(_ filename: String, _ size: Int64?, _ code: ErrorCode?) throws {
        do {
            let plan = try Self.plan(filename, size: size)
            #expect(code == nil && plan.size == size)
        } catch let error as SkyrowError {
            #expect(error.code == code)
        }
    }

    struct TypeRow: Sendable, CustomTestStringConvertible {
        var filename = "file"
        var head: String?
        var part: String?
        var bytes = FilesFixture.text
        var types = "*/*"
        /// nil for a refusal.
        let stored: String?

        var testDescription: String { "\(filename) \(head ?? "-") \(part ?? "-") \(types) \(stored ?? "refused")" }
    }

    static let types = [
        // The client's word counts, then the extension, then the first bytes.
        TypeRow(filename: "cat.png", head: "image/x-cat", stored: "image/x-cat"),
        TypeRow(head: "Text/Plain; charset=utf-8", stored: "text/plain"),
        TypeRow(head: "nonsense", stored: "application/octet-stream"),
        TypeRow(head: "application/octet-stream", bytes: png, stored: "image/png"),
        TypeRow(bytes: png, stored: "image/png"),
        TypeRow(stored: "application/octet-stream"),
        TypeRow(filename: "notes.txt", stored: "text/plain"),
        // What a form declares of its part counts if nothing else is declared.
        TypeRow(part: "text/csv", stored: "text/csv"),
        TypeRow(head: "application/octet-stream", part: "text/csv", stored: "text/csv"),
        TypeRow(head: "text/plain", part: "text/csv", stored: "text/plain"),
        // Nothing becomes active content by its bytes.
        TypeRow(bytes: Array("<html><script>alert(1)</script>".utf8), stored: "application/octet-stream"),
        TypeRow(bytes: Array("<svg xmlns=\"http://www.w3.org/2000/svg\">".utf8), stored: "application/octet-stream"),
        TypeRow(head: "application/octet-stream", bytes: Array("#!/bin/sh".utf8), stored: "application/octet-stream"),
        // Accepted types are judged by the first bytes where these show one.
        TypeRow(head: "image/png", bytes: png, types: "image/*", stored: "image/png"),
        TypeRow(bytes: png, types: "image/*", stored: "image/png"),
        TypeRow(head: "image/png", bytes: png, types: "application/pdf", stored: nil),
        TypeRow(head: "application/pdf", bytes: png, types: "application/pdf", stored: nil),
        TypeRow(head: "text/plain", types: "image/*", stored: nil),
        TypeRow(types: "image/*", stored: nil),
        TypeRow(part: "text/csv", types: "text/*", stored: "text/csv"),
    ]

    @Test(arguments: types) func theMediaTypeIsFound(_ row: TypeRow) throws {
        let plan = try Self.plan(row.filename, row.head, types: row.types)
        var progress = UploadProgress(plan)
        do {
            try progress.take(row.bytes)
            let found = try progress.finish(part: row.part)
            #expect(found.contentType.rawValue == row.stored)
        } catch {
            #expect(row.stored == nil && error.code == .invalidArgument, "\(error)")
        }
    }

    @Test func aTypeIsRefusedAsSoonAsTheFirstBytesShowIt() throws {
        var progress = UploadProgress(try Self.plan(types: "application/pdf"))
        try progress.take(Self.png)
        #expect(throws: SkyrowError.self) { try progress.take([UInt8](repeating: 0, count: 600)) }
    }

    struct SizeRow: Sendable {
        var announced: Int64?
        let parts: [Int]
        let code: ErrorCode?
    }

    @Test(
        arguments: [
            SizeRow(parts: [1], code: nil),
            SizeRow(parts: [400, 600], code: nil),
            SizeRow(parts: [400, 601], code: .assetSizeTooLarge),
            SizeRow(parts: [], code: .invalidArgument),
            SizeRow(parts: [0, 0], code: .invalidArgument),
            SizeRow(announced: 10, parts: [4, 6], code: nil),
            SizeRow(announced: 10, parts: [4, 0, 5], code: .invalidArgument),
            SizeRow(announced: 10, parts: [], code: .invalidArgument),
            SizeRow(announced: 10, parts: [11], code: .assetSizeTooLarge),
            SizeRow(announced: 10, parts: [4, 6, 1], code: .assetSizeTooLarge),
        ]
    ) func theBytesAreCounted(_ row: SizeRow) throws {
        var progress = UploadProgress(try Self.plan("file", size: row.announced))
        do {
            for count in row.parts { try progress.take([UInt8](repeating: 65, count: count)) }
            let found = try progress.finish(part: nil)
            #expect(row.code == nil && found.size == Int64(row.parts.reduce(0, +)))
        } catch {
            #expect(error.code == row.code)
        }
    }

    /// The bytes that a user has of 100, those that the head of an upload names, and those that arrive until it is refused.
    struct QuotaRow: Sendable {
        let used: Int64
        var size: Int64?
        var parts: [Int] = []
        /// The part that is refused; -1 for the head, nil for a file that fits.
        let refused: Int?
    }

    @Test(
        arguments: [
            QuotaRow(used: 0, size: 100, parts: [100], refused: nil),
            QuotaRow(used: 0, size: 101, refused: -1),
            QuotaRow(used: 40, size: 60, parts: [30, 30], refused: nil),
            QuotaRow(used: 40, size: 61, refused: -1),
            QuotaRow(used: 40, parts: [60], refused: nil),
            QuotaRow(used: 40, parts: [59, 1, 1], refused: 2),
            QuotaRow(used: 99, parts: [1], refused: nil),
            QuotaRow(used: 99, parts: [2], refused: 0),
            QuotaRow(used: 100, refused: -1),
            // After the quota was lowered.
            QuotaRow(used: 150, size: 1, refused: -1),
            QuotaRow(used: .max, refused: -1),
        ]
    ) func aQuotaLimitsWhatIsUploaded(_ row: QuotaRow) throws {
        var place = -1
        do {
            var plan = try Self.plan("file", size: row.size)
            try plan.limit(by: UploadQuota(limit: 100, used: row.used))
            var progress = UploadProgress(plan)
            for count in row.parts {
                place += 1
                try progress.take([UInt8](repeating: 65, count: count))
            }
            #expect(row.refused == nil)
        } catch let error as SkyrowError {
            #expect(row.refused == place && error == .fileQuotaExceeded(limit: 100, used: row.used))
        }
    }

    @Test(arguments: [nil, 40 << 20] as [Int64?]) func freeSpaceIsReadEvery16MB(_ size: Int64?) throws {
        var progress = UploadProgress(try Self.plan("file", size: size, maximum: 1 << 30))
        let rows: [(Int, Int64?)] = [
            (0, nil), ((16 << 20) - 1, nil), (1, 24 << 20), (0, nil), ((16 << 20) - 1, nil), (3, (8 << 20) - 2),
        ]
        for (count, rest) in rows {
            try progress.take([UInt8](repeating: 0, count: count))
            let found = progress.spaceToRequire()
            #expect(found == rest.map { size == nil ? 0 : $0 }, "\(progress.received)")
        }
    }

    // MARK: Who may

    @Test(
        arguments: UploadAudience.allCases
    ) func eachAudienceHasItsCallers(_ audience: UploadAudience) {
        let user = Caller(kind: .user("ann"))
        let administrator = Caller(kind: .user("ann"), isAdministrator: true)
        let callers: [Caller] = [
            .anonymous, user, administrator, Caller(kind: .master(actingAs: nil)),
            Caller(kind: .master(actingAs: "ann")),
        ]
        let expected: [ErrorCode?] =
            switch audience {
            case .user: [.notAuthenticated, nil, nil, nil, nil]
            case .key: [nil, nil, nil, nil, nil]
            case .administrator: [.notAuthenticated, .permissionDenied, nil, nil, nil]
            }
        #expect(callers.map { audience.refusal(of: $0)?.code } == expected)
    }

    @Test func withoutASignatureAnAnnouncedFileIsForItsUploader() {
        func file(of owner: UserID?) -> StoredAsset {
            StoredAsset(
                name: FileSignerTests.cat,
                filename: "cat.png",
                contentType: "image/png",
                size: 1,
                state: .expected,
                owner: owner
            )
        }
        let rows: [(UserID?, Caller, Bool, Bool)] = [
            ("ann", Caller(kind: .user("ann")), false, true),
            ("ann", Caller(kind: .user("bob")), true, false),
            ("ann", .anonymous, true, false),
            ("ann", Caller(kind: .master(actingAs: nil)), true, true),
            ("ann", Caller(kind: .master(actingAs: "bob")), true, true),
            (nil, .anonymous, true, true),
            (nil, Caller(kind: .user("bob")), true, true),
            (nil, Caller(kind: .user("bob")), false, false),
        ]
        for (owner, caller, hasKey, isAdmitted) in rows {
            #expect(file(of: owner).admits(caller, hasKey: hasKey) == isAdmitted, "\(owner as Any) \(caller)")
        }
    }

    @Test func aHolderHasEightPlaces() {
        var places = FilePlaces(limit: FilePlaces.uploads)
        let ann = FilePlaces.Holder.user("ann")
        let client = FilePlaces.Holder.client(ClientKey(high: 0, low: 1))
        for holder in [ann, client] {
            let entered = (0...places.limit).map { _ in places.enter(holder) }
            #expect(entered == Array(repeating: true, count: places.limit) + [false])
        }
        places.leave(ann)
        let entered = [ann, ann, client].map { places.enter($0) }
        #expect(entered == [true, false, false])
        for _ in 0..<places.limit {
            places.leave(ann)
            places.leave(client)
        }
        #expect(places.isUnused)
    }

    // MARK: Nights

    @Test(
        arguments: [
            // Hours and minutes of a day, and the hours since the last look.
            (0, 0, 48), (1, 59, 48), (2, 0, 20), (3, 59, 20), (4, 0, 48), (23, 59, 48),
        ] as [(Int64, Int64, Int64)]
    ) func filesAreCollectedEachNight(_ hour: Int64, _ minute: Int64, _ interval: Int64) {
        for day: Int64 in [-3, 0, 9000] {
            let now = Timestamp(microseconds: ((day * 24 + hour) * 60 + minute) * 60_000_000)
            #expect(FileNight.interval(at: now) == .seconds(interval * 3600))
        }
    }
}
