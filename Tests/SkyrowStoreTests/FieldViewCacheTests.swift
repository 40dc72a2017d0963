import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Readers who see the same fields of a table share its form, and what is kept of them is bounded.
@Suite struct FieldViewCacheTests {
    private final class Form: Sendable {}

    private func reader(_ number: Int) -> FieldAccess { .user(UserID("u\(number)")) }

    private func view(_ number: Int) -> FieldView { FieldView(hidden: [field("f\(number)")]) }

    @Test func aFormIsMadeOnceForEachView() {
        var cache = FieldViewCache<Form>()
        var made = 0
        func make(_ view: FieldView) -> Form {
            made += 1
            return Form()
        }
        let first = cache.form(for: reader(1), view(1), make)
        let second = cache.form(for: reader(2), view(1), make)
        let other = cache.form(for: reader(3), view(2), make)
        #expect(first != nil && first === second && first !== other && made == 2)
        #expect(cache.form(for: reader(4), nil, make) == nil && made == 2)
        // nil for one of whom nothing is known, and nil within for one who sees all fields.
        #expect(cache[reader(1)] ?? nil === first)
        #expect(cache[reader(4)].map { $0 == nil } == true)
        #expect(cache[reader(5)] == nil)
    }

    /// Each user is a reader, and each combination of roles may have a view of its own.
    @Test func whatIsKeptIsBounded() {
        var cache = FieldViewCache<Form>()
        weak var early: Form?
        early = cache.form(for: reader(0), view(0)) { _ in Form() }
        let readers = 5 * FieldViewCache<Form>.maximumReaders / 2
        for number in 1..<readers { _ = cache.form(for: reader(number), view(0)) { _ in Form() } }
        let count = (0..<readers).count { cache[reader($0)] != nil }
        #expect(0 < count && count <= FieldViewCache<Form>.maximumReaders)
        #expect(early != nil)
        for number in 1...FieldViewCache<Form>.maximumViews {
            _ = cache.form(for: reader(number), view(number)) { _ in Form() }
        }
        #expect(early == nil)
    }

    /// What one reader may see is no other's, though both are asked for by the same keys.
    @Test func readersOfTheSameKeysAreDistinguished() {
        let known = FieldAccess.audience(Audience(user: "ann", isRegistered: true))
        #expect(known == .audience(Audience(user: "ann", isRegistered: true)))
        for other in [
            Audience(user: "ann"), Audience(user: "ann", isRegistered: true, isVerified: true),
            Audience(user: "bob", isRegistered: true),
            Audience(user: "ann", roles: ["a"], isRegistered: true),
            Audience(user: "ann", groups: ["a"], isRegistered: true),
        ] {
            #expect(known != .audience(other))
        }
    }
}
