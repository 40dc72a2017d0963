import Foundation
import SkyrowActions
import SkyrowCrypto
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Files in a directory: where they are, when they are there, and what is refused.
@Suite struct LocalFileStorageTests {
    private static func storage(in directory: String) async throws -> LocalFileStorage {
        try await LocalFileStorage(in: directory + "/files", of: .default)
    }

    // MARK: - Where files are

    @Test func aFileIsInTheDirectoryOfItsFirstDigitsForItsOwnerAlone() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let (files, own) = (folder.path + "/files", folder.path + "/files/app")
        #expect(storage.kind == "local")
        #expect(contents(files) == ["app"] && contents(own) == ["incoming"])

        let file = try await storage.begin(hashesMD5: false)
        try await file.append(Array("cat".utf8))
        // Until it is kept, it has no name.
        let incoming = try #require(contents(own + "/incoming").first)
        #expect(UUID(uuidString: incoming) != nil && incoming == incoming.lowercased())
        #expect(contents(own) == ["incoming"])
        #expect(try permissions("\(own)/incoming/\(incoming)") == 0o600)

        let name = fileName("7b")
        try await file.keep(as: name)
        #expect(contents(own) == ["7b", "incoming"])
        #expect(contents(own + "/7b") == [name.rawValue] && contents(own + "/incoming").isEmpty)
        for directory in [files, own, own + "/7b", own + "/incoming"] { #expect(try permissions(directory) == 0o700) }
        #expect(try permissions("\(own)/7b/\(name)") == 0o600)
    }

    @Test func eachApplicationHasItsOwnFiles() async throws {
        let folder = try TemporaryDirectory()
        let app = try await LocalFileStorage(in: folder.path, of: .default)
        let shop = try await LocalFileStorage(in: folder.path, of: try ApplicationName("shop"))
        try await app.store("of app", as: fileName())
        #expect(try await shop.text(of: fileName()) == nil)
        try await shop.store("of shop", as: fileName())
        #expect(try await app.text(of: fileName()) == "of app")
        #expect(try await shop.text(of: fileName()) == "of shop")
        #expect(contents(folder.path) == ["app", "shop"])
    }

    @Test func aNameMayHaveEveryCharacterOfNames() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let id = "00000000-0000-4000-8000-000000000000-"
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        let names = [
            letters, "0123456789._-", "..", ".", "-", "_",
            "\(String(repeating: "a", count: 100)).\(letters.prefix(15))",
        ]
        for text in names {
            let name = try #require(AssetName(id + text))
            try await storage.store(text, as: name)
        }
        for text in names {
            let name = try #require(AssetName(id + text))
            #expect(try await storage.text(of: name) == text)
        }
        let listed = try await storage.files(after: nil, limit: 100)
        #expect(listed.map(\.name.rawValue) == names.map { id + $0 }.sorted())
    }

    // MARK: - When they are there

    @Test(arguments: [[], [0], [1], [1, 0, 70_000], Array(repeating: 65_536, count: 16)])
    func aKeptFileIsThereForAnotherStorage(sizes: [Int]) async throws {
        let folder = try TemporaryDirectory()
        var random = SeededGenerator.forTest()
        let parts = sizes.map { size in (0..<size).map { _ in UInt8.random(in: .min ... .max, using: &random) } }
        try await Self.storage(in: folder.path).store(parts, as: fileName())
        #expect(try await Self.storage(in: folder.path).bytes(of: fileName()) == parts.flatMap { $0 })
    }

    @Test func theDigestsAreThoseOfAllParts() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        var random = SeededGenerator.forTest()
        var bytes: [UInt8] = []
        let file = try await storage.begin(hashesMD5: false)
        // More than the system is asked to write early.
        for _ in 0..<80 {
            let part = Array(repeating: UInt8.random(in: .min ... .max, using: &random), count: 128 * 1024)
            bytes += part
            try await file.append(part)
        }
        #expect(try await file.first(4) == Array(bytes.prefix(4)))
        var hash = SHA256()
        hash.update(bytes)
        let expected = hash.finish().bytes
        #expect(try await file.digests().sha256 == expected)
        try await file.keep(as: fileName())
        #expect(try await storage.bytes(of: fileName()) == bytes)
    }

    @Test func aSmallFileIsReadWhenItIsOpened() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        for (number, text) in ["", "small", "larger"].enumerated() {
            try await storage.store(text, as: fileName("7b", number))
            let opened = try #require(try await storage.open(fileName("7b", number), readingUpTo: 5))
            #expect(opened.content == (text.utf8.count <= 5 ? Array(text.utf8) : nil))
            #expect(try opened.bytes() == Array(text.utf8))
            let plain = try #require(try await storage.open(fileName("7b", number)))
            #expect(plain.content == nil)
        }
        let missing = try await storage.open(fileName("7b", 9), readingUpTo: 5)
        #expect(missing == nil)
    }

    /// On another thread, since a deleted file frees its blocks then.
    @Test func anOpenFileIsClosedWithItsLastReference() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        try await storage.store("kept", as: fileName())
        let path = try #require(resolvedPath("\(folder.path)/files/app/7b/\(fileName())"))
        func count() -> Int {
            (contentsOfDirectory("/proc/self/fd") ?? []).count { targetOfLink("/proc/self/fd/\($0)") == path }
        }
        do {
            let opened = try #require(try await storage.open(fileName()))
            let other = opened
            #expect(count() == 1)
            withExtendedLifetime((opened, other)) {}
        }
        try await waiting(until: "the file is closed") { count() == 0 }
    }

    @Test func whatWasNeverStoredOrIsDeletedIsNotThere() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        // Neither its directory nor the file exists.
        #expect(try await storage.text(of: fileName("7b", 1)) == nil)
        try await storage.delete(fileName("7b", 1))
        try await storage.store("kept", as: fileName("7b", 2))
        #expect(try await storage.text(of: fileName("7b", 1)) == nil)
        try await storage.delete(fileName("7b", 1))
        #expect(try await storage.text(of: fileName("7b", 2)) == "kept")

        let open = try #require(try await storage.open(fileName("7b", 2)))
        try await storage.delete(fileName("7b", 2))
        #expect(try await storage.text(of: fileName("7b", 2)) == nil)
        // Its readers come to the end.
        #expect(try open.bytes() == Array("kept".utf8))
    }

    @Test func aFileOfTheSameNameIsReplacedAsAWhole() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        try await storage.store("a long first text", as: fileName())
        let first = try #require(try await storage.open(fileName()))
        try await storage.store("second", as: fileName())
        #expect(try await storage.text(of: fileName()) == "second")
        #expect(try first.bytes() == Array("a long first text".utf8))
        #expect(contents(folder.path + "/files/app/7b").count == 1)
    }

    @Test func aDiscardedFileLeavesNothing() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let file = try await storage.begin(hashesMD5: false)
        try await file.append([1, 2, 3])
        await file.discard()
        await file.discard()
        #expect(contents(folder.path + "/files/app/incoming").isEmpty)
        await #expect(throws: FileFault.self) { try await file.append([4]) }
        await #expect(throws: FileFault.self) { try await file.keep(as: fileName()) }
        #expect(try await storage.text(of: fileName()) == nil)
    }

    @Test func aKeptFileIsFinished() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let file = try await storage.begin(hashesMD5: false)
        try await file.append(Array("kept".utf8))
        try await file.keep(as: fileName("7b", 1))
        await #expect(throws: FileFault.self) { try await file.append([4]) }
        await #expect(throws: FileFault.self) { try await file.keep(as: fileName("7b", 2)) }
        await file.discard()
        #expect(try await storage.text(of: fileName("7b", 1)) == "kept")
        #expect(try await storage.text(of: fileName("7b", 2)) == nil)
    }

    @Test func aFileThatIsForgottenIsRemoved() async throws {
        let folder = try TemporaryDirectory()
        let incoming = folder.path + "/files/app/incoming"
        let storage = try await Self.storage(in: folder.path)
        func begin() async throws {
            let file = try await storage.begin(hashesMD5: false)
            try await file.append([1])
            #expect(contents(incoming).count == 1)
        }
        try await begin()
        try await waiting(until: "the file is removed") { contents(incoming).isEmpty }
    }

    @Test func aCancelledTaskLeavesNothing() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            let file = try await storage.begin(hashesMD5: false)
            try await file.append([1])
            await file.discard()
            try await storage.store("kept", as: fileName())
        }
        try await task.value
        #expect(contents(folder.path + "/files/app/incoming").isEmpty)
        #expect(try await storage.text(of: fileName()) == "kept")
    }

    @Test func oneOfTwoThatAreKeptAtOnceIsThere() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let texts = ["one", "another"].map { String(repeating: $0, count: 50_000) }
        for _ in 0..<20 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for text in texts { group.addTask { try await storage.store(text, as: fileName()) } }
                try await group.waitForAll()
            }
            let kept = try #require(try await storage.text(of: fileName()))
            #expect(texts.contains(kept))
        }
        #expect(contents(folder.path + "/files/app/incoming").isEmpty)
    }

    @Test func manyFilesAreWrittenAtOnce() async throws {
        let folder = try TemporaryDirectory()
        let storages = [try await Self.storage(in: folder.path), try await Self.storage(in: folder.path)]
        // Several of a directory, which is made meanwhile.
        let names = (0..<64).map { fileName(["0a", "7b", "ff"][$0 % 3], $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, name) in names.enumerated() {
                group.addTask {
                    let parts = (0..<8).map { _ in Array(repeating: UInt8(number), count: 5000) }
                    try await storages[number % 2].store(parts, as: name)
                }
            }
            try await group.waitForAll()
        }
        for (number, name) in names.enumerated() {
            #expect(try await storages[0].bytes(of: name) == Array(repeating: UInt8(number), count: 40_000))
        }
        #expect(contents(folder.path + "/files/app") == ["0a", "7b", "ff", "incoming"])
    }

    // MARK: - Files that are continued

    @Test func aSuspendedFileIsContinuedAtItsDurableLength() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let other = try await storage.begin(hashesMD5: false)
        try await other.append(Array("Hello, world".utf8))
        try await other.suspend()
        await other.discard()
        // What follows the length is cut off.
        let resumed = try #require(try await storage.resume(other.id, length: 7))
        #expect(try await resumed.first(100) == Array("Hello, ".utf8))
        try await resumed.append(Array("Ann".utf8))
        #expect(try await resumed.first(3) == Array("Hel".utf8))
        var expected = FileDigester(hashesMD5: false)
        expected.update(Array("Hello, Ann".utf8))
        #expect(try await resumed.digests() == expected.digests)
        try await resumed.keep(as: fileName("7b", 2))
        #expect(try await storage.text(of: fileName("7b", 2)) == "Hello, Ann")
        #expect(try await storage.resume(other.id, length: 0) == nil)
    }

    @Test func whatIsNoSuspendedFileIsNotContinued() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let own = folder.path + "/files/app"
        try "secret".write(toFile: "\(own)/secret", atomically: false, encoding: .utf8)
        let file = try await storage.begin(hashesMD5: false)
        try await file.append([1, 2, 3])
        try await file.suspend()
        for id in [
            "", "..", "../secret", "../app/secret", UUID().uuidString, UUID().uuidString.lowercased(), "\(file.id)/",
        ] {
            #expect(try await storage.resume(id, length: 0) == nil, "\(id)")
        }
        // It has less than was acknowledged.
        #expect(try await storage.resume(file.id, length: 4) == nil)
        let link = UUID().uuidString.lowercased()
        try FileManager.default.createSymbolicLink(
            atPath: "\(own)/incoming/\(link)",
            withDestinationPath: "\(own)/secret"
        )
        await #expect(throws: FileFault.self) { _ = try await storage.resume(link, length: 0) }
    }

    @Test func aFileHasOneWriter() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        // As another process has it.
        let other = try await Self.storage(in: folder.path)
        let file = try await storage.begin(hashesMD5: false)
        try await file.append(Array("one".utf8))
        await #expect(throws: FileFault.self) { _ = try await other.resume(file.id, length: 0) }
        try await file.suspend()
        var resumed = try await other.resume(file.id, length: 3)
        #expect(resumed != nil)
        await #expect(throws: FileFault.self) { _ = try await storage.resume(file.id, length: 0) }
        // What was acknowledged stays with its last reference.
        try await resumed?.append(Array("two".utf8))
        resumed = nil
        let last = try #require(try await storage.resume(file.id, length: 3))
        try await last.keep(as: fileName())
        #expect(try await other.text(of: fileName()) == "one")
    }

    @Test func aFileThatAnUploadContinuesIsNotSwept() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let own = folder.path + "/files/app"
        var ids: [String] = []
        for _ in 0..<3 {
            let file = try await storage.begin(hashesMD5: false)
            try await file.suspend()
            ids.append(file.id)
        }
        for id in ids.dropLast() { try setTime("\(own)/incoming/\(id)", Date() - 90_000) }
        let (old, needed, young) = (ids[0], ids[1], ids[2])
        let count = try await storage.sweep(olderThan: .seconds(86_400)) { found in
            #expect(Set(found) == [old, needed])
            return [needed]
        }
        #expect(count == 1 && contents(own + "/incoming") == [needed, young].sorted())
    }

    // MARK: - Lists and leftovers

    @Test func filesAreListedInTheOrderOfTheirNames() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        #expect(try await storage.files(after: nil, limit: 10) == [])
        let names = ["00", "7b", "7c", "ff"].flatMap { shard in (0..<4).map { fileName(shard, $0) } }
        for name in names.shuffled() { try await storage.store(name.rawValue, as: name) }
        let own = folder.path + "/files/app"
        let time = Date(timeIntervalSince1970: 1_750_000_000)
        try setTime("\(own)/7b/\(names[4])", time)
        // What is no file of the storage is left out.
        let other = fileName("0d", 9)
        for path in ["notes.txt", "7b/notes.txt", "7b/\(other)", "ff/\(fileName("ff", 1)).part%"] {
            try "x".write(toFile: "\(own)/\(path)", atomically: false, encoding: .utf8)
        }
        try FileManager.default.createDirectory(atPath: "\(own)/lost", withIntermediateDirectories: false)
        try FileManager.default.createDirectory(
            atPath: "\(own)/ff/\(fileName("ff", 7))",
            withIntermediateDirectories: false
        )
        try FileManager.default.createSymbolicLink(
            atPath: "\(own)/ff/\(fileName("ff", 8))",
            withDestinationPath: "\(own)/7b/\(names[4])"
        )

        for limit in [1, 3, 4, 5, 16, 17, 1000] {
            var listed: [FileEntry] = []
            while true {
                let page = try await storage.files(after: listed.last?.name, limit: limit)
                #expect(page.count <= limit)
                listed += page
                if page.count < limit { break }
            }
            #expect(listed.map(\.name) == names)
            #expect(listed.allSatisfy { $0.size == Int64($0.name.rawValue.utf8.count) })
            let seconds = listed[4].modifiedAt.microseconds + Timestamp.unixEpochOffset
            #expect(seconds == 1_750_000_000_000_000)
        }
        // From behind a name, also one that no file has.
        #expect(try await storage.files(after: fileName("7b", 3), limit: 1).map(\.name) == [fileName("7c", 0)])
        #expect(try await storage.files(after: fileName("7b", 99), limit: 1).map(\.name) == [fileName("7c", 0)])
        #expect(try await storage.files(after: fileName("ff", 99), limit: 1) == [])
        #expect(try await storage.files(after: nil, limit: 0) == [])
    }

    @Test func oldLeftoversAreSwept() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let own = folder.path + "/files/app"
        let now = Date()
        for (name, age) in [("older", 90_000.0), ("old", 86_500.0), ("young", 3600.0), ("early", -90_000.0)] {
            try "x".write(toFile: "\(own)/incoming/\(name)", atomically: false, encoding: .utf8)
            try setTime("\(own)/incoming/\(name)", now - age)
        }
        try FileManager.default.createDirectory(atPath: "\(own)/incoming/folder", withIntermediateDirectories: false)
        try setTime("\(own)/incoming/folder", now - 90_000)
        try await storage.store("kept", as: fileName())
        try setTime("\(own)/7b/\(fileName())", now - 90_000)
        let running = try await storage.begin(hashesMD5: false)

        #expect(try await storage.sweep(olderThan: .seconds(86_400)) { _ in [] } == 2)
        #expect(contents(own + "/incoming").count == 4)
        #expect(Set(contents(own + "/incoming")).isSuperset(of: ["early", "folder", "young"]))
        #expect(try await storage.sweep(olderThan: .seconds(86_400)) { _ in [] } == 0)
        #expect(try await storage.text(of: fileName()) == "kept")
        try await running.keep(as: fileName("7b", 2))
        #expect(try await storage.text(of: fileName("7b", 2)) == "")
    }

    // MARK: - What is refused

    @Test func noLinkIsFollowedToAFile() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let (path, other) = ("\(folder.path)/files/app/7b/\(fileName())", folder.path + "/other")
        try await storage.store("near", as: fileName("7b", 2))
        try "other".write(toFile: other, atomically: false, encoding: .utf8)
        func link() throws {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
        }
        try link()
        await #expect(throws: FileFault.unavailable("Cannot open \(path): Too many levels of symbolic links.")) {
            try await storage.open(fileName())
        }
        // The link goes, and what it leads to stays.
        try await storage.delete(fileName())
        #expect(targetOfLink(path) == nil && contentsOfFile(other) == "other")
        try link()
        try await storage.store("new", as: fileName())
        #expect(targetOfLink(path) == nil && contentsOfFile(path) == "new" && contentsOfFile(other) == "other")
    }

    @Test func noLinkIsFollowedToADirectory() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let (parent, own, other) = (folder.path, folder.path + "/files/app", folder.path + "/other")
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        try "other".write(toFile: "\(other)/\(fileName())", atomically: false, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: own + "/7b", withDestinationPath: other)
        await #expect(throws: FileFault.self) { try await storage.open(fileName()) }
        await #expect(throws: FileFault.self) { try await storage.delete(fileName()) }
        await #expect(throws: FileFault.self) { try await storage.store("new", as: fileName()) }
        await #expect(throws: FileFault.self) { try await storage.files(after: nil, limit: 10) }
        #expect(contentsOfFile("\(other)/\(fileName())") == "other" && contents(other).count == 1)
        // One that could not be kept is removed.
        try await waiting(until: "the file is removed") { contents(own + "/incoming").isEmpty }

        try FileManager.default.removeItem(atPath: own + "/incoming")
        try FileManager.default.createSymbolicLink(atPath: own + "/incoming", withDestinationPath: other)
        await #expect(throws: FileFault.self) { try await storage.begin(hashesMD5: false) }
        await #expect(throws: FileFault.self) { try await storage.sweep(olderThan: .zero) { _ in [] } }
        #expect(contents(other).count == 1)

        try FileManager.default.removeItem(atPath: own)
        try FileManager.default.createSymbolicLink(atPath: own, withDestinationPath: other)
        await #expect(throws: ToolError.self) { try await Self.storage(in: parent) }
        await #expect(throws: FileFault.self) { try await storage.open(fileName()) }
        #expect(contents(other) == [fileName().rawValue])
    }

    @Test func onlyRegularFilesAreOpened() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        try await storage.store("near", as: fileName("7b", 2))
        let path = "\(folder.path)/files/app/7b/\(fileName())"
        // Without a writer, opening it would wait.
        try #require(mkfifo(path, 0o600) == 0)
        await #expect(throws: FileFault.unavailable("\(path) is not a regular file.")) {
            try await storage.open(fileName())
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        await #expect(throws: FileFault.unavailable("\(path) is not a regular file.")) {
            try await storage.open(fileName())
        }
        await #expect(throws: FileFault.self) { try await storage.store("new", as: fileName()) }
        await #expect(throws: FileFault.self) { try await storage.delete(fileName()) }
        #expect(try await storage.files(after: nil, limit: 10).map(\.name) == [fileName("7b", 2)])
    }

    /// It is the directory of a disk that is not mounted.
    @Test func aMissingDirectoryIsNoStorageWithoutFiles() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await Self.storage(in: folder.path)
        let path = folder.path + "/files/app"
        try await storage.store("kept", as: fileName())
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        let fault = FileFault.unavailable("Cannot open the directory \(path): No such file or directory.")
        await #expect(throws: fault) { try await storage.open(fileName()) }
        await #expect(throws: fault) { try await storage.delete(fileName()) }
        await #expect(throws: fault) { try await storage.begin(hashesMD5: false) }
        await #expect(throws: fault) { try await storage.files(after: nil, limit: 1) }
        await #expect(throws: fault) { try await storage.sweep(olderThan: .zero) { _ in [] } }
        #expect(contents(folder.path + "/files") == ["app.away"])
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        #expect(try await storage.text(of: fileName()) == "kept")
    }

    @Test func aDirectoryThatCannotBeMadeIsNamedWithTheRemedy() async throws {
        let folder = try TemporaryDirectory()
        try "x".write(toFile: folder.path + "/taken", atomically: false, encoding: .utf8)
        let path = folder.path + "/taken/files"
        await #expect(
            throws: ToolError.failure(
                "Cannot create the directory \(path): Not a directory. Set file-directory to a directory for files, or files to "
                    + "off."
            )
        ) {
            try await LocalFileStorage(in: path, of: .default)
        }
    }

    @Test func theFreeSpaceIsThatOfItsFileSystem() async throws {
        let disk = try await SmallFileSystem(megabytes: 4)
        do {
            let storage = try await LocalFileStorage(in: disk.path, of: .default)
            let empty = try #require(try await storage.freeSpace())
            #expect((3 << 20...4 << 20).contains(empty))
            try await storage.store([[UInt8](repeating: 1, count: 1 << 20)], as: fileName("7b", 1))
            let less = try #require(try await storage.freeSpace())
            #expect(less <= empty - (1 << 20))
            try disk.fill()
            #expect(try await storage.freeSpace() == 0)
            try FileManager.default.removeItem(atPath: disk.path + "/app/incoming")
            await #expect(throws: FileFault.self) { try await storage.freeSpace() }
        } catch {
            try await disk.remove()
            throw error
        }
        try await disk.remove()
    }

    @Test func aFullDiskRefusesFilesAndRoomOnItLetsThemIn() async throws {
        let disk = try await SmallFileSystem(megabytes: 4)
        do {
            let storage = try await LocalFileStorage(in: disk.path, of: .default)
            let incoming = disk.path + "/app/incoming"
            try await storage.store("kept", as: fileName("7b", 1))
            try disk.fill()
            let part = [UInt8](repeating: 1, count: 65_536)
            await #expect(throws: FileFault.noSpace) { try await storage.store([part], as: fileName("7b", 2)) }
            #expect(try await storage.text(of: fileName("7b", 1)) == "kept")
            #expect(try await storage.text(of: fileName("7b", 2)) == nil)
            try await waiting(until: "the part is removed") { contents(incoming).isEmpty }
            try disk.freeSpace()
            try await storage.store([part], as: fileName("7b", 2))
            #expect(try await storage.bytes(of: fileName("7b", 2)) == part)
        } catch {
            try await disk.remove()
            throw error
        }
        try await disk.remove()
    }
}
