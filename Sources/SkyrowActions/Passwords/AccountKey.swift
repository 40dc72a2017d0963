import SkyrowCrypto
import SkyrowModel

/// Whose password is tried, whether there is such an account or not, as a number of one size.
///
/// It is made of what the caller sent, so that an account that does not exist is limited like one that does.
struct AccountKey: Hashable, Sendable {
    private let first: UInt64
    private let second: UInt64

    /// - Parameter logIn: the login keys and their values.
    init(logIn values: [FieldName: String]) {
        self.init(values.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value.lowercased())" })
    }

    /// - Parameter user: who changes the password.
    init(user: UserID) {
        self.init(["_id=\(user)"])
    }

    private init(_ parts: [String]) {
        var hash = SHA256()
        for part in parts { hash.update(Array(part.utf8) + [0]) }
        (first, second, _, _) = hash.finish().words
    }
}
