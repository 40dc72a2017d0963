/// What an application is written for, as far as defaults of other settings follow from it.
///
/// ```swift
/// Compatibility.skygearV1.defaults["password-minimum"]   // "1"
/// ```
package enum Compatibility: String, CaseIterable, Sendable {
    case none
    /// The SDKs of Skygear v1 and applications made with them.
    case skygearV1 = "skygear-v1"

    /// The texts that stand for the defaults of settings, by their names.
    package var defaults: [String: String] {
        switch self {
        case .none: [:]
        case .skygearV1:
            [
                "password-minimum": "1",
                "login-key-readers": "username=users,email=users",
                "relation-audience": "everyone",
            ]
        }
    }
}
