import Glibc
import SkyrowCrypto

/// A sorted file of the SHA-1 digests of leaked passwords, as offered by haveibeenpwned.com.
///
/// A line is 16 to 40 hexadecimal digits, the digest or a prefix of it, and may continue after a colon. The file is searched on
/// disk: some forty reads for a list of a billion lines, and no memory.
///
/// ```swift
/// let list = try BreachedPasswords(path: "/var/lib/skyrow/pwned-passwords.txt")
/// try list.contains("password")  // true
/// ```
package final class BreachedPasswords: Sendable {
    /// An error in a file.
    package enum Failure: Error, Hashable, CustomStringConvertible {
        case unreadable(String)
        case empty
        /// The byte at which an invalid line begins.
        case form(at: Int)
        case order(at: Int)

        package var description: String {
            switch self {
            case .unreadable(let reason): "it cannot be read: \(reason)"
            case .empty: "it is empty"
            case .form(let place):
                "the line at byte \(place) is not 16 to 40 hexadecimal digits, optionally followed by a colon"
            case .order(let place): "the line at byte \(place) does not come after the one before; sort it"
            }
        }
    }

    /// The minimum number of digits of a line; with a billion lines, a password that did not leak is found once in 18 billion
    /// times.
    static let minimumDigits = 16
    /// The maximum length of a line, including its end.
    private static let longestLine = 128
    /// The number of lines checked before the list is used.
    private static let samples = 256

    private let file: Int32
    private let size: Int

    /// Opens the file and checks lines spread over it.
    package init(path: String) throws(Failure) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
        var status = stat()
        guard fstat(file, &status) == 0 else {
            let reason = String(cString: strerror(errno))
            close(file)
            throw .unreadable(reason)
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(file)
            throw .unreadable("it is not a regular file")
        }
        self.file = file
        size = Int(status.st_size)
        try check()
    }

    deinit { close(file) }

    /// Returns whether the list contains a password.
    ///
    /// Blocks while the file is read. Throws if the file is no longer readable, or a line on the way is invalid.
    package func contains(_ password: String) throws(Failure) -> Bool {
        let digest = BreachedPasswords.digits(of: SHA1Digest.digest(of: Array(password.utf8)))
        // Invariant: a line begins at `low`; no line before `low`, or at or after `high`, is the one searched.
        var (low, high) = (0, size)
        while high - low > 4 * Self.longestLine {
            guard let line = try line(beginningAtOrAfter: low + (high - low) / 2) else { break }
            if digest.starts(with: line.digits) { return true }
            if line.digits.lexicographicallyPrecedes(digest) { low = line.end } else { high = line.start }
        }
        while low < high {
            let line = try line(at: low)
            if digest.starts(with: line.digits) { return true }
            low = line.end
        }
        return false
    }

    // MARK: Lines

    private struct Line {
        let start: Int
        /// The position of the next line.
        let end: Int
        /// In capital letters.
        let digits: [UInt8]
    }

    private static func digits(of bytes: [UInt8]) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    }

    /// Returns nil after the last line.
    private func line(beginningAtOrAfter place: Int) throws(Failure) -> Line? {
        var start = place
        if place > 0 {
            // A line begins after the end of another one.
            let before = try bytes(at: place - 1, count: Self.longestLine)
            guard let end = before.firstIndex(of: UInt8(ascii: "\n")) else {
                if place - 1 + before.count >= size { return nil }
                throw .form(at: place)
            }
            start = place + end
        }
        guard start < size else { return nil }
        return try line(at: start)
    }

    private func line(at start: Int) throws(Failure) -> Line {
        let bytes = try bytes(at: start, count: Self.longestLine)
        let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
        guard end != nil || start + bytes.count >= size else { throw .form(at: start) }
        var digits: [UInt8] = []
        for byte in bytes[..<(end ?? bytes.count)] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(byte)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(byte - 0x20)
            case UInt8(ascii: ":"), UInt8(ascii: "\r"):
                guard (Self.minimumDigits...(SHA1Digest.byteCount * 2)).contains(digits.count) else {
                    throw .form(at: start)
                }
                return Line(start: start, end: start + (end.map { $0 + 1 } ?? bytes.count), digits: digits)
            default: throw .form(at: start)
            }
        }
        guard (Self.minimumDigits...(SHA1Digest.byteCount * 2)).contains(digits.count) else { throw .form(at: start) }
        return Line(start: start, end: start + (end.map { $0 + 1 } ?? bytes.count), digits: digits)
    }

    private func bytes(at place: Int, count: Int) throws(Failure) -> [UInt8] {
        let wanted = max(0, min(count, size - place))
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
            filled = 0
            while filled < wanted {
                let read = pread(file, buffer.baseAddress.map { $0 + filled }, wanted - filled, off_t(place + filled))
                if read < 0, errno == EINTR { continue }
                guard read > 0 else {
                    failure = .unreadable(read < 0 ? String(cString: strerror(errno)) : "it was truncated")
                    return
                }
                filled += read
            }
        }
        if let failure { throw failure }
        return bytes
    }

    private func check() throws(Failure) {
        guard size > 0 else { throw .empty }
        var former: Line?
        for sample in 0..<Self.samples {
            guard let line = try line(beginningAtOrAfter: size / Self.samples * sample) else { break }
            if let former, former.start < line.start, !former.digits.lexicographicallyPrecedes(line.digits) {
                throw .order(at: line.start)
            }
            former = line
        }
    }
}
