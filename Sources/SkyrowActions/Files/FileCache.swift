import SkyrowModel
import Synchronization

/// The files that were downloaded last, so that most downloads neither read a row nor open a file.
///
/// As with sessions, a row is used for a second after it was read, and a notification of its change removes it before
/// (``FreshCache``). Bytes under a name never change: an open file serves as long as its row is the same. If something else than
/// the service removes a file, such as `rm`, that is not noticed while the file is open here.
///
/// The applications of a process share one, since what is bounded is the number of open files of the process.
final class FileCache: Sendable {
    private struct Key: Hashable {
        let owner: ObjectIdentifier
        let name: AssetName
    }

    /// Up to this size, a file is kept in memory and sent with its head in one system call: at most 16 MB for 256 files.
    static let maximumBytes = 64 * 1024
    /// How long an unused file stays open.
    private static let rest = Duration.seconds(60)

    private let files: Mutex<FreshCache<Key, CachedFile>>

    init(capacity: Int) {
        files = Mutex(FreshCache(capacity: capacity, freshness: .seconds(1)))
    }

    var count: Int { files.withLock { $0.count } }

    /// Returns when a row that is read from now on was read.
    func moment(at now: ContinuousClock.Instant) -> MomentOfLoading {
        MomentOfLoading(instant: now, epoch: files.withLock { $0.epoch })
    }

    /// Returns a file whose row need not be read.
    func file(_ name: AssetName, of owner: FileState, at now: ContinuousClock.Instant) -> CachedFile? {
        let found = files.withLock { $0.value(for: Key(owner: ObjectIdentifier(owner), name: name), at: now) }
        return found?.isFresh == true ? found?.value : nil
    }

    /// Returns the file of a row that was read: the cached one if it has the same row, or else a new one, which is cached.
    func file(_ asset: StoredAsset, of owner: FileState, readAt moment: MomentOfLoading) -> CachedFile {
        let key = Key(owner: ObjectIdentifier(owner), name: asset.name)
        let known = files.withLock { $0.value(for: key, at: moment.instant) }
        if let known, known.isFresh, known.value.asset == asset { return known.value }
        let file = known.flatMap { $0.value.asset == asset ? $0.value : nil } ?? CachedFile(asset)
        files.withLock { $0.insert(file, for: key, loadedAt: moment.instant, epoch: moment.epoch) }
        return file
    }

    /// Removes the files of an application.
    func removeAll(of owner: ObjectIdentifier) {
        files.withLock { files in files.removeAll { key, _ in key.owner == owner } }
    }

    /// Closes the files that no download has used for a minute.
    func removeUnused(at now: ContinuousClock.Instant) {
        files.withLock { $0.removeAll(loadedBefore: now.advanced(by: .zero - Self.rest)) }
    }
}

/// A stored file, with what all downloads of it have in common.
final class CachedFile: Sendable {
    let asset: StoredAsset
    /// The fields of a response with the file that do not force a browser to save it.
    let served: ServedFile
    private let source = Mutex<OpenedFile?>(nil)

    init(_ asset: StoredAsset) {
        self.asset = asset
        served = ServedFile(of: asset, forcesDownload: false)
    }

    /// The open file; nil until ``keep(_:)``.
    var opened: OpenedFile? { source.withLock { $0 } }

    /// Keeps a file open, unless it is one of another machine, which is opened for each download.
    func keep(_ opened: OpenedFile) {
        switch opened.source {
        case .descriptor: source.withLock { $0 = opened }
        case .remote: break
        }
    }
}

extension ServedFile {
    init(of asset: StoredAsset, forcesDownload: Bool) {
        self.init(
            filename: asset.filename,
            contentType: asset.contentType,
            sniffed: asset.sniffed,
            forcesDownload: forcesDownload
        )
    }
}
