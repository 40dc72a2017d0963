import Dispatch
import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

@Suite struct PasswordTests {
    static let cheap = ScryptCost(logN: 4, r: 8, p: 1)

    @Test func aHashVerifiesItsPasswordOnly() throws {
        var generator = SystemRandomNumberGenerator()
        let hash = try PasswordHash(password: Array("secret".utf8), cost: Self.cheap, using: &generator)
        let read = try #require(PasswordHash(hash.text))
        #expect(read == hash)
        #expect(try read.matches("secret"))
        #expect(try !read.matches("Secret"))
        #expect(try !read.matches(""))
    }

    @Test func aKnownHashOfAnotherImplementationVerifies() throws {
        // python3: hashlib.scrypt(b"secret", salt=bytes(range(16)), n=16, r=8, p=1, dklen=32)
        let hash = try #require(
            PasswordHash("$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$FBYrbyejpsRMOOxNjJ4WhxLlIIkIxp/izmMfHJ7w9YU")
        )
        #expect(try hash.matches("secret"))
        #expect(!hash.isComposed)
    }

    @Test func oldHashesAreOfTheBytesAndNewOnesOfTheComposedForm() async throws {
        let hasher = PasswordHasher(PasswordConfiguration(cost: Self.cheap)) { _ in }
        let (composed, decomposed) = ("p\u{e4}ssword", "pa\u{308}ssword")
        let new = try await hasher.hash(decomposed)
        #expect(new.contains(",n=1$"))
        #expect(try await hasher.verify(composed, against: new) == .right)
        #expect(try await hasher.verify(decomposed, against: new) == .right)
        var generator = SystemRandomNumberGenerator()
        let made = try PasswordHash(password: Array(decomposed.utf8), cost: Self.cheap, using: &generator)
        let old = PasswordHash(cost: made.cost, salt: made.salt, output: made.output, isComposed: false).text
        #expect(!old.contains("n=1"))
        #expect(try await hasher.verify(decomposed, against: old) == .right)
        #expect(try await hasher.verify(composed, against: old) == .wrong)
    }

    /// Made with libxcrypt at cost 4, by Python's `crypt`.
    @Test(arguments: [
        ("secret", "$2a$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"),
        ("secret", "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"),
        ("secret", "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"),
        ("p\u{e4}ssword", "$2b$04$abcdefghijklmnopqrstuum174eFeoTj0DHmtuueFaS3Wde4P7wHG"),
        (String(repeating: "a", count: 1000), "$2b$04$abcdefghijklmnopqrstuuBzzIgyKkz7xMWYSzkIjUSnxEQFQ0WNe"),
    ])
    func hashesOfBcryptVerifyAndAreReplaced(password: String, stored: String) async throws {
        let hasher = PasswordHasher(PasswordConfiguration(cost: Self.cheap)) { _ in }
        #expect(try await hasher.verify("another", against: stored) == .wrong)
        #expect(try await hasher.verify(password + "\0", against: stored) == .wrong)
        #expect(try await hasher.verify(password, against: stored, replacingWeak: false) == .right)
        guard case .rightAndRehashed(let text) = try await hasher.verify(password, against: stored) else {
            Issue.record("The hash was not replaced.")
            return
        }
        #expect(text.hasPrefix("$scrypt$"))
        #expect(try await hasher.verify(password, against: text) == .right)
    }

    @Test(arguments: [
        "$2b$15$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
        "$2b$03$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
        "$2x$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
        "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIr",
        "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WI:W",
        "$6$abcdefgh$1234",
    ])
    func otherHashesOfOtherSystemsAreNoPasswords(_ stored: String) async throws {
        let hasher = PasswordHasher(PasswordConfiguration(cost: Self.cheap)) { _ in }
        #expect(StoredPassword(stored).map { _ in true } == nil)
        #expect(try await hasher.verify("secret", against: stored) == .wrong)
    }

    @Test func theStandardCostIsWithinWhatTheLibraryAllows() throws {
        var generator = SystemRandomNumberGenerator()
        let hash = try PasswordHash(password: Array("secret".utf8), cost: .default, using: &generator)
        #expect(hash.text.hasPrefix("$scrypt$ln=15,r=8,p=3,n=1$"))
        #expect(PasswordHash(hash.text) == hash)
    }

    @Test(arguments: [
        "", "secret", "$scrypt$", "$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$", "$bcrypt$ln=4,r=8,p=1$AAAA$AAAA",
        "$scrypt$ln=40,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$R0Qg7GgWgDbyzOXSQZ+ZDhMKp7sDUDHSMWQpqIOrHmA",
        "$scrypt$ln=4,r=0,p=1$AAECAwQFBgcICQoLDA0ODw$R0Qg7GgWgDbyzOXSQZ+ZDhMKp7sDUDHSMWQpqIOrHmA",
        "$scrypt$ln=23,r=64,p=1$AAECAwQFBgcICQoLDA0ODw$R0Qg7GgWgDbyzOXSQZ+ZDhMKp7sDUDHSMWQpqIOrHmA",
        "$scrypt$r=8,ln=4,p=1$AAECAwQFBgcICQoLDA0ODw$R0Qg7GgWgDbyzOXSQZ+ZDhMKp7sDUDHSMWQpqIOrHmA",
    ])
    func whatIsNotAHashOfOursIsNotRead(text: String) {
        #expect(PasswordHash(text) == nil)
    }

    @Test(arguments: [
        (ScryptCost(logN: 4, r: 8, p: 1), ScryptCost(logN: 4, r: 8, p: 1), false),
        (ScryptCost(logN: 4, r: 8, p: 1), ScryptCost(logN: 5, r: 8, p: 1), true),
        (ScryptCost(logN: 5, r: 8, p: 1), ScryptCost(logN: 4, r: 8, p: 1), false),
        (ScryptCost(logN: 4, r: 8, p: 1), ScryptCost(logN: 4, r: 8, p: 2), true),
        (ScryptCost(logN: 4, r: 8, p: 8), ScryptCost(logN: 5, r: 8, p: 1), true),
    ])
    func aCostIsWeakerWhenItTakesLessTimeOrMemory(a: ScryptCost, b: ScryptCost, isWeaker: Bool) {
        #expect(a.isWeaker(than: b) == isWeaker)
    }

    @Test func anUnknownUserCostsTheSameNumberOfHashes() async throws {
        let hashes = Mutex(0)
        let hasher = PasswordHasher(PasswordConfiguration(cost: Self.cheap)) { observation in
            if observation == .passwordHashed { hashes.withLock { $0 += 1 } }
        }
        let stored = try await hasher.hash("secret")
        #expect(hashes.withLock { $0 } == 1)
        for (password, stored, verdict) in [
            ("secret", stored, PasswordHasher.Verdict.right),
            ("wrong", stored, .wrong),
            ("secret", nil, .wrong),
            ("secret", "not a hash", .wrong),
        ] as [(String, String?, PasswordHasher.Verdict)] {
            hashes.withLock { $0 = 0 }
            #expect(try await hasher.verify(password, against: stored) == verdict)
            #expect(hashes.withLock { $0 } == 1)
        }
    }

    @Test func aHashOfALowerCostIsReplacedWhenItsPasswordIsRight() async throws {
        let weak = PasswordHasher(PasswordConfiguration(cost: Self.cheap)) { _ in }
        let strong = PasswordHasher(PasswordConfiguration(cost: ScryptCost(logN: 6, r: 8, p: 1))) { _ in }
        let stored = try await weak.hash("secret")
        #expect(try await strong.verify("wrong", against: stored) == .wrong)
        guard case .rightAndRehashed(let text) = try await strong.verify("secret", against: stored) else {
            Issue.record("The hash was not replaced.")
            return
        }
        #expect(try await strong.verify("secret", against: text) == .right)
        #expect(try await weak.verify("secret", against: text) == .right)
    }

    @Test func oneHashTooManyIsRefusedAndTheOthersAreAnswered() async throws {
        // The observer runs on the hashing thread, so it can hold the first hash until the others have queued.
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let configuration = PasswordConfiguration(cost: Self.cheap, threads: 1, queueLimit: 1, patience: patience)
        let hasher = PasswordHasher(configuration) { observation in
            guard observation == .passwordHashed else { return }
            start.yield()
            _ = gate.wait(timeout: .now() + 600)
        }
        async let first = hasher.hash("a")
        try await waiting(for: "the first hash to start") { for await _ in started { break } }
        async let second = hasher.hash("b")
        try await waiting(until: "two hashes are asked for") { hasher.waiting >= 2 }
        await #expect(throws: SkyrowError.self) { try await hasher.hash("c") }
        gate.signal()
        gate.signal()
        _ = try await (first, second)
        #expect(hasher.waiting == 0)
    }

    @Test func aRequestThatWasGivenUpIsNotHashed() async throws {
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let hashes = Mutex(0)
        let configuration = PasswordConfiguration(cost: Self.cheap, threads: 1, patience: patience)
        let hasher = PasswordHasher(configuration) { observation in
            guard observation == .passwordHashed else { return }
            hashes.withLock { $0 += 1 }
            start.yield()
            _ = gate.wait(timeout: .now() + 600)
        }
        async let first = hasher.hash("a")
        try await waiting(for: "the first hash to start") { for await _ in started { break } }
        let second = Task { try await hasher.hash("b") }
        try await waiting(until: "two hashes are asked for") { hasher.waiting >= 2 }
        second.cancel()
        gate.signal()
        _ = try await first
        await #expect(throws: SkyrowError.self) { try await second.value }
        #expect(hashes.withLock { $0 } == 1)
    }

    @Test func aSecretNeverPrints() {
        let secret = Secret("s3cr3t")
        var dumped = ""
        dump(secret, to: &dumped)
        for text in [
            "\(secret)", String(reflecting: secret), dumped, "\(["key": secret])", "\(Optional(secret) as Any)",
        ] {
            #expect(!text.contains("s3cr3t"))
        }
        #expect(secret.exposed == "s3cr3t")
    }
}
