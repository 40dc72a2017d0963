import Glibc

/// Releases the memory that only the start needs.
enum StartupMemory {
    /// Unmaps the program's code, which the system maps again page by page when it runs.
    ///
    /// The start runs most of the program once (settings, migrations, catalogue, TLS), and Linux maps sixteen pages per
    /// page fault, so nearly all of the program stayed resident: 19 of 31 MB. Code that runs later is mapped from the
    /// page cache in a fraction of a microsecond per page.
    static func release() {
        for region in codeRegions(in: readMaps()) {
            // Code pages are never modified, so only their page table entries are dropped.
            madvise(UnsafeMutableRawPointer(bitPattern: region.lowerBound), region.count, MADV_DONTNEED)
        }
    }

    /// Returns the executable mappings of the program's file in `/proc/self/maps`. The first file listed is the program
    /// (proc(5)).
    static func codeRegions(in maps: String) -> [Range<UInt>] {
        let lines = maps.split(separator: "\n").map { line in
            // The path is padded, and may contain spaces.
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            return fields.count == 6 ? fields[..<5] + [fields[5].drop { $0 == " " }] : fields[...]
        }
        guard let program = lines.first(where: { $0.count == 6 && $0[5].hasPrefix("/") })?[5] else { return [] }
        return lines.compactMap { fields in
            guard fields.count == 6, fields[5] == program, fields[1] == "r-xp" else { return nil }
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            return bounds.count == 2 && bounds[0] < bounds[1] ? bounds[0]..<bounds[1] : nil
        }
    }

    private static func readMaps() -> String {
        guard let file = fopen("/proc/self/maps", "r") else { return "" }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16_384)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
