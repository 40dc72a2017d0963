import Foundation
import Logging
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Files that are written where others may write as well, and the directory where none may.
@Suite struct SafeFileTests {
    private static func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test(arguments: [false, true])
    func aLinkUnderTheNameIsNotFollowed(replacing: Bool) throws {
        let folder = try TemporaryDirectory()
        let (path, other) = (folder.path + "/out.csv", folder.path + "/other")
        try "kept".write(toFile: other, atomically: false, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other)
        if replacing {
            let file = try OutputFile(path: path, replacing: true)
            try file.write(Array("new".utf8))
            try file.finish()
            #expect(contentsOfFile(path) == "new" && targetOfLink(path) == nil)
            #expect(try Self.permissions(path) == 0o600)
        } else {
            let error = #expect(throws: ToolError.self) { try OutputFile(path: path) }
            #expect(error?.description.contains("--overwrite") == true)
        }
        #expect(contentsOfFile(other) == "kept")
    }

    @Test func aLinkThatLeadsNowhereIsThereToo() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/out.csv"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: folder.path + "/nothing")
        #expect(throws: ToolError.self) { try OutputFile(path: path) }
        #expect(contentsOfDirectory(folder.path) == ["out.csv"])
    }

    @Test func whatComesMeanwhileIsNotReplaced() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/out.csv"
        do {
            let file = try OutputFile(path: path)
            try file.write(Array("ours".utf8))
            try "theirs".write(toFile: path, atomically: false, encoding: .utf8)
            let error = #expect(throws: ToolError.self) { try file.finish() }
            #expect(error?.description.contains("--overwrite") == true)
        }
        #expect(contentsOfFile(path) == "theirs")
        #expect(contentsOfDirectory(folder.path) == ["out.csv"])
    }

    @Test func spansGoToNoLinkAndNoPipe() throws {
        let folder = try TemporaryDirectory()
        let (link, other) = (folder.path + "/link", folder.path + "/other")
        try "kept".write(toFile: other, atomically: false, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: other)
        try FileManager.default.linkItem(atPath: other, toPath: folder.path + "/second")
        try #require(mkfifo(folder.path + "/pipe", 0o600) == 0)
        for path in [link, folder.path + "/pipe", folder.path + "/second"] {
            #expect(throws: ToolError.self, "\(path)") {
                try TraceFile(path: path, limit: 1000, version: "1", logger: Logger(label: "test"))
            }
        }
        #expect(contentsOfFile(other) == "kept")
    }

    @Test func theDataDirectoryIsItsOwnersAlone() throws {
        let folder = try TemporaryDirectory()
        let open = folder.path + "/open"
        try FileManager.default.createDirectory(
            atPath: open,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
        try "1\n".write(toFile: open + "/lock", atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: open + "/lock")
        for path in [open, folder.path + "/new/data"] {
            let directory = try DataDirectory(creating: path)
            #expect(try Self.permissions(path) == 0o700)
            guard case .taken(let lock) = try DataDirectoryLock.take(in: directory) else {
                Issue.record("\(path) is locked")
                continue
            }
            #expect(try Self.permissions(directory.lock) == 0o600)
            withExtendedLifetime(lock) {}
        }
    }

    @Test(arguments: [(0o755, "notes.txt"), (0o1777, "lock")])
    func aDirectoryThatIsSharedIsRefusedAndStaysAsItIs(mode: Int, name: String) throws {
        let folder = try TemporaryDirectory()
        let shared = folder.path + "/shared"
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        try "".write(toFile: "\(shared)/\(name)", atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: shared)
        let error = #expect(throws: ToolError.self) { try DataDirectory(creating: shared) }
        #expect(error?.description.contains("use a separate directory") == true)
        #expect(try Self.permissions(shared).map { $0 & 0o777 } == mode & 0o777)
    }

    @Test func aLockThatIsALinkIsNotFollowed() throws {
        let folder = try TemporaryDirectory()
        let other = folder.path + "/other"
        try "kept".write(toFile: other, atomically: false, encoding: .utf8)
        let directory = try DataDirectory(creating: folder.path + "/data")
        try FileManager.default.createSymbolicLink(atPath: directory.lock, withDestinationPath: other)
        #expect(throws: ToolError.self) { try DataDirectoryLock.take(in: directory) }
        #expect(contentsOfFile(other) == "kept")
    }
}
