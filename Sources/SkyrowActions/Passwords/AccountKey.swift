import SkyrowCrypto
import SkyrowModel

/// The account whose password is tried, existing or not, as a number of fixed size.
///
/// It is derived from what the caller sent, so that a missing account is limited like an existing one.
struct AccountKey: Hashable, Sendable {
    private let first: UInt64
    private let second: UInt64

    /// - Parameter logIn: the login keys and their values.
    init(logIn values: [FieldName: String]) {
        self.init(values.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value.lowercased())" })
    }

    /// - Parameter user: the user whose password is changed.
    init(user: UserID) {
        self.init(["_id=\(user)"])
    }

    private init(_ parts: [String]) {
        var hash = SHA256()
        for part in parts { hash.update(Array(part.utf8) + [0]) }
        (first, second, _, _) = hash.finish().words
    }
}
