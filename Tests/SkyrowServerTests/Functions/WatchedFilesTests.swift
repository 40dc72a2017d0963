import Glibc
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct WatchedFilesTests {
    private func files(_ size: Int64) -> WatchedFiles {
        WatchedFiles(["a.py": WatchedFiles.Stamp(inode: 1, size: size, seconds: 0, nanoseconds: 0)])
    }

    @Test(
        arguments: [
            ([1, 1, 1], [false, false, false]), ([1, 2, 2], [false, false, true]),
            ([1, 2, 3, 3], [false, false, false, true]),
            // A change that is taken back does not count.
            ([1, 2, 1, 1], [false, false, false, false]),
            ([1, 2, 2, 2, 3, 3], [false, false, true, false, false, true]),
        ] as [([Int64], [Bool])]
    )
    func aChangeCountsWhenTwoLooksAreEqual(_ sizes: [Int64], _ reloads: [Bool]) {
        var plan = ReloadPlan()
        var found: [Bool] = []
        for size in sizes { found.append(plan.look(files(size))) }
        #expect(found == reloads)
    }

    @Test func changedNewAndRemovedFilesDiffer() throws {
        let folder = try TemporaryDirectory()
        let directory = "\(folder.path)/a [b]*"
        try makeDirectory("\(directory)/lib")
        func write(_ name: String, _ text: String) throws {
            try FileDescriptor(opening: "\(directory)/\(name)", O_WRONLY | O_CREAT | O_TRUNC).write(text.utf8)
        }
        func look() -> WatchedFiles { WatchedFiles(["*.py", "lib/*.py"], in: directory) }
        #expect(look().stamps.isEmpty)
        try write("a.py", "1")
        try write("lib/b.py", "1")
        try write("a.txt", "1")
        let first = look()
        #expect(Set(first.stamps.keys) == ["\(directory)/a.py", "\(directory)/lib/b.py"])
        try write("a.txt", "22")
        #expect(look() == first)
        try write("lib/b.py", "22")
        let second = look()
        #expect(second != first)
        try #require(unlink("\(directory)/a.py") == 0)
        #expect(look() != second)
        #expect(WatchedFiles(["*"], in: "\(directory)/x").stamps.isEmpty)
    }

    @Test(
        arguments: [
            (
                "12 (python3) S 1 77 77 0 -1 4194560 1 0 0 0 5 1 0 0 20 0 1 0 100 1000000 321 18446744073709551615", 77,
                321
            ),
            ("12 (a) b (c) S 1 78 77 0 -1 4194560 1 0 0 0 5 1 0 0 20 0 1 0 100 1000000 0 1", 78, 0), ("", nil, nil),
            ("12 (a) S 1", nil, nil),
        ] as [(String, Int32?, Int?)]
    )
    func theMemoryOfAProcessIsRead(_ text: String, _ group: Int32?, _ pages: Int?) {
        let found = ProcessGroups.group(ofStatus: text)
        #expect(found?.group == group && found?.pages == pages)
    }

    @Test func thisProcessHasMemory() {
        #expect(ProcessGroups.residentBytes()[getpgrp(), default: 0] > 1 << 20)
    }
}
