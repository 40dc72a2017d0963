import Foundation

/// A test's directory, accessible only to the current user.
package struct TemporaryDirectory: ~Copyable {
    package let path: String

    package init() throws {
        path = "\(TestDirectory.parent)/skyrow-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    /// Makes an empty directory that only this user may access and that the caller removes, and returns its path.
    ///
    /// - Throws: ``TemporaryClusterError`` if it cannot be made.
    package static func make(named name: String, in parent: String = TestDirectory.parent) throws -> String {
        var template = Array("\(parent)/skyrow-\(name)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw TemporaryClusterError(
                description: "No directory can be made in \(parent): \(String(cString: strerror(errno)))"
            )
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
