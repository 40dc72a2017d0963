import Testing

@testable import SkyrowServer

@Suite struct ClusterSettingsTests {
    @Test(arguments: [
        (256, 128, 512), (512, 128, 512), (1024, 128, 512), (2048, 256, 1024), (8192, 1024, 4096),
        (65536, 1024, 32768),
    ])
    func theCacheGrowsWithTheMachine(memory: Int, buffers: Int, cache: Int) {
        let settings = ClusterSettings(machineMemory: memory)
        #expect(settings.sharedBuffers == buffers)
        #expect(settings.effectiveCacheSize == cache)
        #expect(settings.text.contains("\nshared_buffers = \(buffers)MB\n"))
    }

    @Test func thisMachineHasMemory() {
        #expect(ClusterSettings.ofThisMachine.sharedBuffers >= 128)
    }
}
