import SkyrowCrypto
import SkyrowJSON
import SkyrowModel

/// Creates tickets that stand for an API key, and the marks with which streams are resumed, under a separate key.
///
/// A mark is sent in the ids of a stream's events but in no URL, so a ticket from a log resumes nothing. It is valid for the
/// ticket and the query with which the stream was opened.
struct LiveTicketKey: Sendable {
    private static let codeBytes = 16
    private static let prefix = "lk_"
    /// Upper bound on the API key in a ticket.
    private static let maximumKeyBytes = 1024

    private let sealing: [UInt8]
    private let marking: HMACSHA256

    /// - Parameter bytes: the application's key for this purpose.
    init(_ bytes: [UInt8]) {
        let key = HMACSHA256(key: bytes)
        sealing = key.code(of: Array("seal".utf8)).bytes
        marking = HMACSHA256(key: key.code(of: Array("mark".utf8)).bytes)
    }

    // MARK: Tickets of API keys

    /// Returns a ticket that stands for an API key; nil for a key that is too long.
    func ticket(of apiKey: String, until end: Timestamp, using generator: inout some RandomNumberGenerator) -> String? {
        guard apiKey.utf8.count <= Self.maximumKeyBytes else { return nil }
        let nonce = (0..<AES256GCM.nonceBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let time = withUnsafeBytes(of: end.microseconds.bigEndian) { Array($0) }
        let sealed = try? AES256GCM.seal(time + apiKey.utf8, key: sealing, nonce: nonce, authenticating: [])
        return sealed.map { Self.prefix + Base64URL.encode(nonce + $0) }
    }

    /// Returns the API key of a ticket, and the time until which the ticket opens a stream; nil for any other text.
    func apiKey(of ticket: String) -> (key: String, end: Timestamp)? {
        guard ticket.hasPrefix(Self.prefix), ticket.utf8.count <= 2 * Self.maximumKeyBytes,
            let bytes = Base64URL.decode(String(ticket.dropFirst(Self.prefix.count))),
            bytes.count > AES256GCM.nonceBytes
        else { return nil }
        let nonce = Array(bytes.prefix(AES256GCM.nonceBytes))
        let sealed = Array(bytes.dropFirst(AES256GCM.nonceBytes))
        guard let plain = AES256GCM.open(sealed, key: sealing, nonce: nonce, authenticating: []), plain.count >= 8
        else {
            return nil
        }
        let end = plain.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (String(decoding: plain.dropFirst(8), as: UTF8.self), Timestamp(microseconds: Int64(bitPattern: end)))
    }

    // MARK: Marks

    /// Returns the mark of a stream.
    ///
    /// - Parameters:
    ///   - session: the session's id; empty for a ticket of an API key.
    ///   - query: the query of the stream.
    func mark(_ ticket: String, session: String, query: String) -> String {
        Base64URL.encode(code(ticket, session, query) + session.utf8)
    }

    /// Returns the session of a mark, empty for a ticket of an API key; nil for a mark of another ticket or query.
    func session(ofMark mark: String, _ ticket: String, query: String) -> String? {
        guard mark.utf8.count <= 128, let bytes = Base64URL.decode(mark), bytes.count >= Self.codeBytes else {
            return nil
        }
        let session = String(decoding: bytes.dropFirst(Self.codeBytes), as: UTF8.self)
        guard code(ticket, session, query).isEqualInConstantTime(to: Array(bytes.prefix(Self.codeBytes))) else {
            return nil
        }
        return session
    }

    private func code(_ ticket: String, _ session: String, _ query: String) -> [UInt8] {
        // Each part by its hash, so that different parts cannot have the same concatenation.
        let parts = [ticket, session, query].flatMap { SHA256.hash(of: $0).bytes }
        return Array(marking.code(of: parts).bytes.prefix(Self.codeBytes))
    }
}
