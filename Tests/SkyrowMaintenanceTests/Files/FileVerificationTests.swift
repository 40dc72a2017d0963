import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowServer
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

/// Rows and files that differ, and those that only seem to.
@Suite(.timeLimit(.minutes(60))) struct FileVerificationTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var checksums: Bool
        var differences: [FileDifference]
        var unsettled: Int
        var make: @Sendable (FileFixture) async throws -> Void

        init(
            _ description: String,
            checksums: Bool = false,
            _ differences: FileDifference...,
            unsettled: Int = 0,
            make: @escaping @Sendable (FileFixture) async throws -> Void
        ) {
            testDescription = description
            self.checksums = checksums
            self.differences = differences
            self.unsettled = unsettled
            self.make = make
        }
    }

    private static func name(_ number: Int) -> AssetName { FileFixture.name(number) }

    private static func expect(_ number: Int) -> String {
        """
        INSERT INTO _asset (name, filename, content_type, size, state, expires_at)
        VALUES ('\(name(number))', 'a.txt', 'text/plain', 4, 'expected', now() + interval '1 day')
        """
    }

    private static let faults: [Fault] = [
        Fault("nothing") { _ in },
        Fault("nothing, with checksums", checksums: true) { _ in },
        Fault("a missing file", FileDifference(.missing, name(2), size: 3)) {
            try FileManager.default.removeItem(atPath: $0.path(name(2)))
        },
        Fault("a missing file, with checksums", checksums: true, FileDifference(.missing, name(2), size: 3)) {
            try FileManager.default.removeItem(atPath: $0.path(name(2)))
        },
        Fault("a file without a row", FileDifference(.orphaned, name(9), size: 4)) {
            try await $0.write(name(9), "nine", age: 601)
        },
        Fault("a file that may get its row", unsettled: 1) { try await $0.write(name(9), "nine", age: 599) },
        Fault("a file from the future", unsettled: 1) { try await $0.write(name(9), "nine", age: -3600) },
        Fault("a file with another size", FileDifference(.wrongSize, name(1), size: 3, found: 4)) {
            try await $0.write(name(1), "ones")
        },
        Fault("a file with other contents") { try await $0.write(name(1), "eno") },
        Fault(
            "a file with other contents, with checksums",
            checksums: true,
            FileDifference(.wrongChecksum, name(1), size: 3)
        ) {
            try await $0.write(name(1), "eno")
        },
        Fault("a row from psql without a checksum", checksums: true) {
            try await $0.write(name(1), "eno")
            try await $0.psql("UPDATE _asset SET sha256 = NULL WHERE name = '\(name(1))'")
        },
        Fault("an announced file") { try await $0.psql(expect(9)) },
        Fault("an announced file that has arrived", unsettled: 1) {
            try await $0.psql(expect(9))
            try await $0.write(name(9), "nine")
        },
        Fault("a file that is about to be deleted", unsettled: 1) {
            try await $0.psql(
                """
                WITH gone AS (DELETE FROM _asset WHERE name = '\(name(2))' RETURNING name, storage)
                INSERT INTO _garbage (name, storage) SELECT name, storage FROM gone
                """
            )
        },
        Fault(
            "several",
            FileDifference(.wrongSize, name(1), size: 3, found: 0),
            FileDifference(.missing, name(3), size: 5),
            FileDifference(.orphaned, name(0), size: 1),
            FileDifference(.orphaned, name(4), size: 2)
        ) {
            try await $0.write(name(1), "")
            try FileManager.default.removeItem(atPath: $0.path(name(3)))
            try await $0.write(name(0), "a")
            try await $0.write(name(4), "bb")
        },
    ]

    @Test(arguments: faults)
    func aFaultIsFoundAndTheRestIsNot(_ fault: Fault) async throws {
        try await withFiles { files in
            try await fault.make(files)
            let report = try await files.verify(checksums: fault.checksums)
            #expect(report.differences.listed == fault.differences)
            #expect(report.unsettled == fault.unsettled)
            #expect(report.remaining == fault.differences.count)
            // Nothing is changed, so it is found again.
            let again = try await files.verify(checksums: fault.checksums)
            #expect(again == report)
        }
    }

    /// Listings of rows and files are not of one moment.
    @Test func uploadsAndDeletionsMeanwhileAreNoDifferences() async throws {
        try await withFiles { files in
            // Its row and its file are deleted after the rows were listed.
            let deletion = DisturbedStorage(storage: files.storage) {
                _ = try? await files.psql("DELETE FROM _asset WHERE name = '\(Self.name(2))'")
                try? await files.storage.delete(Self.name(2))
            }
            let first = try await files.verify(by: deletion)
            #expect(first.differences.isEmpty)
            // Its file is written after the rows were listed, and then its row.
            let upload = DisturbedStorage(storage: files.storage) { try? await files.keep(Self.name(5), "five") }
            let second = try await files.verify(by: upload)
            #expect(second.differences.isEmpty)
            #expect(try await files.verify().count == 3)
        }
    }

    @Test func filesWithoutARowAreAdopted() async throws {
        try await withFiles { files in
            let names = [FileFixture.name(7, "cat.png"), FileFixture.name(8, "plain"), FileFixture.name(9, "new.txt")]
            try await files.write(names[0], "cat")
            try await files.write(names[1], "plain")
            try await files.write(names[2], "new", age: 10)
            let report = try await files.verify(repair: .adopt)
            #expect(report.differences.listed.map(\.name) == Array(names[..<2]))
            #expect(report.adopted == 2 && report.removed == 0 && report.remaining == 0 && report.unsettled == 1)
            let rows = try await files.psql(
                """
                SELECT filename, content_type, size, state, storage, owner IS NULL, stored_at IS NOT NULL, sha256 = sha256(convert_to(
                    split_part(filename, '.', 1), 'UTF8'
                )) FROM _asset WHERE name > '00000004' ORDER BY name
                """
            )
            #expect(
                rows == "cat.png|image/png|3|stored|local|t|t|t\nplain|application/octet-stream|5|stored|local|t|t|t"
            )
            let again = try await files.verify(checksums: true)
            #expect(again.differences.isEmpty && again.count == 5)
        }
    }

    @Test func filesWithoutARowAreRemovedWhenTheyAreOld() async throws {
        try await withFiles { files in
            try await files.write(Self.name(7), "old", age: 86_401)
            try await files.write(Self.name(8), "young", age: 86_399)
            let report = try await files.verify(repair: .remove)
            #expect(report.differences.listed.map(\.name) == [Self.name(7), Self.name(8)])
            #expect(report.removed == 1 && report.adopted == 0 && report.remaining == 1)
            #expect(!FileManager.default.fileExists(atPath: files.path(Self.name(7))))
            #expect(FileManager.default.fileExists(atPath: files.path(Self.name(8))))
            for number in 1...3 { #expect(FileManager.default.fileExists(atPath: files.path(Self.name(number)))) }
        }
    }

    /// A directory with files only is probably that of another database.
    @Test func nothingIsRemovedWhereNoFileHasARow() async throws {
        try await withFiles { files in
            try await files.psql("DELETE FROM _asset")
            let error = await #expect(throws: ToolError.self) { try await files.verify(repair: .remove) }
            #expect(error?.description.contains("so no file is removed") == true)
            for number in 1...3 { #expect(FileManager.default.fileExists(atPath: files.path(Self.name(number)))) }
            // Without --remove they are listed, and they may be adopted.
            #expect(try await files.verify().differences.counts == [.orphaned: 3])
            #expect(try await files.verify(repair: .adopt).adopted == 3)
        }
    }

    @Test func aStorageThatIsGoneIsAnError() async throws {
        try await withFiles { files in
            try FileManager.default.removeItem(atPath: files.directory)
            let error = await #expect(throws: ToolError.self) { try await files.verify() }
            #expect(error?.description.contains("The files cannot be used") == true)
        }
    }
}

/// How two listings are merged, without a database.
@Suite struct FilePairingTests {
    /// The pairs of two lists of numbers that arrive in pages.
    private func pairs(_ rows: [Int], _ files: [Int], page: Int) -> [String] {
        var pairing = FilePairing(pageLength: page)
        var (rest, others) = (rows[...], files[...])
        var found: [String] = []
        while true {
            if pairing.needsRows {
                pairing.add(rest.prefix(page).map { FileRow(name: FileFixture.name($0), size: 1) })
                rest = rest.dropFirst(page)
            }
            if pairing.needsFiles {
                pairing.add(
                    others.prefix(page).map {
                        FileEntry(name: FileFixture.name($0), size: 1, modifiedAt: Timestamp(microseconds: 0))
                    }
                )
                others = others.dropFirst(page)
            }
            guard let pair = pairing.next() else { return found }
            switch pair {
            case .both(let row, let file):
                #expect(row.name == file.name)
                found.append("=\(row.name.id.prefix(8))")
            case .row(let row): found.append("-\(row.name.id.prefix(8))")
            case .file(let file): found.append("+\(file.name.id.prefix(8))")
            }
        }
    }

    @Test(arguments: 1...20)
    func anyTwoListsArePairedByName(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        for page in [1, 2, 3, 7, 100] {
            let rows = (0..<30).filter { _ in Bool.random(using: &generator) }
            let files = (0..<30).filter { _ in Bool.random(using: &generator) }
            let expected = (0..<30).filter { rows.contains($0) || files.contains($0) }.map { number in
                let sign = !files.contains(number) ? "-" : rows.contains(number) ? "=" : "+"
                return sign + FileFixture.name(number).id.prefix(8)
            }
            #expect(pairs(rows, files, page: page) == expected)
        }
    }

    @Test func aListOfDifferencesIsBounded() {
        var differences = FileDifferences()
        for _ in 0..<FileDifferences.maximumListed + 5 {
            differences.add(FileDifference(.missing, FileFixture.name(1), size: 0))
        }
        #expect(differences.listed.count == FileDifferences.maximumListed)
        #expect(differences.count == FileDifferences.maximumListed + 5)
    }
}
