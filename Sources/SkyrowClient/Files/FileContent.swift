public import Foundation

/// The bytes of a file that is uploaded.
public enum FileContent: Hashable, Sendable {
    case data(Data)
    /// A file on disk, which must not change before it is uploaded.
    case file(URL)

    /// The number of bytes; throws `ClientError` with the code `localFile` when there is no such file.
    func size() throws(ClientError) -> Int64 {
        switch self {
        case .data(let data): return Int64(data.count)
        case .file(let file):
            do {
                let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
                return (attributes[.size] as? NSNumber)?.int64Value ?? 0
            } catch {
                throw .localFile("The file cannot be read.", error)
            }
        }
    }
}

/// How much of a file has been sent or received.
///
/// ```swift
/// let photo = try await client.upload(contentsOf: file) { print($0.fraction) }
/// ```
public struct FileProgress: Hashable, Sendable {
    /// In bytes; it falls when a transfer begins again after the connection was lost.
    public var completed: Int64
    /// The size of all that is transferred, in bytes.
    public var total: Int64

    public init(completed: Int64, total: Int64) {
        self.completed = completed
        self.total = total
    }

    /// From 0 to 1.
    public var fraction: Double {
        total > 0 ? min(Double(completed) / Double(total), 1) : 1
    }
}
