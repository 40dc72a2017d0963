public import Foundation
public import SkyrowModel
import Synchronization

/// A file of this device, which the service may not have yet.
///
/// ```swift
/// let photo = LocalFile(contentsOf: url)
/// let note = try await client.publicDatabase.save(draft, uploading: ["photo": photo])
/// ```
///
/// It is uploaded once, so that a save that failed can be repeated with the same object.
public final class LocalFile: Sendable {
    public let content: FileContent
    /// The name with which others download it.
    public let filename: String
    /// The media type, such as `image/png`; nil if the service shall find it out.
    public let contentType: String?
    private let uploaded = Mutex<(asset: Asset, user: UserID?)?>(nil)

    /// Creates a file from bytes.
    public init(_ data: Data, filename: String, contentType: String? = nil) {
        content = .data(data)
        self.filename = filename
        self.contentType = contentType
    }

    /// Creates a file from one on disk, which is read while it is uploaded.
    ///
    /// - Parameters:
    ///   - file: the path of the file.
    ///   - filename: the name with which others download it; nil for the one that it has.
    ///   - contentType: the media type; nil if the service shall find it out.
    public init(contentsOf file: URL, filename: String? = nil, contentType: String? = nil) {
        content = .file(file)
        self.filename = filename ?? file.lastPathComponent
        self.contentType = contentType
    }

    /// The file in the service; nil before it is uploaded.
    public var asset: Asset? { uploaded.withLock { $0?.asset } }

    /// The file in the service if this user has uploaded it, who may then put it into a record.
    func asset(of user: UserID?) -> Asset? {
        uploaded.withLock { $0?.user == user ? $0?.asset : nil }
    }

    func keep(_ asset: Asset, of user: UserID?) {
        uploaded.withLock { $0 = (asset, user) }
    }

    /// Has the next upload send the file again: the service deletes files that no record refers to.
    func forget() {
        uploaded.withLock { $0 = nil }
    }
}
