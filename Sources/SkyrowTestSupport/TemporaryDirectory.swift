import Foundation

/// A test's directory, accessible only to the current user.
package struct TemporaryDirectory: ~Copyable {
    package let path: String

    package init() throws {
        path = NSTemporaryDirectory() + "skyrow-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
