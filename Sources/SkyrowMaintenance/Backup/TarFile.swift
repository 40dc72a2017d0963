import Glibc
import SkyrowSystem

// Tar files as defined by POSIX (pax, "ustar Interchange Format"), with regular files only. Sizes from 8 GiB on are
// binary, as in GNU tar and bsdtar. A name of more than 100 bytes is in an extended header before that of its file.

/// The header of a file in an archive.
struct TarHeader: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        case file = 0x30  // 0
        /// The contents are records about the next file, ``TarPath``.
        case extended = 0x78  // x
    }

    static let blockLength = 512
    private static let nameLength = 100

    var kind = Kind.file
    var name: String
    var size: Int
    /// Seconds since 1970.
    var time: Int

    /// Returns the number of bytes up to the next block.
    static func padding(after size: Int) -> Int {
        (blockLength - size % blockLength) % blockLength
    }

    /// The header, or the beginning of it if the name does not fit.
    var block: [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockLength)
        func put(_ text: some Sequence<UInt8>, at offset: Int) {
            for (place, byte) in text.enumerated() { block[offset + place] = byte }
        }
        func octal(_ number: Int, width: Int) -> [UInt8] {
            let digits = String(number, radix: 8)
            return Array((String(repeating: "0", count: max(0, width - digits.count)) + digits).utf8)
        }
        put(name.utf8.prefix(Self.nameLength), at: 0)
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
        block[156] = kind.rawValue
        put("ustar\0".utf8, at: 257)
        put("00".utf8, at: 263)
        put(octal(Self.checksum(of: block), width: 6) + [0, UInt8(ascii: " ")], at: 148)
        return block
    }

    /// The extended header with the name, with its contents; empty if the header has room for the name.
    var extended: [UInt8] {
        guard name.utf8.count > Self.nameLength else { return [] }
        let record = TarPath.record(name)
        let header = TarHeader(kind: .extended, name: "PaxHeaders/name", size: record.count, time: time)
        return header.block + record + [UInt8](repeating: 0, count: Self.padding(after: record.count))
    }

    /// Parses a block; nil if it is not the valid header of a regular file or an extended header.
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
            let kind = Kind(rawValue: block[156]), octal(148..<156) == Self.checksum(of: block)
        else { return nil }
        self.kind = kind
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

    init(kind: Kind = .file, name: String, size: Int, time: Int) {
        self.kind = kind
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

/// The record of an extended header that names a file: `54 path=skyrow-backup/files/…`, with a line feed at its end.
enum TarPath {
    /// No name of an archive's file is longer.
    static let maximumLength = 1024

    static func record(_ name: String) -> [UInt8] {
        let rest = " path=\(name)\n"
        // The length counts its own digits.
        var length = rest.utf8.count
        while length != rest.utf8.count + String(length).utf8.count {
            length = rest.utf8.count + String(length).utf8.count
        }
        return Array("\(length)\(rest)".utf8)
    }

    /// Returns the name in the only record; nil for anything else.
    static func name(in record: [UInt8]) -> String? {
        guard let space = record.firstIndex(of: UInt8(ascii: " ")),
            let name = String(validating: record[space...].dropFirst(" path=".utf8.count).dropLast(), as: UTF8.self),
            !name.isEmpty, Self.record(name) == record
        else { return nil }
        return name
    }
}

/// The files of an archive, one after another.
struct TarEntries {
    private let read: (_ offset: Int, _ count: Int) throws(ToolError) -> [UInt8]
    private var offset = 0

    /// - Parameter read: Returns the bytes at an offset; fewer at the end.
    init(read: @escaping (_ offset: Int, _ count: Int) throws(ToolError) -> [UInt8]) {
        self.read = read
    }

    /// Returns the next file; nil at the end. Throws ``TarFault``, and the errors of `read`.
    mutating func next() throws -> TarEntry? {
        guard let (header, start) = try head() else { return nil }
        guard header.kind == .extended else { return TarEntry(name: header.name, offset: start, size: header.size) }
        guard header.size <= TarPath.maximumLength, let name = TarPath.name(in: try read(start, header.size)),
            let (file, place) = try head(), file.kind == .file
        else { throw TarFault.damaged }
        return TarEntry(name: name, offset: place, size: file.size)
    }

    /// Reads a header and moves behind its file; returns where the file begins.
    private mutating func head() throws -> (TarHeader, start: Int)? {
        let isFirst = offset == 0
        let block = try read(offset, TarHeader.blockLength)
        guard block.count == TarHeader.blockLength else { throw isFirst ? TarFault.foreign : .truncated }
        if block.allSatisfy({ $0 == 0 }) {
            // Two empty blocks mark the end.
            let last = try read(offset + TarHeader.blockLength, TarHeader.blockLength)
            guard last.count == TarHeader.blockLength else { throw TarFault.truncated }
            guard last.allSatisfy({ $0 == 0 }) else { throw TarFault.damaged }
            return nil
        }
        guard let header = TarHeader(block) else { throw isFirst ? TarFault.foreign : .damaged }
        let start = offset + TarHeader.blockLength
        let padding = TarHeader.padding(after: header.size)
        let (end, isTooLong) = start.addingReportingOverflow(header.size)
        // The last byte of the last block must exist.
        guard !isTooLong, end <= .max - TarHeader.blockLength, try read(end + padding - 1, 1).count == 1 else {
            throw TarFault.truncated
        }
        guard try read(end, padding).allSatisfy({ $0 == 0 }) else { throw TarFault.damaged }
        offset = end + padding
        return (header, start)
    }
}
