import Foundation
import Testing

@testable import SkyrowServer

@Suite struct FileLimitTests {
    @Test(arguments: [
        (10_000, 1_048_576, 10_000), (10_000, 10_512, 10_000), (10_000, 10_511, 9999), (10_000, 1024, 512),
        (100, 1024, 100), (10_000, 256, 1),
    ])
    func soManyClientsCanBeConnected(wanted: Int, files: Int, connections: Int) {
        #expect(FileLimit.connections(wanted: wanted, files: files) == connections)
    }

    @Test(arguments: [(1_048_576, 256), (1024, 256), (1020, 255), (256, 64), (3, 0)])
    func soManyFilesStayOpen(files: Int, cached: Int) {
        #expect(FileLimit.cachedFiles(files: files) == cached)
    }

    @Test func theLimitIsRaisedToWhatIsAllowed() {
        let allowed = FileLimit.raise()
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #expect(limit.rlim_cur == limit.rlim_max)
        #expect(allowed == Int(clamping: limit.rlim_cur))
    }
}
