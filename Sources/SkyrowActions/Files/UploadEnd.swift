import SkyrowModel

/// What becomes of an upload when one of its requests has ended.
///
/// ```swift
/// UploadEnd(from: 0, to: 60, of: 100, error: nil, checksum: .absent)   // .suspend(at: 60)
/// ```
enum UploadEnd: Hashable, Sendable {
    enum Checksum: Hashable, Sendable {
        case absent, right, wrong
    }

    /// The file is complete.
    case store
    /// The upload goes on with a later request.
    case suspend(at: Int64)
    /// The file is not accepted.
    case remove

    /// - Parameters:
    ///   - start: the offset of the request.
    ///   - end: how far its bytes reach in the incoming file.
    ///   - size: of the whole file.
    ///   - error: why the body was not read to its end.
    init(from start: Int64, to end: Int64, of size: Int64, error: SkyrowError?, checksum: Checksum) {
        let isUnverified = error == nil ? checksum == .wrong : checksum != .absent
        // Beyond the size, nothing says which of the bytes are those of the file.
        if isUnverified || error?.code == .assetSizeTooLarge {
            self = .suspend(at: start)
        } else if error?.code == .invalidArgument {
            self = .remove
        } else {
            self = end == size ? .store : .suspend(at: end)
        }
    }

    /// What becomes of a complete upload whose end has failed.
    ///
    /// It misses its last byte, so that the client sends that byte, and with it the end is tried again.
    init(failing error: SkyrowError, of size: Int64) {
        self = error.code == .invalidArgument ? .remove : .suspend(at: size - 1)
    }
}
