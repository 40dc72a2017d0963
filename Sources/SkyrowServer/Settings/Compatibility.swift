/// A kind of client that other settings' defaults are adapted to.
///
/// ```swift
/// Compatibility.skygearV1.defaults["password-minimum"]   // "1"
/// ```
package enum Compatibility: String, CaseIterable, Sendable {
    case none
    /// The SDKs of Skygear v1 and applications that use them.
    case skygearV1 = "skygear-v1"

    /// The adapted defaults as texts, by setting name.
    package var defaults: [String: String] {
        switch self {
        case .none: [:]
        case .skygearV1:
            [
                "password-minimum": "1",
                "login-key-readers": "username=users,email=users",
                "relation-audience": "everyone",
                "file-uploads": "key",
            ]
        }
    }
}
