import SkyrowTestSupport
import Testing

@testable import SkyrowModel

@Suite struct ChangeTokenTests {
    struct Membership: Sendable, CustomTestStringConvertible {
        let set: TransactionSet
        let revision: Int64
        let isIn: Bool

        init(_ end: Int64, _ missing: [Int64], _ revision: Int64, _ isIn: Bool) {
            set = TransactionSet(end: end, missing: missing)
            self.revision = revision
            self.isIn = isIn
        }

        var testDescription: String { "\(revision) of \(set)" }
    }

    @Test(arguments: [
        Membership(120, [], 119, true), Membership(120, [], 120, false), Membership(120, [], -5, true),
        Membership(120, [117], 117, false), Membership(120, [117], 116, true), Membership(120, [117], 118, true),
        Membership(120, [1, 5, 9, 119], 1, false), Membership(120, [1, 5, 9, 119], 9, false),
        Membership(120, [1, 5, 9, 119], 119, false), Membership(120, [1, 5, 9, 119], 6, true),
        Membership(120, [1, 5, 9, 119], 0, true), Membership(.min, [], .min, false), Membership(.max, [], .min, true),
    ])
    func aSetHasWhatWasVisible(_ row: Membership) {
        #expect(row.set.contains(row.revision) == row.isIn)
    }

    @Test func aSnapshotIsReadAsPostgreSQLPrintsIt() {
        #expect(
            TransactionSnapshot("117:120:117,118") == TransactionSnapshot(xmin: 117, xmax: 120, running: [117, 118])
        )
        #expect(TransactionSnapshot("120:120:") == TransactionSnapshot(xmin: 120, xmax: 120))
        for text in ["", "1", "1:2", "1:2:3:4", "a:2:", "1:b:", "1:2:x", "1:2:3,,x", "::"] {
            #expect(TransactionSnapshot(text) == nil, "\(text)")
        }
    }

    /// A transaction that ran while the offset was moved may have stamped with either.
    @Test func aRunningTransactionIsMissingUnderEveryOffsetThatItMayHaveUsed() {
        let snapshot = TransactionSnapshot(xmin: 90, xmax: 120, running: [90, 110])
        let offsets = RevisionOffsets(
            present: 1000,
            former: [.init(offset: 0, until: 50), .init(offset: 500, until: 100), .init(offset: 700, until: 111)]
        )
        let set = TransactionSet(snapshot, offsets)
        #expect(set.end == 1120)
        #expect(set.missing == [590, 790, 810, 1090, 1110])
    }

    @Test func aTransactionOfTheWALIsFoundByItsLastBits() {
        let epoch = Int64(3) << 32
        let snapshot = TransactionSnapshot(xmin: epoch + 5, xmax: epoch + 10, running: [epoch + 5])
        #expect(snapshot.isVisible(truncated: 4))
        #expect(!snapshot.isVisible(truncated: 5))
        #expect(!snapshot.isVisible(truncated: 10))
        // Before the counter began anew.
        #expect(snapshot.isVisible(truncated: .max))
    }

    static let place = ChangeToken.Pass.Place(revision: 812, id: "~ann/ü")
    static let base = ChangeToken.Pass.Base(transactions: TransactionSet(end: 90, missing: [4]), takenAt: 1_790_000_000)

    static let passes: [ChangeToken.Pass?] = [
        nil,
        .init(step: .initial),
        .init(step: .initial, place: .init(id: "7")),
        .init(step: .tombstones, base: base),
        .init(step: .tombstones, place: place, base: base),
        .init(step: .rows, base: base),
        .init(step: .rows, place: place, base: base),
    ]

    private static func token(_ pass: ChangeToken.Pass?, missing: [Int64] = [3, 99, 119]) -> ChangeToken {
        ChangeToken(
            place: HistoryPlace(branch: 0xFEDC_BA98_7654_3210, start: -5, position: 1 << 40),
            takenAt: 1_795_000_000,
            transactions: TransactionSet(end: 1 << 40, missing: missing),
            audience: 1,
            scope: 2,
            query: .max,
            form: .init(table: 16_384, columns: 12, digest: 7),
            pass: pass
        )
    }

    @Test(arguments: passes)
    func aTokenIsReadAsItWasWritten(_ pass: ChangeToken.Pass?) {
        for missing in [[], [-(1 << 40)], [3, 99, 119], Array(0..<Int64(8192))] {
            let token = Self.token(pass, missing: missing)
            #expect(ChangeToken(bytes: token.bytes) == token)
        }
    }

    @Test func aTokenIsShort() {
        #expect(Self.token(nil, missing: []).bytes.count <= 96)
        #expect(Self.token(nil, missing: Array((Int64(1 << 40) - 40)..<Int64(1 << 40))).bytes.count <= 136)
    }

    @Test(arguments: passes)
    func aTokenThatWasCutOrChangedAnywhereIsNone(_ pass: ChangeToken.Pass?) {
        let bytes = Self.token(pass).bytes
        for count in 0..<bytes.count { #expect(ChangeToken(bytes: Array(bytes.prefix(count))) == nil) }
        for place in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << UInt8(bit)
                #expect(ChangeToken(bytes: changed) == nil)
            }
        }
        #expect(ChangeToken(bytes: bytes + [0]) == nil)
    }

    @Test func aTokenOfAnotherVersionIsNone() {
        var bytes = Self.token(nil).bytes
        bytes[0] = 3 << 4
        #expect(ChangeToken(bytes: checked(bytes)) == nil)
    }

    /// One of the version before has no start of PostgreSQL, and is of none that a database had.
    @Test func aTokenOfTheVersionBeforeIsOfNoHistory() throws {
        var bytes = Self.token(nil).bytes
        bytes[0] = 1 << 4
        bytes.removeSubrange(9..<25)
        let read = try #require(ChangeToken(bytes: checked(bytes)))
        var expected = Self.token(nil)
        expected.place.start = 0
        expected.place.position = .max
        #expect(read == expected)
        #expect(!read.place.isBehind(Self.token(nil).place, endOfStart: 1 << 62))
    }

    /// Each row: start and position of a token, and of the present moment; where the token's start has ended; whether it goes on.
    @Test(
        arguments: [
            (1, 50, 1, 50, nil, true),
            (1, 51, 1, 50, nil, false),
            (1, 50, 2, 90, 60, true),
            (1, 60, 2, 90, 60, true),
            (1, 61, 2, 90, 60, false),
            // A start that this database never had, or of which it is not known where it ended.
            (1, 50, 2, 90, nil, false),
        ] as [(Int64, UInt64, Int64, UInt64, UInt64?, Bool)]
    )
    func aTokenGoesOnWhereTheDatabaseHasBeen(
        start: Int64,
        position: UInt64,
        presentStart: Int64,
        presentPosition: UInt64,
        endOfStart: UInt64?,
        goesOn: Bool
    ) {
        let present = HistoryPlace(branch: 7, start: presentStart, position: presentPosition)
        for branch in [7, 8] as [UInt64] {
            let known = HistoryPlace(branch: branch, start: start, position: position)
            #expect(known.isBehind(present, endOfStart: endOfStart) == (goesOn && branch == 7))
        }
    }

    /// The check is right, so that what is behind it is read: nothing crashes, and what is read is written alike.
    ///
    /// A million in `make fuzz`.
    @Test func mutationsAreReadOrRefused() {
        var random = SeededGenerator.forTest()
        let count = SeededGenerator.seedOfRun == 1 ? 100_000 : 1_000_000
        let tokens = Self.passes.map { Self.token($0).bytes }
        var read = 0
        for _ in 0..<count {
            var bytes = tokens.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                case 2 where bytes.count > 5: bytes.remove(at: place)
                default: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            }
            let sealed = checked(bytes)
            guard let token = ChangeToken(bytes: sealed) else { continue }
            read += 1
            if token.bytes != sealed { Issue.record("\(sealed) is read as \(token.bytes)") }
        }
        // Most bytes are those of digests, where any will do.
        #expect(read > count / 10 && read < count)
    }

    private func checked(_ bytes: [UInt8]) -> [UInt8] {
        let body = bytes.dropLast(4)
        let check = CRC32C.of(body)
        return body + (0..<4).reversed().map { UInt8(truncatingIfNeeded: check >> (8 * $0)) }
    }

    /// The value of RFC 3720, B.4, and the usual one.
    @Test func theCheckIsThatOfCastagnoli() {
        #expect(CRC32C.of(Array("123456789".utf8)[...]) == 0xE306_9283)
        #expect(CRC32C.of(Array(repeating: 0, count: 32)[...]) == 0x8A91_36AA)
    }

    @Test func aBloomFilterHasWhatWasPutInAndLittleElse() throws {
        var filter = try #require(BloomFilter(bytes: Array(repeating: 0, count: 1250), hashes: 7))
        for number in 0..<1000 { filter.insert("note/\(number)") }
        for number in 0..<1000 { #expect(filter.mayContain("note/\(number)")) }
        let others = (1000..<11_000).count { filter.mayContain("note/\($0)") }
        #expect(others < 300, "\(others) of 10,000")
        for (bytes, hashes) in [(0, 7), ((1 << 20) + 1, 7), (10, 0), (10, 17)] {
            #expect(BloomFilter(bytes: Array(repeating: 0, count: bytes), hashes: hashes) == nil)
        }
    }

    /// So that a client in another language has something to hold its own to.
    @Test func theBitsOfABloomFilterAreThoseOfTheManual() throws {
        var filter = try #require(BloomFilter(bytes: [0, 0, 0, 0], hashes: 3))
        filter.insert("note/7")
        var expected: [UInt8] = [0, 0, 0, 0]
        let first: UInt64 = "note/7".utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        let second = (first << 32 | first >> 32) | 1
        for number in 0..<UInt64(3) {
            let bit = Int((first &+ number &* second) % 32)
            expected[bit / 8] |= 1 << UInt8(bit % 8)
        }
        #expect(filter.bytes == expected)
    }
}
