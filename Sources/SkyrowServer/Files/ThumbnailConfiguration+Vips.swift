import NIOCore
import SkyrowActions
import SkyrowConcurrency
import SkyrowModel

extension ThumbnailConfiguration {
    /// Thumbnails of libvips, for half of the processors at a time.
    static func withVips(sizes: [ThumbnailSize]) -> ThumbnailConfiguration {
        ThumbnailConfiguration(sizes: sizes, maker: vips, gate: gate)
    }

    // Shared by all applications.
    private static let vips = VipsThumbnails()
    private static let gate = TaskGate(capacity: max(1, System.coreCount / 2), maximumWaiting: maximumWaiting)
}
