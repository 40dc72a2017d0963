import Foundation
import SkyrowModel
import SkyrowSystem
import Testing

@testable import SkyrowActions

/// Which rows and open files stay, and when they go.
@Suite struct FileCacheTests {
    private static let start = ContinuousClock.now

    private static func state(_ cache: FileCache) -> FileState {
        FileState(
            FileConfiguration(storage: MemoryFileStorage(), urlPrefix: "https://files.example"),
            cache,
            now: { Timestamp(microseconds: 0) }
        )
    }

    private static func asset(_ number: Int, contentType: String = "image/png") -> StoredAsset {
        let digits = String(number, radix: 16)
        let id = String(repeating: "0", count: 8 - digits.count) + digits + "-7135-4912-a6c9-7c1dbec0f5ef"
        return StoredAsset(
            name: AssetName(id: id, filename: "a.png"),
            filename: "a.png",
            contentType: contentType,
            size: 3,
            state: .stored,
            owner: nil,
            sniffed: "image/png"
        )
    }

    private static func opened() throws -> FileDescriptor { try FileDescriptor(opening: "/dev/null", O_RDONLY) }

    @Test func anOpenFileServesAsLongAsItsRowIsTheSame() throws {
        let cache = FileCache(capacity: 256)
        let files = Self.state(cache)
        let (asset, name) = (Self.asset(1), Self.asset(1).name)
        #expect(files.file(name, at: Self.start) == nil)
        let first = files.file(asset, readAt: files.moment(at: Self.start))
        #expect(first.asset == asset && first.opened == nil && first.served.contentType == "image/png")
        first.keep(OpenedFile(.descriptor(try Self.opened()), size: 3))
        #expect(files.file(name, at: Self.start + .milliseconds(999)) === first)
        // The row has to be read again.
        let later = Self.start + .seconds(1)
        #expect(files.file(name, at: later) == nil)
        #expect(files.file(asset, readAt: files.moment(at: later)) === first)
        #expect(files.file(name, at: later) === first && first.opened != nil)
        // Another row.
        let changed = files.file(Self.asset(1, contentType: "text/html"), readAt: files.moment(at: later))
        #expect(changed !== first && changed.opened == nil)
        #expect(changed.served.contentType == "application/octet-stream")
        #expect(files.file(name, at: later) === changed)
    }

    @Test func aRowFromBeforeANoticeIsNotCached() {
        let cache = FileCache(capacity: 256)
        let files = Self.state(cache)
        let moment = files.moment(at: Self.start)
        files.forget()
        // The request that read it is still served.
        #expect(files.file(Self.asset(1), readAt: moment).asset == Self.asset(1))
        #expect(files.file(Self.asset(1).name, at: Self.start) == nil && cache.count == 0)
    }

    @Test func eachApplicationForgetsItsOwn() throws {
        let cache = FileCache(capacity: 256)
        let app = Self.state(cache)
        weak var descriptor: FileDescriptor?
        func open(_ files: FileState) throws {
            let opened = try Self.opened()
            let file = files.file(Self.asset(1), readAt: files.moment(at: Self.start))
            file.keep(OpenedFile(.descriptor(opened), size: 3))
            descriptor = opened
        }
        try open(app)
        do {
            let shop = Self.state(cache)
            try open(shop)
            #expect(cache.count == 2 && descriptor != nil)
            withExtendedLifetime(shop) {}
        }
        // A closed application has no open files.
        #expect(cache.count == 1 && descriptor == nil)
        #expect(app.file(Self.asset(1).name, at: Self.start) != nil)
        app.forget()
        #expect(cache.count == 0)
    }

    @Test func theNumberOfOpenFilesIsBounded() throws {
        let cache = FileCache(capacity: 16)
        let files = Self.state(cache)
        for number in 0..<100 {
            let file = files.file(Self.asset(number), readAt: files.moment(at: Self.start))
            file.keep(OpenedFile(.descriptor(try Self.opened()), size: 3))
            #expect(cache.count <= 16)
        }
        #expect(files.file(Self.asset(99).name, at: Self.start) != nil)
        files.forgetUnused(at: Self.start + .seconds(60))
        #expect(cache.count > 0)
        files.forgetUnused(at: Self.start + .seconds(61))
        #expect(cache.count == 0)
    }

    private struct Elsewhere: RemoteFile {
        func read(_ range: Range<Int64>, _ body: @Sendable ([UInt8]) async throws -> Void) async throws {}
    }

    @Test func aFileOfAnotherMachineIsOpenedEachTime() {
        let files = Self.state(FileCache(capacity: 256))
        let file = files.file(Self.asset(1), readAt: files.moment(at: Self.start))
        file.keep(OpenedFile(.remote(Elsewhere()), size: 3))
        #expect(file.opened == nil)
        #expect(files.file(Self.asset(1).name, at: Self.start) === file)
    }
}
