import NIOCore
import SkyrowActions
import Testing

@testable import SkyrowHTTP

/// Who gets how much of the memory for bodies.
@Suite struct BodyMemoryTests {
    static let limits = HTTPLimits(body: 1000, bodiesInMemory: 8000, smallBody: 100, clientShare: 25)

    private func usage(_ key: ClientKey, of table: ClientTable) throws -> ClientUsage {
        try #require(table.usage(of: key))
    }

    /// A key of IPv6, by site and network.
    private func key(_ site: UInt64, _ network: UInt64 = 0) -> ClientKey {
        ClientKey(high: 0x2001_0db8_0000_0000 | site << 16 | network << 8, low: 0)
    }

    @Test func aClientHasItsShareAndASiteTwice() throws {
        let memory = BodyMemory(Self.limits)
        let table = ClientTable()
        let clients = try (0..<5).map { try usage(key(1, $0), of: table) }
        // A quarter of 8000 each, and half of it for all of the site.
        #expect(memory.take(2000, from: .accepted, isSmall: false, for: clients[0]) == nil)
        #expect(memory.take(1, from: .accepted, isSmall: false, for: clients[0]) == .clientShareExceeded)
        #expect(memory.take(2000, from: .accepted, isSmall: false, for: clients[1]) == nil)
        #expect(memory.take(1, from: .accepted, isSmall: false, for: clients[2]) == .clientShareExceeded)
        // Another site, and an IPv4 client, are not concerned.
        let elsewhere = try usage(key(2), of: table)
        #expect(memory.take(2000, from: .accepted, isSmall: false, for: elsewhere) == nil)
        #expect(memory.bytes == 6000)
        // A refusal has taken nothing.
        memory.release(2000, from: .accepted, for: clients[0])
        #expect(memory.take(2000, from: .accepted, isSmall: false, for: clients[3]) == nil)
    }

    @Test func largeBodiesLeaveTheReserveToSmallOnes() throws {
        let memory = BodyMemory(Self.limits)
        let table = ClientTable()
        let large = try (1...4).map { try usage(ClientKey(high: 0, low: $0), of: table) }
        for client in large[..<3] { #expect(memory.take(2000, from: .accepted, isSmall: false, for: client) == nil) }
        #expect(memory.take(1000, from: .accepted, isSmall: false, for: large[3]) == nil)
        // 7000 of 8000 are taken.
        #expect(memory.take(1, from: .accepted, isSmall: false, for: large[3]) == .overloaded)
        // In the reserve a client has a quarter of the reserve in all, so those with large bodies have nothing of it.
        #expect(memory.take(1, from: .accepted, isSmall: true, for: large[3]) == .clientShareExceeded)
        let small = try usage(ClientKey(high: 0, low: 9), of: table)
        #expect(memory.take(250, from: .accepted, isSmall: true, for: small) == nil)
        #expect(memory.take(1, from: .accepted, isSmall: true, for: small) == .clientShareExceeded)
        let proxied = memory.take(750, from: .accepted, isSmall: true, for: nil)
        #expect(proxied == nil)
        #expect(memory.take(1, from: .accepted, isSmall: true, for: nil) == .overloaded)
    }

    @Test func strangersHaveAPoolOfTheirOwn() throws {
        let memory = BodyMemory(Self.limits)
        let table = ClientTable()
        let stranger = try usage(ClientKey(high: 0, low: 1), of: table)
        // An eighth of 8000 for all, though one body of the longest fits.
        #expect(memory.take(1000, from: .unverified, isSmall: true, for: stranger) == nil)
        #expect(memory.take(1, from: .unverified, isSmall: true, for: nil) == .overloaded)
        // It takes nothing from those with a key, not even from the same address.
        #expect(memory.take(2000, from: .accepted, isSmall: false, for: stranger) == nil)
    }

    @Test func aHoldGivesBackWhatItTook() throws {
        let memory = BodyMemory(Self.limits)
        var hold = BodyHold(memory, pool: .unverified, usage: nil, limit: 100)
        #expect(hold.take(100) == nil)
        #expect(hold.take(1) == .credentialsRequired)
        #expect(memory.bytes == 100)
        hold.release()
        #expect(memory.bytes == 0)
    }

    /// Whatever the configuration, one body of the longest fits while nothing else is there.
    @Test(arguments: [(1000, 1000), (1000, 1001), (1000, 8000), (1 << 30, 1 << 30), (8 << 20, 256 << 20)])
    func theLongestBodyFits(body: Int, memory size: Int) throws {
        for pool in [BodyPool.accepted, .unverified] {
            let memory = BodyMemory(HTTPLimits(body: body, bodiesInMemory: size, clientShare: 1))
            let client = try usage(key(1), of: ClientTable())
            #expect(memory.take(body, from: pool, isSmall: false, for: client) == nil)
        }
    }

    @Test func aTableForgetsClientsThatHoldNothing() throws {
        let table = ClientTable()
        var first: ClientUsage? = try usage(key(1, 1), of: table)
        let same = try usage(key(1, 1), of: table)
        #expect(first?.counts === same.counts)
        var neighbour: ClientUsage? = try usage(key(1, 2), of: table)
        #expect(neighbour?.site?.counts === same.site?.counts)
        #expect(table.count == 3)
        neighbour = nil
        first = nil
        #expect(table.count == 2)
        withExtendedLifetime((same, neighbour, first)) {}
        #expect(table.usage(of: .none) == nil)
    }

    @Test func aBodyHasToComeFasterThanTheRate() {
        let limits = HTTPLimits(bodyRate: 100, bodyWindow: .seconds(10))
        var pace = BodyPace(from: .uptimeNanoseconds(0), limits)
        func isTooSlow(_ bytes: Int, at second: UInt64, isWaiting: Bool = false) -> Bool {
            pace.isTooSlow(bytes: bytes, isWaiting: isWaiting, now: .uptimeNanoseconds(second * 1_000_000_000), limits)
        }
        #expect(!isTooSlow(0, at: 9))
        #expect(!isTooSlow(1000, at: 10))
        #expect(!isTooSlow(1000, at: 19))
        // A burst does not buy time.
        #expect(!isTooSlow(100_000, at: 20))
        #expect(isTooSlow(100_999, at: 30))
        // Whom the server keeps waiting has a window from then on.
        #expect(!isTooSlow(100_999, at: 45, isWaiting: true))
        #expect(!isTooSlow(100_999, at: 54))
        #expect(isTooSlow(100_999, at: 55))
    }
}
