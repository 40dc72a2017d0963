package import SkyrowConcurrency
package import SkyrowModel
package import SkyrowSystem

/// The thumbnails of an application's images.
package struct ThumbnailConfiguration: Sendable {
    /// Upper bound on the tasks that wait to make a thumbnail.
    package static let maximumWaiting = 256
    /// Upper bound on the requests of a client that wait for thumbnails.
    package static let share = 64

    package var sizes: [ThumbnailSize]
    package var maker: any ThumbnailMaker
    /// Admits the tasks that make thumbnails, of all applications together.
    package var gate: TaskGate

    package init(sizes: [ThumbnailSize], maker: any ThumbnailMaker, gate: TaskGate) {
        self.sizes = sizes
        self.maker = maker
        self.gate = gate
    }
}

/// Makes smaller copies of images, which anybody may have made: it bounds what decoding them costs, and what a fault of the decoder
/// reaches.
package protocol ThumbnailMaker: Sendable {
    /// Writes a thumbnail of an image in the format of the image, without its metadata. Ends early if the task is cancelled.
    ///
    /// - Parameters:
    ///   - image: open for reading at its start.
    ///   - thumbnail: an empty file, open for reading and writing.
    func make(
        _ size: ThumbnailSize,
        _ format: ImageFormat,
        of image: FileDescriptor,
        to thumbnail: FileDescriptor
    ) async throws(ThumbnailFault)
}

/// Why a thumbnail was not made.
package enum ThumbnailFault: Error, Hashable, Sendable {
    /// The program that makes thumbnails is not installed.
    case notInstalled
    /// The image is damaged, or exceeds the limits of the maker; the text is for the log.
    case undecodable(String)
    case cancelled
    /// The storage failed, or the system did.
    case unavailable(FileFault)
}

/// Where the thumbnails of an application are kept on this machine. They can be made again at any time.
package protocol ThumbnailStorage: Sendable {
    /// Opens a thumbnail; nil if it is not kept.
    func open(_ thumbnail: Thumbnail) async throws(FileFault) -> OpenedFile?

    /// Returns an image as a file of this machine that has no other reader.
    func source(_ image: OpenedFile) async throws(FileFault) -> ThumbnailSource

    /// Keeps what `body` writes to an empty file, and opens it. Nothing is kept if it throws.
    func keep(
        _ thumbnail: Thumbnail,
        _ body: @Sendable (FileDescriptor) async throws(ThumbnailFault) -> Void
    ) async throws(ThumbnailFault) -> OpenedFile

    /// Deletes the thumbnails of a file, if there are any.
    func delete(of name: AssetName) async throws(FileFault)
}

/// An image of which a thumbnail is made.
package struct ThumbnailSource: Sendable {
    /// Open for reading at its start.
    package let file: FileDescriptor
    /// The bytes of which ``ImageHeader`` is read.
    package let first: [UInt8]

    package init(_ file: FileDescriptor, first: [UInt8]) {
        self.file = file
        self.first = first
    }
}
