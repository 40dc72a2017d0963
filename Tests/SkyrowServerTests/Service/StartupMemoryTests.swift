import Testing

@testable import SkyrowServer

@Suite struct StartupMemoryTests {
    @Test func onlyTheProgramsCodeIsFound() {
        let maps = """
            55d0c0000000-55d0c0100000 r--p 00000000 fe:00 12                         /opt/a program/skyrow
            55d0c0100000-55d0c0500000 r-xp 00100000 fe:00 12                         /opt/a program/skyrow
            55d0c0500000-55d0c0600000 r--p 00500000 fe:00 12                         /opt/a program/skyrow
            55d0c0600000-55d0c0700000 rw-p 00600000 fe:00 12                         /opt/a program/skyrow
            55d0c1000000-55d0c1100000 rw-p 00000000 00:00 0                          [heap]
            7f0000000000-7f0000100000 r-xp 00000000 fe:00 99 /usr/lib/libc.so.6
            7f0000200000-7f0000201000 r-xp 00000000 00:00 0 [vdso]
            """
        #expect(StartupMemory.codeRegions(in: maps) == [0x55d0_c010_0000..<0x55d0_c050_0000])
        #expect(StartupMemory.codeRegions(in: "").isEmpty)
        #expect(StartupMemory.codeRegions(in: "nonsense\n- r-xp x y z /a\n").isEmpty)
    }

    @Test func theProgramGoesOnAfterwards() {
        StartupMemory.release()
        #expect([3, 1, 2].sorted() == [1, 2, 3])
    }
}
