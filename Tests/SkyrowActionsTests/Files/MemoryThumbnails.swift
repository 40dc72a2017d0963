import Foundation
import SkyrowConcurrency
import SkyrowModel
import SkyrowSystem
import SkyrowTestSupport
import Synchronization

@testable import SkyrowActions

/// Thumbnails in memory.
final class MemoryThumbnails: ThumbnailStorage {
    private let state = Mutex<[Thumbnail: [UInt8]]>([:])

    var kept: Set<Thumbnail> { state.withLock { Set($0.keys) } }

    func open(_ thumbnail: Thumbnail) async throws(FileFault) -> OpenedFile? {
        let bytes = state.withLock { $0[thumbnail] }
        return try bytes.map { bytes throws(FileFault) in try OpenedFile(holding: bytes) }
    }

    func source(_ image: OpenedFile) async throws(FileFault) -> ThumbnailSource {
        guard case .descriptor(let file) = image.source else { throw .unavailable("no file of this machine") }
        return ThumbnailSource(file, first: file.contents)
    }

    func keep(
        _ thumbnail: Thumbnail,
        _ body: @Sendable (FileDescriptor) async throws(ThumbnailFault) -> Void
    ) async throws(ThumbnailFault) -> OpenedFile {
        let file: FileDescriptor
        do throws(ToolError) {
            file = try FileDescriptor.temporary()
        } catch {
            throw .unavailable(.unavailable(error.description))
        }
        try await body(file)
        let bytes = file.contents
        state.withLock { $0[thumbnail] = bytes }
        do throws(FileFault) {
            return try OpenedFile(holding: bytes)
        } catch {
            throw .unavailable(error)
        }
    }

    func delete(of name: AssetName) async {
        state.withLock { thumbnails in thumbnails = thumbnails.filter { $0.key.asset != name } }
    }
}

/// Writes a text instead of a thumbnail, when and if a test wants it.
final class TestThumbnailMaker: ThumbnailMaker {
    private struct State {
        var fault: ThumbnailFault?
        var hold: Deferred<Void>?
    }

    let begun = Counter()
    let cancelled = Counter()
    private let state = Mutex(State())

    func fail(with fault: ThumbnailFault?) {
        state.withLock { $0.fault = fault }
    }

    /// Makes nothing before a value is settled.
    func hold(until end: Deferred<Void>?) {
        state.withLock { $0.hold = end }
    }

    func make(
        _ size: ThumbnailSize,
        _ format: ImageFormat,
        of image: FileDescriptor,
        to thumbnail: FileDescriptor
    ) async throws(ThumbnailFault) {
        let (fault, hold) = state.withLock { ($0.fault, $0.hold) }
        begun.increment()
        await hold?.value(ifCancelled: ())
        if Task.isCancelled {
            cancelled.increment()
            throw .cancelled
        }
        if let fault { throw fault }
        do throws(ToolError) {
            try thumbnail.write(Array("\(size) of \(format.rawValue)".utf8))
        } catch {
            throw .unavailable(.unavailable(error.description))
        }
    }
}

extension FileDescriptor {
    /// The bytes of a small file, from its start.
    fileprivate var contents: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = pread(number, &bytes, bytes.count, 0)
        return Array(bytes.prefix(max(count, 0)))
    }
}
