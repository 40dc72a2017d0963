/// Identifies an upload that may be interrupted: a UUID that cannot be guessed, and that is not the one in the name of its file.
package struct UploadID: Hashable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// Parses a UUID in lowercase; nil for any other text.
    package init?(_ text: some StringProtocol) {
        guard AssetName.isID(text.utf8) else { return nil }
        rawValue = String(text)
    }

    /// - Parameter uuid: in lowercase.
    package init(uuid: String) {
        rawValue = uuid
    }

    package var description: String { rawValue }
}
