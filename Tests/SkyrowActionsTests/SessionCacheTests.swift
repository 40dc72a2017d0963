import SkyrowModel
import SkyrowStore
import Testing

@testable import SkyrowActions

@Suite struct SessionCacheTests {
    let start = ContinuousClock.now

    func session(_ user: UserID) -> StoredSession {
        StoredSession(userID: user, roles: [], isAdministrator: false)
    }

    @Test func anEntryCountsForItsFreshnessAndNotLonger() {
        var cache = SessionCache(capacity: 10, freshness: .seconds(1))
        let token = TokenHash(of: "t")
        cache.insert(session("ann"), for: token, loadedAt: start, epoch: cache.epoch)
        #expect(cache.session(token, at: start + .milliseconds(999)) == session("ann"))
        #expect(cache.session(token, at: start + .seconds(1)) == nil)
    }

    /// What is compared with what is known of the user at each request is found equal without a look into it.
    @Test func rolesThatDidNotChangeStayTheSameArray() throws {
        func address(_ cache: inout SessionCache) throws -> UnsafePointer<RoleName>? {
            let session = cache.session(TokenHash(of: "t"), at: start)
            return try #require(session).roles.withUnsafeBufferPointer { $0.baseAddress }
        }
        var cache = SessionCache(capacity: 10, freshness: .seconds(1))
        func insert(_ roles: [String]) {
            var session = session("ann")
            session.roles = roles.map { RoleName($0) }
            cache.insert(session, for: TokenHash(of: "t"), loadedAt: start, epoch: cache.epoch)
        }
        insert(["editor", "press"])
        let first = try address(&cache)
        insert(["editor", "press"])
        let second = try address(&cache)
        #expect(second == first)
        insert(["editor"])
        let changed = cache.session(TokenHash(of: "t"), at: start)
        #expect(changed?.roles == ["editor"])
    }

    @Test func theNumberOfEntriesIsBounded() {
        var cache = SessionCache(capacity: 10, freshness: .seconds(1))
        for number in 0..<1000 {
            cache.insert(session("u\(number)"), for: TokenHash(of: "\(number)"), loadedAt: start, epoch: cache.epoch)
            #expect(cache.count <= 10)
        }
        #expect(cache.session(TokenHash(of: "999"), at: start) == session("u999"))
    }

    @Test func whatIsUsedStaysWhenOthersAreForgotten() {
        var cache = SessionCache(capacity: 10, freshness: .seconds(1))
        let kept = TokenHash(of: "kept")
        cache.insert(session("ann"), for: kept, loadedAt: start, epoch: cache.epoch)
        for number in 0..<100 {
            cache.insert(session("bob"), for: TokenHash(of: "\(number)"), loadedAt: start, epoch: cache.epoch)
            #expect(cache.session(kept, at: start) == session("ann"))
        }
    }

    @Test func removalTakesTheTokenOrTheUsersAndNobodyElse() {
        var cache = SessionCache(capacity: 10, freshness: .seconds(1))
        let tokens = ["a1", "a2", "b", "c"].map { TokenHash(of: $0) }
        for (token, user) in zip(tokens, ["ann", "ann", "bob", "cid"] as [UserID]) {
            cache.insert(session(user), for: token, loadedAt: start, epoch: cache.epoch)
        }
        cache.remove(tokens[3])
        cache.removeSessions(of: ["ann"])
        #expect(tokens.map { cache.session($0, at: start)?.userID } == [nil, nil, "bob", nil])
        cache.removeAll()
        #expect(cache.count == 0)
    }

    @Test func usersAreThoseOfTheirBytes() {
        var cache = SessionCache(capacity: 10, freshness: .seconds(1))
        let tokens = ["a", "b"].map { TokenHash(of: $0) }
        for (token, user) in zip(tokens, ["\u{E9}", "e\u{301}"] as [UserID]) {
            cache.insert(session(user), for: token, loadedAt: start, epoch: cache.epoch)
        }
        cache.removeSessions(of: ["e\u{301}"])
        #expect(tokens.map { cache.session($0, at: start)?.userID } == ["\u{E9}", nil])
    }

    @Test func whatWasLoadedBeforeARevocationIsNotRememberedAfterIt() {
        var cache = SessionCache(capacity: 10, freshness: .seconds(1))
        let token = TokenHash(of: "t")
        let epoch = cache.epoch
        cache.remove(token)
        cache.insert(session("ann"), for: token, loadedAt: start, epoch: epoch)
        #expect(cache.session(token, at: start) == nil)
    }

    @Test func tokensAreLongRandomAndSafeInAURL() {
        let tokens = (0..<100).map { _ in AccessToken().text }
        #expect(Set(tokens).count == 100)
        for token in tokens {
            #expect(token.wholeMatch(of: /s_[0-9A-Za-z]{43}/) != nil)
        }
    }

    @Test func aTokensHashIsItsSHA256() {
        // echo -n abc | sha256sum
        let expected: [UInt8] = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
            0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad,
        ]
        #expect(TokenHash(of: "abc").bytes == expected)
        #expect(TokenHash(bytes: expected) == TokenHash(of: "abc"))
        #expect(TokenHash(bytes: expected.dropLast()) == nil)
    }
}
