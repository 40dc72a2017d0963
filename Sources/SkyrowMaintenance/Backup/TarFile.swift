import Glibc
import SkyrowSystem

// Tar files as defined by POSIX (pax, "ustar Interchange Format"), with regular files only. Sizes from 8 GiB on are
// binary, as in GNU tar and bsdtar.

/// The header of a file in an archive.
struct TarHeader: Hashable, Sendable {
    static let blockLength = 512

    var name: String
    var size: Int
    /// Seconds since 1970.
    var time: Int

    /// Returns the number of bytes up to the next block.
    static func padding(after size: Int) -> Int {
        (blockLength - size % blockLength) % blockLength
    }

    /// - Precondition: The name has at most 100 bytes of ASCII.
    var block: [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockLength)
        func put(_ text: some Sequence<UInt8>, at offset: Int) {
            for (place, byte) in text.enumerated() { block[offset + place] = byte }
        }
        func octal(_ number: Int, width: Int) -> [UInt8] {
            let digits = String(number, radix: 8)
            return Array((String(repeating: "0", count: max(0, width - digits.count)) + digits).utf8)
        }
        precondition(name.utf8.count <= 100, "Names of an archive's files are short.")
        put(name.utf8, at: 0)
        put(octal(0o600, width: 7), at: 100)
        put(octal(0, width: 7), at: 108)
        put(octal(0, width: 7), at: 116)
        if size < 1 << 33 {
            put(octal(size, width: 11), at: 124)
        } else {
            block[124] = 0x80
            put(withUnsafeBytes(of: UInt64(size).bigEndian) { Array($0) }, at: 128)
        }
        put(octal(max(0, time), width: 11), at: 136)
        put("0".utf8, at: 156)
        put("ustar\0".utf8, at: 257)
        put("00".utf8, at: 263)
        put(octal(Self.checksum(of: block), width: 6) + [0, UInt8(ascii: " ")], at: 148)
        return block
    }

    /// Parses a block; nil if it is not the valid header of a regular file.
    init?(_ block: [UInt8]) {
        func text(_ range: Range<Int>) -> String {
            String(decoding: block[range].prefix { $0 != 0 }, as: UTF8.self)
        }
        func octal(_ range: Range<Int>) -> Int? {
            let isBlank = { (byte: UInt8) in byte == 0 || byte == UInt8(ascii: " ") }
            let digits = block[range].drop { $0 == UInt8(ascii: " ") }.prefix { !isBlank($0) }
            guard block[digits.endIndex..<range.upperBound].allSatisfy(isBlank) else { return nil }
            return Int(String(decoding: digits, as: UTF8.self), radix: 8)
        }
        guard block.count == Self.blockLength, text(257..<263) == "ustar", text(263..<265) == "00",
            block[156] == UInt8(ascii: "0"), octal(148..<156) == Self.checksum(of: block)
        else { return nil }
        name = text(0..<100)
        if block[124] == 0x80 {
            let size = block[128..<136].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            guard let size = Int(exactly: size) else { return nil }
            self.size = size
        } else {
            guard let size = octal(124..<136) else { return nil }
            self.size = size
        }
        guard let time = octal(136..<148), !name.isEmpty, size >= 0 else { return nil }
        self.time = time
    }

    init(name: String, size: Int, time: Int) {
        self.name = name
        self.size = size
        self.time = time
    }

    /// Returns the sum of all bytes, with those of the checksum field counted as spaces.
    private static func checksum(of block: [UInt8]) -> Int {
        block.enumerated().reduce(0) { $0 + ((148..<156).contains($1.offset) ? 32 : Int($1.element)) }
    }
}

/// The position of a file in an archive.
package struct TarEntry: Hashable, Sendable {
    var name: String
    var offset: Int
    var size: Int
}

/// Why an archive is unreadable.
enum TarFault: Error, Hashable, Sendable {
    /// Not an archive of this kind.
    case foreign
    case damaged
    /// The end marker is missing.
    case truncated
}

/// Returns the files of an archive.
///
/// - Parameter read: Returns the bytes at an offset; fewer at the end.
func tarEntries(read: (_ offset: Int, _ count: Int) throws(ToolError) -> [UInt8]) throws -> [TarEntry] {
    var entries: [TarEntry] = []
    var offset = 0
    while true {
        let block = try read(offset, TarHeader.blockLength)
        guard block.count == TarHeader.blockLength else { throw entries.isEmpty ? TarFault.foreign : .truncated }
        if block.allSatisfy({ $0 == 0 }) {
            // Two empty blocks mark the end.
            let last = try read(offset + TarHeader.blockLength, TarHeader.blockLength)
            guard last.count == TarHeader.blockLength else { throw TarFault.truncated }
            guard last.allSatisfy({ $0 == 0 }) else { throw TarFault.damaged }
            return entries
        }
        guard let header = TarHeader(block) else { throw entries.isEmpty ? TarFault.foreign : .damaged }
        let start = offset + TarHeader.blockLength
        let padding = TarHeader.padding(after: header.size)
        let (end, isTooLong) = start.addingReportingOverflow(header.size)
        // The last byte of the last block must exist.
        guard !isTooLong, end <= .max - TarHeader.blockLength, try read(end + padding - 1, 1).count == 1 else {
            throw TarFault.truncated
        }
        guard try read(end, padding).allSatisfy({ $0 == 0 }) else { throw TarFault.damaged }
        entries.append(TarEntry(name: header.name, offset: start, size: header.size))
        offset = end + padding
    }
}
