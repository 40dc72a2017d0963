import Foundation
import SkyrowCrypto
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// A sorted file of digests of passwords that have leaked.
@Suite struct BreachedPasswordsTests {
    /// The line of a password, as haveibeenpwned.com has it.
    static func line(_ password: String, digits: Int = 40, count: String? = "3") -> String {
        let text = SHA1Digest.digest(of: Array(password.utf8)).map { String(format: "%02X", $0) }.joined()
        return text.prefix(digits) + (count.map { ":\($0)" } ?? "")
    }

    static func withFile(_ text: String, _ body: (String) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "breached-\(UUID().uuidString).txt"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path)
    }

    @Test(arguments: [1, 2, 3, 7, 64, 1000, 5000], ["\n", "\r\n"])
    func everyPasswordOfTheListIsFoundAndNoOther(_ count: Int, _ end: String) async throws {
        let lines = (0..<count).map { Self.line("password \($0)", count: String($0 * $0)) }.sorted()
        for isClosed in [true, false] {
            let text = lines.joined(separator: end) + (isClosed ? end : "")
            try await Self.withFile(text) { path in
                let list = try BreachedPasswords(path: path)
                for number in 0..<count { #expect(try list.contains("password \(number)")) }
                for number in 0..<200 { #expect(try !list.contains("other \(number)")) }
            }
        }
    }

    @Test(arguments: [16, 17, 32, 40], [true, false])
    func aLineMayBeThePartOfADigestInAnyLetters(_ digits: Int, _ isSmall: Bool) async throws {
        let lines = (0..<300).map { Self.line("password \($0)", digits: digits, count: nil) }.sorted()
        let text = lines.joined(separator: "\n")
        try await Self.withFile(isSmall ? text.lowercased() : text) { path in
            let list = try BreachedPasswords(path: path)
            for number in 0..<300 { #expect(try list.contains("password \(number)")) }
            #expect(try !list.contains("other"))
        }
    }

    @Test(
        arguments: [
            ("", BreachedPasswords.Failure.empty), ("password\n", .form(at: 0)), ("\n", .form(at: 0)),
            (String(repeating: "A", count: 15), .form(at: 0)), (String(repeating: "A", count: 41), .form(at: 0)),
            (String(repeating: "A", count: 40) + " 3", .form(at: 0)),
            (String(repeating: "A", count: 40) + ":" + String(repeating: "1", count: 100_000), .form(at: 0)),
        ]
    )
    func aFileThatIsNoListIsRefused(_ text: String, _ failure: BreachedPasswords.Failure) async throws {
        try await Self.withFile(text) { path in
            #expect(throws: failure) { _ = try BreachedPasswords(path: path) }
        }
    }

    @Test func aListThatIsNotSortedIsRefused() async throws {
        let lines = (0..<3000).map { Self.line("password \($0)") }
        try await Self.withFile(lines.joined(separator: "\n")) { path in
            do throws(BreachedPasswords.Failure) {
                _ = try BreachedPasswords(path: path)
                Issue.record("It is accepted.")
            } catch {
                guard case .order = error else { throw error }
            }
        }
    }

    @Test func aFileThatIsNotThereOrNoneIsRefused() {
        for path in ["/nowhere/list.txt", "/tmp"] {
            #expect(throws: BreachedPasswords.Failure.self) { _ = try BreachedPasswords(path: path) }
        }
    }

    /// A file that is made shorter while it is used must not end the process.
    @Test func aFileThatBecomesShorterIsAnError() async throws {
        let lines = (0..<3000).map { Self.line("password \($0)") }.sorted()
        try await Self.withFile(lines.joined(separator: "\n")) { path in
            let list = try BreachedPasswords(path: path)
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.truncate(atOffset: 1000)
            try file.close()
            var failures = 0
            for number in 0..<100 {
                do { _ = try list.contains("password \(number)") } catch { failures += 1 }
            }
            #expect(failures > 0)
        }
    }
}
