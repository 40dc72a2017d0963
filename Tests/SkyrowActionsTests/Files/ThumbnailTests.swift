import Foundation
import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Which thumbnails are made, for whom, and how often.
@Suite struct ThumbnailTests {
    private static let small = ThumbnailSize.fill(width: 100, height: 100)
    private static let large = ThumbnailSize.fit(width: 400, height: 400)

    private static func withThumbnails(
        capacity: Int = 1,
        maximumWaiting: Int = 64,
        test: String = #function,
        _ body: (FilesFixture, TestThumbnailMaker) async throws -> Void
    ) async throws {
        let maker = TestThumbnailMaker()
        let thumbnails = ThumbnailConfiguration(
            sizes: [small, large],
            maker: maker,
            gate: TaskGate(capacity: capacity, maximumWaiting: maximumWaiting)
        )
        try await withFiles(thumbnails: thumbnails, test: test) { files in try await body(files, maker) }
    }

    private static func text(
        _ files: FilesFixture,
        _ name: AssetName,
        _ size: ThumbnailSize = small,
        by sender: Sender
    ) async throws(SkyrowError) -> String {
        let download = try await files.service.download(
            .file(name, nil),
            thumbnail: size,
            from: sender,
            id: FilesFixture.id
        )
        guard case .descriptor(let file) = download.file.source else { return "" }
        #expect(download.thumbnail == size)
        return "\(download.asset.contentType): \(file.text)"
    }

    @Test func aThumbnailIsMadeOnceAndKept() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            // Its type is what the bytes show.
            let name = try await files.upload(TestImage.gif, "cat.png", by: ann.sender)
            for _ in 0..<3 {
                let text = try await Self.text(files, name, by: ann.sender)
                #expect(text == "image/gif: 100x100 of image/gif")
            }
            #expect(maker.begun.value == 1)
            let other = try await Self.text(files, name, Self.large, by: ann.sender)
            #expect(other == "image/gif: 400x400f of image/gif")
            #expect(maker.begun.value == 2)
            #expect(files.storage.keptThumbnails.kept.count == 2)
            let made = files.base.observations.count { if case .thumbnailMade(.made, _) = $0 { true } else { false } }
            #expect(made == 2)
            let deletion = FileDeletion(names: [name])
            let deleted = try await files.service.run(Actions.fileDelete, deletion, by: ann.caller)
            #expect(deleted == 1 && files.storage.keptThumbnails.kept.isEmpty)
        }
    }

    @Test func whatIsNoImageWithinTheBoundsHasNone() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            let ben = try await files.user("ben")
            let image = try await files.upload(TestImage.jpeg, by: ann.sender)
            let bounds = [(7142, 7000, true), (7143, 7000, false), (60_000, 60_000, false)]
            for (width, height, isMade) in bounds {
                let png = TestImage.pngImage(width: width, height: height, rows: 0)
                let name = try await files.upload(png, by: ann.sender)
                let outcome = await files.summary { () async throws(SkyrowError) in
                    try await Self.text(files, name, by: ann.sender)
                }
                #expect(outcome == (isMade ? "OK" : "InvalidArgument"), "\(width) × \(height)")
            }
            let made = maker.begun.value
            let avif = try await files.upload(TestImage.avifImage(TestImage.extent(3, 2)), "a.avif", by: ann.sender)
            let text = try await files.upload(FilesFixture.text, "a.txt", by: ann.sender)
            let svg = try await files.upload(Array("<svg/>".utf8), "a.svg", by: ann.sender)
            let truncated = try await files.upload(FilesFixture.png, by: ann.sender)
            let other = ThumbnailSize.fill(width: 101, height: 100)
            let never = AssetName(id: "7b0e2a7c-7135-4912-a6c9-7c1dbec0f5ef", filename: "cat.png")
            let rows: [(AssetName, ThumbnailSize, Sender, String)] = [
                (image, other, ann.sender, "InvalidArgument"),
                (text, Self.small, ann.sender, "InvalidArgument"),
                (svg, Self.small, ann.sender, "InvalidArgument"),
                (avif, Self.small, ann.sender, "InvalidArgument"),
                (truncated, Self.small, ann.sender, "InvalidArgument"),
                // Nobody learns of a file by its thumbnails.
                (image, Self.small, ben.sender, "ResourceNotFound"),
                (image, other, ben.sender, "ResourceNotFound"),
                (text, Self.small, FilesFixture.nobody, "ResourceNotFound"),
                (never, Self.small, ann.sender, "ResourceNotFound"),
            ]
            for (name, size, sender, outcome) in rows {
                let found = await files.summary { () async throws(SkyrowError) in
                    try await Self.text(files, name, size, by: sender)
                }
                #expect(found == outcome, "\(name) \(size)")
            }
            #expect(maker.begun.value == made)
        }
    }

    @Test func withoutThumbnailsEverySizeIsRefused() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let name = try await files.upload(TestImage.jpeg, by: ann.sender)
            try await expectError(.invalidArgument) { try await Self.text(files, name, by: ann.sender) }
        }
    }

    // MARK: - Failures

    @Test func anImageThatCannotBeDecodedIsTriedOnceAnHour() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            let name = try await files.upload(TestImage.jpeg, by: ann.sender)
            maker.fail(with: .undecodable("signal 9"))
            let first = try await expectError(.overloaded) { try await Self.text(files, name, by: ann.sender) }
            #expect(first?.info["retry_after"] == .integer(1))
            #expect(first?.message.contains("signal") == false)
            for size in [Self.small, Self.large] {
                try await expectError(.invalidArgument) { try await Self.text(files, name, size, by: ann.sender) }
            }
            #expect(maker.begun.value == 1)
            #expect(files.base.observations.count { $0 == .thumbnailFailed(id: String(name.id), "signal 9") } == 1)
            let other = try await files.upload(TestImage.jpeg, by: ann.sender)
            maker.fail(with: nil)
            _ = try await Self.text(files, other, by: ann.sender)
            files.base.clock.advance(by: .seconds(3599))
            try await expectError(.invalidArgument) { try await Self.text(files, name, by: ann.sender) }
            files.base.clock.advance(by: .seconds(2))
            _ = try await Self.text(files, name, by: ann.sender)
        }
    }

    @Test func faultsOfTheServiceAreNotThoseOfTheImage() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            let name = try await files.upload(TestImage.jpeg, by: ann.sender)
            maker.fail(with: .notInstalled)
            try await expectError(.notSupported) { try await Self.text(files, name, by: ann.sender) }
            maker.fail(with: .unavailable(.noSpace))
            let full = try await expectError(.overloaded) { try await Self.text(files, name, by: ann.sender) }
            #expect(full?.isStorageFull == true)
            files.storage.fail(at: .open, with: .unavailable("the disk is away"))
            try await expectError(.overloaded) { try await Self.text(files, name, by: ann.sender) }
            files.storage.fail(at: .open, with: nil)
            maker.fail(with: nil)
            _ = try await Self.text(files, name, by: ann.sender)
            // A kept thumbnail needs no file, and another one does.
            files.storage[name] = nil
            _ = try await Self.text(files, name, by: ann.sender)
            try await expectError(.resourceNotFound) { try await Self.text(files, name, Self.large, by: ann.sender) }
            #expect(files.base.observations.count { $0 == .fileMissing(id: String(name.id)) } == 1)
        }
    }

    @Test func failuresAreBounded() {
        let start = ContinuousClock.now
        func name(_ number: Int) -> AssetName {
            let digits = String(number)
            let last = String(repeating: "0", count: 12 - digits.count) + digits
            return AssetName(id: "7b0e2a7c-7135-4912-a6c9-\(last)", filename: "a")
        }
        var failures = ThumbnailFailures()
        for number in 0...ThumbnailFailures.limit { failures.note(name(number), at: start + .milliseconds(number)) }
        #expect(failures.count == ThumbnailFailures.limit / 2)
        #expect(failures.contains(name(ThumbnailFailures.limit), at: start + .seconds(60)))
        #expect(!failures.contains(name(0), at: start + .seconds(60)))
        // Those that are over go first.
        let later = start + .seconds(3700)
        for number in 2000..<2000 + ThumbnailFailures.limit { failures.note(name(number), at: later) }
        #expect(failures.count == ThumbnailFailures.limit)
        #expect(
            failures.contains(name(2000), at: later) && !failures.contains(name(ThumbnailFailures.limit), at: later)
        )
    }

    // MARK: - Several at the same time

    @Test func requestsForOneThumbnailShareIt() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            let name = try await files.upload(TestImage.jpeg, by: ann.sender)
            let end = Deferred<Void>()
            maker.hold(until: end)
            let state = try #require(files.service.files?.thumbnails)
            let thumbnail = Thumbnail(of: name, Self.small)
            let tasks = (0..<5).map { _ in Task { try await Self.text(files, name, by: ann.sender) } }
            try await waiting(until: "all wait") { state.work.waiting(for: thumbnail) == 5 }
            tasks[0].cancel()
            let left = await tasks[0].result
            #expect(throws: SkyrowError.self) { try left.get() }
            try await waiting(until: "it is made") { maker.begun.value == 1 }
            #expect(maker.cancelled.value == 0)
            end.settle()
            for task in tasks.dropFirst() {
                let text = try await task.value
                #expect(text == "image/jpeg: 100x100 of image/jpeg")
            }
            #expect(maker.begun.value == 1)
        }
    }

    @Test func aThumbnailForNobodyIsGivenUp() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            let name = try await files.upload(TestImage.jpeg, by: ann.sender)
            maker.hold(until: Deferred<Void>())
            let task = Task { try await Self.text(files, name, by: ann.sender) }
            try await waiting(until: "it is being made") { maker.begun.value == 1 }
            task.cancel()
            let left = await task.result
            #expect(throws: SkyrowError.self) { try left.get() }
            try await files.base.observations.wait(for: "its end") {
                if case .thumbnailMade(.cancelled, _) = $0 { true } else { false }
            }
            #expect(files.storage.keptThumbnails.kept.isEmpty)
            // The image is not to blame.
            maker.hold(until: nil)
            _ = try await Self.text(files, name, by: ann.sender)
        }
    }

    @Test func asManyWaitAsMay() async throws {
        try await Self.withThumbnails(maximumWaiting: 1) { files, maker in
            let ann = try await files.user("ann")
            var names: [AssetName] = []
            for _ in 0..<3 { names.append(try await files.upload(TestImage.jpeg, by: ann.sender)) }
            let end = Deferred<Void>()
            maker.hold(until: end)
            let gate = try #require(files.service.files?.thumbnails?.configuration.gate)
            let (one, two, three) = (names[0], names[1], names[2])
            let first = Task { try await Self.text(files, one, by: ann.sender) }
            try await waiting(until: "one is being made") { maker.begun.value == 1 }
            let second = Task { try await Self.text(files, two, by: ann.sender) }
            try await waiting(until: "one waits") { gate.waiting == 1 }
            let error = try await expectError(.overloaded) { try await Self.text(files, three, by: ann.sender) }
            #expect(error?.info["retry_after"] == .integer(1))
            end.settle()
            _ = try await first.value
            _ = try await second.value
            _ = try await Self.text(files, three, by: ann.sender)
        }
    }

    @Test func aClientWaitsForItsShareAndLeavesTheOthersTheirs() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            let name = try await files.upload(TestImage.jpeg, by: ann.sender)
            let end = Deferred<Void>()
            maker.hold(until: end)
            let work = try #require(files.service.files?.thumbnails?.work)
            let thumbnail = Thumbnail(of: name, Self.small)
            let near = ann.sender.from(1)
            let far = ann.sender.from(2)
            var tasks: [Task<String, any Error>] = []
            for _ in 0..<ThumbnailConfiguration.share {
                tasks.append(Task { try await Self.text(files, name, by: near) })
            }
            try await waiting(until: "all wait") { work.waiting(for: thumbnail) == ThumbnailConfiguration.share }
            let error = try await expectError(.rateLimited) { try await Self.text(files, name, by: near) }
            #expect(error?.info["retry_after"] == .integer(1))
            tasks.append(Task { try await Self.text(files, name, by: far) })
            try await waiting(until: "the other waits") {
                work.waiting(for: thumbnail) == ThumbnailConfiguration.share + 1
            }
            end.settle()
            for task in tasks { _ = try await task.value }
            _ = try await Self.text(files, name, by: near)
            #expect(maker.begun.value == 1)
        }
    }

    @Test func aFileThatIsDeletedMeanwhileLeavesNone() async throws {
        try await Self.withThumbnails { files, maker in
            let ann = try await files.user("ann")
            let name = try await files.upload(TestImage.jpeg, by: ann.sender)
            let end = Deferred<Void>()
            maker.hold(until: end)
            let task = Task { try await Self.text(files, name, by: ann.sender) }
            try await waiting(until: "it is being made") { maker.begun.value == 1 }
            let deletion = FileDeletion(names: [name])
            let deleted = try await files.service.run(Actions.fileDelete, deletion, by: ann.caller)
            #expect(deleted == 1)
            end.settle()
            try await expectError(.resourceNotFound) { try await task.value }
            #expect(files.storage.keptThumbnails.kept.isEmpty)
        }
    }

    // MARK: - Sizes of images

    @Test func anUploadReturnsAndStoresTheSizeOfAnImage() async throws {
        try await withFiles { files in
            let ann = try await files.user("ann")
            let turned = TestImage.jpegImage(with: TestImage.exif(orientation: 6))
            let rows: [(bytes: [UInt8], filename: String, size: PixelSize?)] = [
                (turned, "a.jpg", PixelSize(width: 200, height: 300)),
                (TestImage.gif, "a.jpg", PixelSize(width: 300, height: 200)),
                (TestImage.avifImage(TestImage.extent(3, 2)), "a.avif", PixelSize(width: 3, height: 2)),
                (FilesFixture.png, "a.png", nil),
                (FilesFixture.text, "a.txt", nil),
            ]
            for row in rows {
                let upload = try await files.begin(row.filename, nil, by: ann.sender)
                try await upload.append(Array(row.bytes.prefix(5)))
                try await upload.append(Array(row.bytes.dropFirst(5)))
                let uploaded = try await upload.finish()
                #expect(uploaded.file.dimensions == row.size, "\(row.filename)")
                let stored = try await files.service.store.assets.asset(uploaded.asset.name)
                #expect(stored?.dimensions == row.size, "\(row.filename)")
            }
        }
    }
}
