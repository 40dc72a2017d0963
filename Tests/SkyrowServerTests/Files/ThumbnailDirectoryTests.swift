import Foundation
import Glibc
import SkyrowActions
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Where thumbnails are kept, and when they are not.
@Suite struct ThumbnailDirectoryTests {
    private static let small = ThumbnailSize.fill(width: 100, height: 100)

    /// The file of another machine.
    private struct Remote: RemoteFile {
        let bytes: [UInt8]
        var fault: FileFault?

        func read(_ range: Range<Int64>, _ body: @Sendable (_ part: [UInt8]) async throws -> Void) async throws {
            let part = Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
            let half = part.count / 2
            try await body(Array(part.prefix(half)))
            if let fault { throw fault }
            try await body(Array(part.dropFirst(half)))
        }
    }

    private static func keep(
        _ text: String,
        as thumbnail: Thumbnail,
        in thumbnails: any ThumbnailStorage
    ) async throws(ThumbnailFault) -> OpenedFile {
        try await thumbnails.keep(thumbnail) { file throws(ThumbnailFault) in
            do throws(FileFault) {
                try file.put(Array(text.utf8))
            } catch {
                throw .unavailable(error)
            }
        }
    }

    @Test func aThumbnailIsBesideTheFilesAndGoesWithItsFile() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await LocalFileStorage(in: folder.path, of: .default)
        let thumbnails = try #require(storage.thumbnails)
        let (name, other) = (fileName(), fileName("7b", 2))
        let thumbnail = Thumbnail(of: name, Self.small)
        try await storage.store("cat", as: name)
        try await storage.store("dog", as: other)
        #expect(try await thumbnails.open(thumbnail) == nil)

        let made = try await Self.keep("small cat", as: thumbnail, in: thumbnails)
        #expect(made.size == 9)
        #expect(try made.bytes() == Array("small cat".utf8))
        let own = folder.path + "/app"
        #expect(contents("\(own)/thumbs/7b/\(name)") == ["100x100"] && contents(own + "/incoming").isEmpty)
        #expect(try permissions("\(own)/thumbs/7b/\(name)/100x100") == 0o600)
        for directory in ["thumbs", "thumbs/7b", "thumbs/7b/\(name)"] {
            #expect(try permissions("\(own)/\(directory)") == 0o700)
        }
        let opened = try await thumbnails.open(thumbnail)
        #expect(try opened?.bytes() == Array("small cat".utf8))
        #expect(try await thumbnails.open(Thumbnail(of: name, .width(100))) == nil)
        _ = try await Self.keep("a cat", as: Thumbnail(of: name, .width(100)), in: thumbnails)
        _ = try await Self.keep("small dog", as: Thumbnail(of: other, Self.small), in: thumbnails)

        // A check of the storage does not see them.
        let files = try await storage.files(after: nil, limit: 100)
        #expect(files.map(\.name) == [name, other])
        try await storage.delete(name)
        #expect(try await thumbnails.open(thumbnail) == nil)
        #expect(contents(own + "/thumbs/7b") == [other.rawValue])
        // Also if the file was gone before.
        _ = try await Self.keep("small cat", as: thumbnail, in: thumbnails)
        try await storage.delete(name)
        try await storage.delete(name)
        #expect(contents(own + "/thumbs/7b") == [other.rawValue])
        // They can be removed at any time.
        try removeTree(own + "/thumbs")
        #expect(try await thumbnails.open(Thumbnail(of: other, Self.small)) == nil)
        try await thumbnails.delete(of: other)
    }

    @Test func whatFailsLeavesNothing() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await LocalFileStorage(in: folder.path, of: .default)
        let thumbnails = try #require(storage.thumbnails)
        let thumbnail = Thumbnail(of: fileName(), Self.small)
        await #expect(throws: ThumbnailFault.undecodable("x")) {
            _ = try await thumbnails.keep(thumbnail) { file throws(ThumbnailFault) in throw .undecodable("x") }
        }
        #expect(contents(folder.path + "/app") == ["incoming"] && contents(folder.path + "/app/incoming").isEmpty)
        // A link in the place of the directory is not followed.
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/app/thumbs",
            withDestinationPath: folder.path
        )
        await #expect(throws: FileFault.self) { _ = try await thumbnails.open(thumbnail) }
        await #expect(throws: ThumbnailFault.self) {
            _ = try await Self.keep("small cat", as: thumbnail, in: thumbnails)
        }
        #expect(contents(folder.path) == ["app"])
    }

    @Test func anImageIsReadFromItsStartWhoeverElseReadsIt() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await LocalFileStorage(in: folder.path, of: .default)
        let thumbnails = try #require(storage.thumbnails)
        try await storage.store([TestImage.png], as: fileName())
        let opened = try #require(try await storage.open(fileName()))
        #expect(try opened.bytes() == TestImage.png)
        for _ in 0..<2 {
            let source = try await thumbnails.source(opened)
            #expect(source.first == TestImage.png)
            #expect(lseek(source.file.number, 0, SEEK_CUR) == 0)
            #expect(try source.file.read(upTo: 8) == Array(TestImage.png.prefix(8)))
        }
        // A file of another machine is copied.
        let long = TestImage.png + [UInt8](repeating: 0, count: ImageHeader.examinedBytes)
        let size = Int64(long.count)
        let copy = try await thumbnails.source(OpenedFile(.remote(Remote(bytes: long)), size: size))
        #expect(copy.first == Array(long.prefix(ImageHeader.examinedBytes)))
        var bytes: [UInt8] = []
        while case let part = try copy.file.read(upTo: 65536), !part.isEmpty { bytes += part }
        #expect(bytes == long)
        let away = OpenedFile(.remote(Remote(bytes: long, fault: .unavailable("away"))), size: size)
        await #expect(throws: FileFault.unavailable("away")) { _ = try await thumbnails.source(away) }
        #expect(contents(folder.path + "/app/incoming").isEmpty)
    }
}
